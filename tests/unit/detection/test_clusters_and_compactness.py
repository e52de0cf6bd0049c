import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.lung_scenes import distance_from
from nodulebench.detection.regions import (
    ball_diameter,
    compactness,
    find_regions,
    half_axes,
    strongest_of_clusters,
)


def test_the_strongest_takes_in_what_it_reaches():
    place = np.array([[0.0, 0, 0], [0, 0, 2], [0, 0, 4], [0, 0, 9]])
    is_strongest = strongest_of_clusters(place, np.array([1.0, 3.0, 2.0, 0.5]), np.full(4, 2.0))
    # the second reaches its neighbours at exactly 2; the last has none
    assert is_strongest.tolist() == [False, True, False, True]


def test_a_weak_place_with_a_long_reach_takes_no_stronger_one():
    place = np.array([[0.0, 0, 0], [0, 0, 3]])
    assert strongest_of_clusters(place, np.array([1.0, 2.0]), np.array([10.0, 1.0])).all()


def test_no_places_no_clusters():
    assert len(strongest_of_clusters(np.empty((0, 3)), np.empty(0), np.empty(0))) == 0


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 3), min_size=1, max_size=30), st.integers(0, 9))
def test_strongest_places_are_out_of_each_others_reach_and_reach_all_others(points, seed):
    place = np.array(points, dtype=np.float64)
    strength = np.random.default_rng(seed).random(len(place))
    is_strongest = strongest_of_clusters(place, strength, np.full(len(place), 3.0))
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)
    among = apart[np.ix_(is_strongest, is_strongest)]
    assert (among[~np.eye(len(among), dtype=bool)] > 3.0).all()
    assert (apart[:, is_strongest].min(axis=1) <= 3.0).all()


def test_the_half_axes_of_a_ball_are_its_radius():
    regions = find_regions(distance_from((16, 16, 16), (33, 33, 33)) <= 10.0)
    assert half_axes(regions)[0] == pytest.approx([10.0, 10.0, 10.0], rel=0.02)
    assert compactness(regions)[0] == pytest.approx(1.0, abs=0.03)
    assert ball_diameter(regions.size)[0] == pytest.approx(20.0, rel=0.02)


def test_a_row_of_voxels_by_hand():
    mask = np.zeros((3, 3, 14), dtype=bool)
    mask[1, 1, 1:13] = True
    regions = find_regions(mask)
    # a rod of length 12: variance 12^2/12 along it, 1/12 across
    longest, middle, shortest = half_axes(regions)[0]
    assert longest == pytest.approx(np.sqrt(5 * 12.0))
    assert middle == shortest == pytest.approx(np.sqrt(5 / 12))
    assert compactness(regions)[0] == pytest.approx(12 / (4 / 3 * np.pi * 60**1.5))
