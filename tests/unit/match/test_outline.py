import numpy as np
import polars as pl
import pytest

from nodulebench.errors import InputError
from nodulebench.match.outline import is_inside, outline_areas, read_outlines

SQUARE = "0 0;4 0;4 4;0 4"
HOOK = "0 0;6 0;6 6;4 6;4 2;0 2"  # an L: the corner at (1, 5) is outside


def inside(text, *points):
    x, y = (np.array([point[axis] for point in points], dtype=np.float64) for axis in (0, 1))
    outlines = read_outlines(pl.Series([None, text]))
    return is_inside(outlines, np.ones(len(points), dtype=np.int64), x, y).tolist()


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
    assert is_inside(outlines, which, np.ones(4), np.ones(4)).tolist() == [False, False, True, True]


def test_no_outlines_at_all():
    outlines = read_outlines(pl.Series([None, None], dtype=pl.String))
    assert is_inside(outlines, np.array([0, 1]), np.zeros(2), np.zeros(2)).tolist() == [False] * 2
    assert outline_areas(outlines).tolist() == [0.0, 0.0]


def test_areas_in_square_millimetres():
    outlines = read_outlines(pl.Series([SQUARE, None, HOOK, "0 0;0 4;3 0", "1 1;2 2"]))
    assert outline_areas(outlines).tolist() == [16.0, 0.0, 20.0, 6.0, 0.0]


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
def test_text_that_is_no_list_of_points_is_an_error(text):
    with pytest.raises(InputError) as caught:
        read_outlines(pl.Series([SQUARE, text]))
    assert str(caught.value) == (
        f"outline '{text}': is not a list of points. Write it as 'x y;x y;...' in millimetres."
    )
