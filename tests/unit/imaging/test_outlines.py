import math

import numpy as np
import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.imaging.outlines import (
    area_mm2,
    areas_mm2,
    box_outline,
    is_inside,
    outline_text,
    outline_texts,
    read_outline,
    read_outlines,
)


@pytest.mark.parametrize("text", ["0 1;2 -3.5;4e0 5", " 0 1; 2  -3.5 ;4 5 ;"])
def test_corners_are_separated_by_semicolons(text: str) -> None:
    np.testing.assert_array_equal(read_outline(text, "here"), [[0, 1], [2, -3.5], [4, 5]])


@pytest.mark.parametrize("text", ["", "1 2;3", "1 2 3;4 5 6", "1 x;2 3", "1 nan;2 3"])
def test_what_is_not_a_list_of_points_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_outline(text, "nodule 'n1' slice 3")
    assert str(refusal.value) == (
        f"nodule 'n1' slice 3: contour '{text}' is not a list of points. "
        "Write its corners as 'x y;x y;...' in millimetres, or leave it empty."
    )


def test_a_long_contour_is_shown_in_part() -> None:
    with pytest.raises(InputError, match=r"contour '(1 1;){10}\.\.\.' is not"):
        read_outline("1 1;" * 30 + "x", "here")


def test_a_box_has_four_corners() -> None:
    np.testing.assert_array_equal(box_outline(1, 2, 4, 2), [[-1, 1], [3, 1], [3, 3], [-1, 3]])


def test_corners_are_written_as_they_are_or_rounded() -> None:
    corners = [(1.0, 1 / 3), (-2.5, 4.0)]
    assert outline_text(corners) == "1.0 0.3333333333333333;-2.5 4.0"
    assert outline_text(corners, ".3f") == "1.000 0.333;-2.500 4.000"
    assert read_outline(outline_text(corners), "here").tolist() == [[1.0, 1 / 3], [-2.5, 4.0]]


def test_area_by_hand() -> None:
    assert area_mm2(np.array([[0, 0], [4, 0], [4, 3.0]])) == 6
    assert area_mm2(np.array([[1e6, 1e6], [1e6, 1e6 + 2], [1e6 + 2, 1e6]])) == 2


def test_area_of_an_ellipse_is_pi_a_b() -> None:
    angle = np.linspace(0, 2 * math.pi, 720, endpoint=False)
    placed = np.column_stack([100 + 5 * np.cos(angle), 50 + 3 * np.sin(angle)])
    assert area_mm2(placed) == pytest.approx(math.pi * 5 * 3, rel=1e-4)


def test_contours_are_read_and_written_as_text() -> None:
    points = read_outlines(pl.Series(["1 2;3.5 -4;5 6", "0.25 1;2 3;"]))
    assert points.owner.tolist() == [0, 0, 0, 1, 1]
    assert points.x.tolist() == [1, 3.5, 5, 0.25, 2]
    assert points.y.tolist() == [2, -4, 6, 1, 3]
    written = outline_texts(points.owner, points.x, points.y)
    assert written["contour"].to_list() == ["1.0 2.0;3.5 -4.0;5.0 6.0", "0.25 1.0;2.0 3.0"]


@pytest.mark.parametrize("text", ["1 2;3", "1 2;x 4", "", None, "1 2;nan 3", "1 2 3;4 5 6"])
def test_what_is_not_a_contour_is_refused(text: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read_outlines(pl.Series(["0 0;1 1", text], dtype=pl.String), allows_none=False)
    assert str(caught.value) == (
        f"outline '{text or ''}': is not a list of points. "
        "Write it as 'x y;x y;...' in millimetres."
    )


SQUARE = "0 0;4 0;4 4;0 4"
HOOK = "0 0;6 0;6 6;4 6;4 2;0 2"  # an L: the corner at (1, 5) is outside


def inside(text, *points):
    x, y = (np.array([point[axis] for point in points], dtype=np.float64) for axis in (0, 1))
    outlines = read_outlines(pl.Series([None, text]))
    return is_inside(outlines, np.ones(len(points), dtype=np.int64), x, y, edge_mm=1e-6).tolist()


def test_points_inside_and_outside_of_a_square():
    assert inside(SQUARE, (2, 2), (5, 2), (2, -1), (-1, -1)) == [True, False, False, False]


def test_edge_and_corners_belong_to_the_outline():
    assert inside(SQUARE, (0, 2), (4, 2), (2, 0), (2, 4), (0, 0), (4, 4)) == [True] * 6
    assert inside("0 0;3 1;1 3", (1.5, 0.5), (1.5, 0.499)) == [True, False]


def test_hollow_of_an_outline_is_outside():
    assert inside(HOOK, (1, 5), (5, 5), (1, 1), (4, 4)) == [False, True, True, True]


def test_point_level_with_a_corner_is_counted_once():
    diamond = "2 0;4 2;2 4;0 2"
    assert inside(diamond, (1, 2), (-1, 2), (5, 2), (2, 2)) == [True, False, False, True]


def test_direction_and_closing_point_do_not_matter():
    points = ((2, 2), (5, 2), (0, 2))
    assert inside("0 4;4 4;4 0;0 0;0 4", *points) == inside(SQUARE, *points)


def test_slice_without_an_outline_contains_nothing():
    outlines = read_outlines(pl.Series([SQUARE, None, "", HOOK]))
    assert outlines.is_drawn.tolist() == [True, False, False, True]
    which = np.array([1, 2, 0, 3])
    assert is_inside(outlines, which, np.ones(4), np.ones(4), edge_mm=0).tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_no_outlines_at_all():
    outlines = read_outlines(pl.Series([None, None], dtype=pl.String))
    assert (
        is_inside(outlines, np.array([0, 1]), np.zeros(2), np.zeros(2), edge_mm=0).tolist()
        == [False] * 2
    )
    assert areas_mm2(outlines).tolist() == [0.0, 0.0]


def test_areas_in_square_millimetres():
    outlines = read_outlines(pl.Series([SQUARE, None, HOOK, "0 0;0 4;3 0", "1 1;2 2"]))
    assert areas_mm2(outlines).tolist() == [16.0, 0.0, 20.0, 6.0, 0.0]


def test_random_points_in_a_convex_outline_agree_with_its_half_planes():
    random = np.random.default_rng(3)
    angle = np.sort(random.uniform(0, 2 * np.pi, 9))
    corners = np.column_stack([5 * np.cos(angle), 3 * np.sin(angle)])
    text = ";".join(f"{x!r} {y!r}" for x, y in corners.tolist())
    point = random.uniform(-6, 6, (500, 2))
    edge = np.roll(corners, -1, axis=0) - corners
    apart = point[:, np.newaxis] - corners
    expected = (edge[:, 0] * apart[..., 1] - edge[:, 1] * apart[..., 0] > 0).all(axis=1)
    assert 50 < expected.sum() < 450
    assert inside(text, *point.tolist()) == expected.tolist()


@pytest.mark.parametrize("text", ["0 0;1;2 2", "0 0;a 1", "0 0;1 nan", "0 0 0;1 1 1"])
def test_text_that_is_not_a_list_of_points_is_an_error(text):
    with pytest.raises(InputError) as caught:
        read_outlines(pl.Series([SQUARE, text]))
    assert str(caught.value) == (
        f"outline '{text}': is not a list of points. Write it as 'x y;x y;...' in millimetres."
    )
