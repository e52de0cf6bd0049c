import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.imaging.diameters import area_mm2, long_and_short_mm

ANGLES = np.linspace(0, 2 * np.pi, 720, endpoint=False)


def ellipse(long, short, turn=0.0, at=(0.0, 0.0)):
    x, y = long / 2 * np.cos(ANGLES), short / 2 * np.sin(ANGLES)
    return np.column_stack(
        [x * np.cos(turn) - y * np.sin(turn) + at[0], x * np.sin(turn) + y * np.cos(turn) + at[1]]
    )


def test_long_of_a_rectangle_is_its_diagonal_and_short_the_chord_across():
    # 4 x 3: diagonal 5; the chord at right angles through a corner's height: 3 * 5 / 4 = 3.75
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    assert long_and_short_mm(corners) == pytest.approx((5.0, 3.75))
    assert area_mm2(corners) == 12.0


def test_a_single_point_has_no_extent():
    assert long_and_short_mm(np.array([[1.0, 2.0]])) == (0.0, 0.0)


@given(
    long=st.floats(2, 30),
    ratio=st.floats(0.3, 0.98),
    turn=st.floats(0, 3.1),
    shift=st.floats(-300, 300),
)
def test_diameters_of_an_ellipse_are_its_axes_however_it_lies(long, ratio, turn, shift):
    measured = long_and_short_mm(ellipse(long, long * ratio, turn, (shift, -shift)))
    assert measured == pytest.approx((long, long * ratio), rel=2e-3)


def test_area_of_an_ellipse_is_pi_a_b():
    assert area_mm2(ellipse(10, 6, 0.3, (100, 50))) == pytest.approx(np.pi * 5 * 3, rel=1e-4)
