import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.readings import rim
from nodulebench.imaging.outlines import area_mm2
from nodulebench.imaging.rasters import enclosed_pixels, polygon_pixels, trace_outlines

Pixels = set[tuple[int, int]]

pixel_sets = st.sets(st.tuples(st.integers(-5, 6), st.integers(-5, 6)), min_size=1, max_size=60)


def enclosed(*rims: tuple[tuple[int, int], ...]) -> list[tuple[Pixels, Pixels]]:
    """For each rim the pixels strictly inside, and with the rim."""
    outline = np.repeat(np.arange(len(rims)), [len(rim) for rim in rims])
    i, j = np.concatenate([np.array(rim) for rim in rims]).T
    which, i, j, is_rim = enclosed_pixels(outline, i, j)
    result = []
    for number in range(len(rims)):
        mine = which == number
        everything = set(zip(i[mine].tolist(), j[mine].tolist(), strict=True))
        inside = mine & ~is_rim
        result.append((set(zip(i[inside].tolist(), j[inside].tolist(), strict=True)), everything))
    return result


def pixels_of(corners: list[tuple[float, float]]) -> Pixels:
    i, j = polygon_pixels(np.array(corners, dtype=np.float64))
    return set(zip(i.tolist(), j.tolist(), strict=True))


def trace(*sets: Pixels) -> list[np.ndarray]:
    owner = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    i, j = np.array([pixel for one in sets for pixel in sorted(one)]).T
    outline, corners = trace_outlines(owner, i, j)
    return [corners[outline == number] for number in range(len(sets))]


def test_a_rim_of_pixels_encloses_what_is_strictly_inside() -> None:
    ((inside, whole),) = enclosed(rim((3, 3), (5, 4)))
    assert inside == {(i, j) for i in (3, 4, 5) for j in (3, 4)}
    assert len(whole) - len(inside) == 14


def test_a_rim_that_touches_only_at_corners_is_closed() -> None:
    diamond = ((0, 2), (1, 1), (2, 0), (3, 1), (4, 2), (3, 3), (2, 4), (1, 3))
    ((inside, _),) = enclosed(diamond)
    assert inside == {(2, 1), (1, 2), (2, 2), (3, 2), (2, 3)}


def test_a_rim_with_a_gap_encloses_nothing() -> None:
    ((inside, whole),) = enclosed(rim((3, 3), (5, 5))[1:-3])
    assert inside == set()
    assert whole == set(rim((3, 3), (5, 5))[1:-3])


def test_a_single_point_encloses_nothing() -> None:
    ((inside, whole),) = enclosed(((7, -3),))
    assert (inside, whole) == (set(), {(7, -3)})


def test_rims_do_not_disturb_each_other() -> None:
    one, other = rim((0, 0), (1, 1)), rim((100, -50), (107, -44))
    assert enclosed(one, other, one) == [*enclosed(one), *enclosed(other), *enclosed(one)]


def test_no_rims_enclose_nothing() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert all(len(part) == 0 for part in enclosed_pixels(nothing, nothing, nothing))


def test_a_polygon_holds_the_pixels_whose_centres_it_holds() -> None:
    assert pixels_of([(0.5, 0.5), (3.4, 0.5), (3.4, 2.5), (0.5, 2.5)]) == {
        (i, j) for i in (1, 2, 3) for j in (1, 2)
    }


def test_polygons_that_share_an_edge_share_no_pixel() -> None:
    left, right = [(0, 0), (3, 0), (3, 3), (0, 3)], [(3, 0), (6, 0), (6, 3), (3, 3)]
    assert pixels_of(left) & pixels_of(right) == set()
    assert len(pixels_of(left)) == len(pixels_of(right)) == 9


def test_a_polygon_between_pixel_centres_is_the_pixel_at_its_middle() -> None:
    assert pixels_of([(4.6, 2.1), (4.9, 2.1), (4.9, 2.4)]) == {(5, 2)}
    assert pixels_of([(3.9, 1.0), (4.0, 1.02), (3.9, 1.02)]) == {(4, 1)}


def test_the_outline_of_a_block_has_its_four_corners() -> None:
    (corners,) = trace({(i, j) for i in range(2, 5) for j in range(7, 9)})
    assert sorted(map(tuple, corners.tolist())) == [(1.5, 6.5), (1.5, 8.5), (4.5, 6.5), (4.5, 8.5)]


def test_pixels_that_touch_at_a_corner_and_holes_are_one_outline() -> None:
    ring = {(i, j) for i in range(3) for j in range(3)} - {(1, 1)}
    for pixels in (ring, {(0, 0), (1, 1)}, {(0, 0), (5, 0), (5, 5)}):
        (corners,) = trace(pixels)
        assert pixels_of([tuple(corner) for corner in corners]) == pixels


@given(st.lists(pixel_sets, min_size=1, max_size=5))
def test_the_outline_of_pixels_holds_exactly_these_pixels(sets: list[Pixels]) -> None:
    for pixels, corners in zip(sets, trace(*sets), strict=True):
        assert pixels_of([tuple(corner) for corner in corners.tolist()]) == pixels
        assert area_mm2(corners) == pytest.approx(len(pixels))


def test_many_sets_are_traced_in_their_order() -> None:
    sets: list[Pixels] = [{(number % 7, 0), (number % 7, 1)} for number in range(600)]
    for pixels, corners in zip(sets, trace(*sets), strict=True):
        assert pixels_of([tuple(corner) for corner in corners.tolist()]) == pixels


def test_no_pixels_have_no_outline() -> None:
    nothing = np.empty(0, dtype=np.int64)
    owner, corners = trace_outlines(nothing, nothing, nothing)
    assert len(owner) == len(corners) == 0
