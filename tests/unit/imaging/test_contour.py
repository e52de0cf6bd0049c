import numpy as np
import pytest

from nodulebench.errors import InputError
from nodulebench.imaging.contour import box_contour, parse_contour


@pytest.mark.parametrize("text", ["0 1;2 -3.5;4e0 5", " 0 1; 2  -3.5 ;4 5 ;"])
def test_corners_are_separated_by_semicolons(text: str) -> None:
    np.testing.assert_array_equal(parse_contour(text, "here"), [[0, 1], [2, -3.5], [4, 5]])


@pytest.mark.parametrize("text", ["", "1 2;3", "1 2 3;4 5 6", "1 x;2 3", "1 nan;2 3"])
def test_what_is_not_a_list_of_points_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_contour(text, "nodule 'n1' slice 3")
    assert str(refusal.value) == (
        f"nodule 'n1' slice 3: contour '{text}' is not a list of points. "
        "Write its corners as 'x y;x y;...' in millimetres, or leave it empty."
    )


def test_a_long_contour_is_shown_in_part() -> None:
    with pytest.raises(InputError, match=r"contour '(1 1;){10}\.\.\.' is not"):
        parse_contour("1 1;" * 30 + "x", "here")


def test_a_box_has_four_corners() -> None:
    np.testing.assert_array_equal(box_contour(1, 2, 4, 2), [[-1, 1], [3, 1], [3, 3], [-1, 3]])
