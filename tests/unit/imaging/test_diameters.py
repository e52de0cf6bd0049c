"""Long and short axis by hand, of shapes whose axes are known, and on every way to them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from nodulebench.core.arrays import FloatArray
from nodulebench.imaging.outlines import largest_distance_mm, long_and_short_mm
from nodulebench.phantom.nodule import Lobe, NoduleShape
from nodulebench.reference.sizes import drawn_slice_sizes, slice_sizes

ANGLES = np.linspace(0, 2 * np.pi, 720, endpoint=False)
coordinates = st.floats(-50, 50, allow_nan=False).map(lambda value: round(value, 3))
point_sets = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=25)


def outline(*corners: tuple[float, float]) -> FloatArray:
    return np.array(corners, dtype=np.float64)


def ellipse(
    long: float, short: float, turn: float = 0.0, at: tuple[float, float] = (0.0, 0.0)
) -> FloatArray:
    x, y = long / 2 * np.cos(ANGLES), short / 2 * np.sin(ANGLES)
    return np.column_stack(
        [x * np.cos(turn) - y * np.sin(turn) + at[0], x * np.sin(turn) + y * np.cos(turn) + at[1]]
    )


def test_long_of_a_rectangle_is_its_diagonal_and_short_the_chord_across() -> None:
    # 4 x 3: diagonal 5; the chord at right angles through a corner's height: 3 * 5 / 4 = 3.75
    corners = outline((0, 0), (4, 0), (4, 3), (0, 3))
    assert long_and_short_mm(corners) == pytest.approx((5.0, 3.75))


def test_the_short_axis_ends_on_the_nodule_not_in_a_notch() -> None:
    # a body 10 long with two spicules up to 3, at 2 and at 8, and one down to -3 between them, at
    # 5. From tip to tip is no line across; from the tip at 5 the line ends on the body's upper
    # side, at 1: 4 mm. The convex hull would give 3 + 3 = 6 mm.
    spicules = outline(
        (0, 0), (1.5, -1), (4.5, -1), (5, -3), (5.5, -1), (8.5, -1),
        (10, 0), (8.5, 1), (8, 3), (7.5, 1), (2.5, 1), (2, 3), (1.5, 1),
    )  # fmt: skip
    assert long_and_short_mm(spicules) == pytest.approx((10.0, 4.0))


def test_the_short_axis_is_a_line_not_the_width() -> None:
    # corners above and below the axis at different places: width 2, longest line across 1 + 1/3
    skew = outline((0, 0), (7.5, -1), (10, 0), (2.5, 1))
    assert long_and_short_mm(skew) == pytest.approx((10.0, 1 + 1 / 3))


def test_of_equally_long_axes_the_one_with_the_longer_perpendicular_counts() -> None:
    # two axes of 10 from (0, 0); across the one to (10, 0) lies 8 + 2/3, across the other 8
    corners = outline((0, 0), (4, -1), (10, 0), (6, 8))
    for shift in range(4):
        turned = np.roll(corners, shift, axis=0)
        assert long_and_short_mm(turned) == pytest.approx((10.0, 8 + 2 / 3))


def test_a_line_has_no_width_and_a_point_no_extent() -> None:
    line = outline((0, 0), (1, 1), (3, 3))
    assert long_and_short_mm(line) == pytest.approx((math.sqrt(18), 0))
    assert long_and_short_mm(line[:1]) == (0.0, 0.0)


def test_parts_of_a_nodule_are_measured_together() -> None:
    # two squares of side 2, 4 apart: from corner to corner sqrt(8² + 2²)
    left, right = outline((0, 0), (2, 0), (2, 2), (0, 2)), outline((6, 0), (8, 0), (8, 2), (6, 2))
    long, short = long_and_short_mm(left, right)
    assert long == pytest.approx(math.sqrt(68))
    assert short == pytest.approx(2 * math.sqrt(68) / 8)  # within one of them


@pytest.mark.slow
@given(
    long=st.floats(2, 30),
    ratio=st.floats(0.3, 0.98),
    turn=st.floats(0, 3.1),
    shift=st.floats(-300, 300),
)
def test_diameters_of_an_ellipse_are_its_axes_however_it_lies(
    long: float, ratio: float, turn: float, shift: float
) -> None:
    measured = long_and_short_mm(ellipse(long, long * ratio, turn, (shift, -shift)))
    assert measured == pytest.approx((long, long * ratio), rel=2e-3)


@given(point_sets)
def test_the_long_axis_is_the_largest_distance(points: list[tuple[float, float]]) -> None:
    placed = np.array(points)
    long, short = long_and_short_mm(placed)
    assert long == largest_distance_mm(placed)
    assert long == pytest.approx(max(pdist(placed), default=0.0))
    assert 0 <= short <= long * (1 + 1e-9)


@given(point_sets, st.floats(0, 6.28), coordinates)
def test_the_long_axis_does_not_depend_on_where_and_how_a_shape_lies(
    points: list[tuple[float, float]], turn: float, shift: float
) -> None:
    placed = np.array(points)
    turned = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    moved = placed @ turned.T + shift
    assert long_and_short_mm(moved)[0] == pytest.approx(long_and_short_mm(placed)[0], abs=1e-9)


def lobulated(seed: int) -> NoduleShape:
    random = np.random.default_rng(seed)
    lobes = []
    for _ in range(7):
        x, y, z = random.standard_normal(3)
        length = math.sqrt(x * x + y * y + z * z)
        lobes.append(
            Lobe(
                (float(x / length), float(y / length), float(z / length)),
                float(random.uniform(0.2, 0.8)),
                float(random.uniform(7, 30)),
            )
        )
    return NoduleShape(np.zeros(3), random.uniform(2, 8, 3), np.eye(3), tuple(lobes))


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_phantom_truth_and_the_reference_measure_an_outline_alike(seed: int) -> None:
    shape = lobulated(seed)
    drawn = shape.outline(shape.largest_section_z_mm)
    assert drawn is not None
    no = np.array([False])
    sizes = drawn_slice_sizes(np.array([0]), np.array([3]), no, no, [drawn])
    assert sizes.select("long_mm", "short_mm").row(0) == shape.long_and_short_mm


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30))
def test_pixels_are_measured_as_the_squares_that_they_are(pixels: set[tuple[int, int]]) -> None:
    placed = np.array([(i, j, 3) for i, j in sorted(pixels)])
    step = np.array([0.7, 0.6])
    sizes = slice_sizes(np.zeros(len(placed), dtype=np.int64), placed, step[None])
    around = 0.5 * outline((-1, -1), (1, -1), (1, 1), (-1, 1))
    squares = [(np.array(pixel) + around) * step for pixel in pixels]
    assert sizes.select("long_mm", "short_mm").row(0) == pytest.approx(long_and_short_mm(*squares))
