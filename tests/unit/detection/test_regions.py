import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.detection.regions import (
    CORNERS,
    Parts,
    all_parts,
    find_regions,
    move_to_centres,
    parts_of,
)
from nodulebench.imaging.linking import merged_within


def _two_boxes():
    mask = np.zeros((6, 8, 10), dtype=bool)
    mask[1:3, 1:3, 1:3] = True
    mask[3, 3, 3:6] = True  # touches the first at a corner only
    return mask


def test_regions_touch_at_faces_unless_corners_count():
    assert find_regions(_two_boxes()).count == 2
    assert find_regions(_two_boxes(), CORNERS).count == 1
    assert find_regions(np.zeros((3, 3, 3), dtype=bool)).count == 0


def test_size_centre_spread_and_means_are_those_of_the_voxels():
    regions = find_regions(_two_boxes())
    assert regions.size.tolist() == [8, 3]
    assert regions.center.tolist() == [[1.5, 1.5, 1.5], [3, 3, 4]]
    # every corner of the cube is sqrt(3)/2 away; the row's voxels are 1, 0, 1 away
    assert regions.spread == pytest.approx([np.sqrt(0.75), np.sqrt(2 / 3)])
    image = np.arange(6 * 8 * 10).reshape(6, 8, 10)
    row = image[3, 3, 3:6]
    assert regions.mean(regions.of(image))[1] == row.mean()
    assert regions.highest(regions.of(image))[1] == row.max()


def test_chosen_regions_are_renumbered_and_united_ones_share_their_voxels():
    regions = find_regions(_two_boxes())
    second = regions.chosen(np.array([False, True]))
    assert (second.count, second.size.tolist()) == (1, [3])
    both = regions.united(np.array([0, 0]))
    assert both.size.tolist() == [11]
    assert both.center[0] == pytest.approx((8 * np.array([1.5] * 3) + 3 * np.array([3, 3, 4])) / 11)


def test_points_are_merged_recursively_at_their_centre_of_mass():
    # 0 and 2 merge first, to 1 (equal weight); then 1 and 4 are 3 apart and merge; 8 stays
    center = np.array([[0.0, 0, 0], [2, 0, 0], [4, 0, 0], [8, 0, 0]])
    assert merged_within(center, np.ones(4), 3.0).tolist() == [0, 0, 0, 1]
    # a heavy first point keeps the merged one at 0.2: 3.8 from the third
    assert merged_within(center, np.array([9.0, 1, 1, 1]), 3.0).tolist() == [0, 0, 1, 2]


def test_points_that_are_all_equally_near_merge_too():
    ring = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert merged_within(ring, np.ones(3), 1.5).tolist() == [0, 0, 0]
    same = np.zeros((5, 3))
    assert merged_within(same, np.ones(5), 0.0).tolist() == [0] * 5


@given(seed=st.integers(0, 500), count=st.integers(0, 40))
def test_merged_points_are_farther_apart_than_the_distance(seed, count):
    random = np.random.default_rng(seed)
    center = random.uniform(0, 15, (count, 3))
    weight = random.uniform(1, 5, count)
    group = merged_within(center, weight, 3.0)
    merged = [
        np.average(center[group == index], axis=0, weights=weight[group == index])
        for index in range(group.max(initial=-1) + 1)
    ]
    for number, place in enumerate(merged):
        for other in merged[:number]:
            assert np.linalg.norm(place - other) > 3.0


def _ball(shape, center, radius):
    grid = np.indices(shape).T - np.array(center)
    squared = (grid**2).sum(axis=-1).T
    return squared <= radius**2


def test_a_ball_is_compact_and_has_its_radius_at_any_depth():
    ball = _ball((31, 31, 31), (15, 15, 15), 9)
    for thinning in (0.0, 3.0, 5.0):
        part = parts_of(ball, thinning)
        assert part.center == pytest.approx(np.full((1, 3), 15.0))
        assert part.radius == pytest.approx(9, abs=0.6)
        assert part.compactness == pytest.approx(1, abs=0.04)


def test_a_rod_is_less_compact_than_a_ball():
    rod = np.zeros((9, 9, 60), dtype=bool)
    rod[3:6, 3:6, 5:55] = True
    # 450 voxels: a ball of radius 4.75 with the spread 3.68; the rod's spread is 50 / sqrt(12)
    assert parts_of(rod).compactness == pytest.approx(3.68 / 14.5, abs=0.01)


def test_balls_on_a_thread_come_apart_when_thinned():
    pearls = _ball((21, 21, 61), (10, 10, 12), 7) | _ball((21, 21, 61), (10, 10, 46), 7)
    pearls[10, 10, 12:46] = True
    whole, thinned = parts_of(pearls), parts_of(pearls, 2.0)
    assert len(whole) == 1
    assert sorted(thinned.center[:, 2].tolist()) == pytest.approx([12, 46])
    both = all_parts([whole, thinned], 3.0)
    assert len(both) == 3
    # a part at the position of an earlier one is the same part
    assert len(all_parts([thinned, parts_of(pearls, 4.0)], 3.0)) == 2


def test_levels_may_be_empty():
    nothing = Parts(np.empty((0, 3)), np.empty(0), np.empty(0))
    ball = parts_of(_ball((11, 11, 11), (5, 5, 5), 4))
    assert len(all_parts([nothing, ball, nothing], 3.0)) == 1


def _lung_with_ball(center, radius, hu):
    image = np.full((40, 40, 40), -850.0, dtype=np.float32)
    image[_ball(image.shape, center, radius)] = hu
    return image


def test_a_place_on_the_rim_moves_to_the_middle_of_the_ball():
    image = _lung_with_ball((20, 20, 20), 4, 0.0)
    rim = np.array([[20.0, 20.0, 24.0], [17.0, 20.0, 20.0]])
    moved = move_to_centres(
        image, np.ones(image.shape, dtype=bool), rim, np.full(2, 5.0), densest_hu=-300, steps=8
    )
    assert moved == pytest.approx(np.full((2, 3), 20.0), abs=0.3)


def test_one_step_goes_to_the_centre_of_mass_within_the_ball():
    image = np.full((9, 9, 9), -850.0, dtype=np.float32)
    image[4, 4, 5], image[4, 4, 7] = -300.0, 500.0
    lungs = np.ones(image.shape, dtype=bool)
    start = np.array([[4.0, 4.0, 5.0]])
    # both weigh 550, since nothing weighs more than -300 HU: the middle of 5 and 7
    one_step = move_to_centres(image, lungs, start, np.array([2.0]), densest_hu=-300, steps=1)
    assert one_step.tolist() == [[4.0, 4.0, 6.0]]
    lungs[4, 4, 7] = False
    from_dense = move_to_centres(image, lungs, start, np.array([2.0]), densest_hu=-300, steps=1)
    assert from_dense.tolist() == start.tolist()


def test_a_place_with_nothing_around_it_stays():
    image = np.full((9, 9, 9), -900.0, dtype=np.float32)
    start = np.array([[2.0, 3.5, 30.0]])
    lungs = np.ones(image.shape, dtype=bool)
    moved = move_to_centres(image, lungs, start, np.array([3.0]), densest_hu=-300, steps=4)
    assert moved.tolist() == start.tolist()
