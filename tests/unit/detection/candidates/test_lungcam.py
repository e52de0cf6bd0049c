import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.lung_scenes import ball, distance_from, lung_with, rod, world
from nodulebench.detection.candidates.lungcam import (
    Settings,
    attraction,
    chosen,
    compact_regions,
    detect,
    explore,
    mix_bits,
)
from nodulebench.detection.scan import prepare_scan
from nodulebench.imaging.lungs import Lungs


def _region(seed=0, shape=(14, 15, 16), share=0.6):
    random = np.random.default_rng(seed)
    image = random.random(shape, dtype=np.float32)
    return image, random.random(shape) < share


def test_attraction_by_hand():
    # (1 + s / (1 + 0.2 s)) ** 3.5 for s = 0, 1, 5
    drawn = attraction(np.float32([0.0, 1.0, 5.0]), Settings())
    assert drawn == pytest.approx([1.0, (1 + 1 / 1.2) ** 3.5, (1 + 5 / 2) ** 3.5])


def test_an_ant_goes_where_it_is_drawn_in_proportion():
    draw = (np.arange(1000, dtype=np.float32) + 0.5) / 1000
    taken = chosen(np.tile(np.float32([1.0, 0.0, 3.0, 4.0]), (1000, 1)), draw)
    assert np.bincount(taken, minlength=4).tolist() == [125, 0, 375, 500]


@pytest.mark.parametrize("draw", [np.float32(1.0) - np.float32(2.0**-24), np.float32(1.0)])
def test_no_lot_takes_an_ant_through_a_wall(draw):
    # the highest of 32 bits are 1 in single precision
    assert np.float32(2**32 - 1) * np.float32(2.0**-32) == 1.0
    drawing = np.float32([[1.0, 2.0, 0.0, 0.0], [0.1, 0.7, 0.3, 0.0], [0.0, 5.0, 0.0, 0.0]])
    assert chosen(drawing, np.full(3, draw)).tolist() == [1, 2, 1]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_what_ants_leave_is_conserved(seed):
    image, region = _region(seed)
    rules = Settings(seed=seed)
    explored = explore(image, region, rules)
    # every visit leaves the trace and the density of the voxel, nothing evaporates
    assert explored.pheromone == pytest.approx(explored.visits * (rules.trace + image), rel=1e-4)
    assert (explored.visits[region] >= 1).all(), "every voxel of the region is visited"
    assert (explored.visits[~region] == 0).all()
    assert explored.visits.max() <= rules.visits


def test_all_ants_die_also_on_rich_and_on_poor_ground():
    for ground in (0.0, 1.0):
        image = np.full((10, 10, 10), ground, dtype=np.float32)
        explored = explore(image, np.ones(image.shape, bool))
        assert (explored.visits >= 1).all()
        assert explored.ants >= 4**3, "a colony every third voxel along each axis"


def test_the_same_seed_gives_the_same_map_and_another_seed_another():
    image, region = _region()
    first, again, other = (explore(image, region, Settings(seed=seed)) for seed in (3, 3, 4))
    assert np.array_equal(first.pheromone, again.pheromone)
    assert (first.steps, first.ants) == (again.steps, again.ants)
    assert not np.array_equal(first.pheromone, other.pheromone)


def test_voxels_behind_a_wall_change_nothing():
    image, region = _region(shape=(14, 15, 24))
    region[:, :, 11] = False
    middle = np.array([7, 7, 15])  # colonies start in threes from here: none reaches over
    whole = explore(image, region, Settings(), middle)
    # the part behind the wall, with places counted from the same voxel
    part = explore(image[:, :, 12:], region[:, :, 12:], Settings(), middle - [0, 0, 12])
    assert np.array_equal(part.visits, whole.visits[:, :, 12:])
    assert np.array_equal(part.pheromone, whole.pheromone[:, :, 12:])
    elsewhere = explore(image[:, :, 12:], region[:, :, 12:], Settings(), middle)
    assert not np.array_equal(elsewhere.visits, part.visits), "lots follow from places"


def test_lots_are_spread_evenly():
    lots = mix_bits(np.arange(100_000, dtype=np.uint32)) * 2.0**-32
    assert np.histogram(lots, bins=10, range=(0, 1))[0] == pytest.approx(10_000, rel=0.04)
    assert abs(np.corrcoef(lots[1:], lots[:-1])[0, 1]) < 0.01


def test_a_cut_lung_keeps_its_marks():
    structures = (ball((32, 32, 20), 4.0), ball((20, 40, 44), 3.0), rod((0, 26, 40), 2.0))
    chest = lung_with(*structures, noise_hu=15.0)
    label = chest.lungs.label.copy()
    label[:, :, 57] = 0  # a layer of lung is missed, tissue there is cut away
    volume = chest.volume.part((slice(0, 64), slice(3, 64), slice(0, 62)))
    cut = prepare_scan(volume, lungs=Lungs(label[:, 3:, :62], volume.geometry))
    plain, other = detect(chest), detect(cut)
    assert len(plain) >= 2
    apart = np.linalg.norm(plain.center_mm[:, None] - other.center_mm, axis=2)
    assert (apart.min(axis=1) < 1.0).mean() >= 0.9


def test_an_empty_region_has_no_ants():
    explored = explore(np.zeros((5, 5, 5), np.float32), np.zeros((5, 5, 5), bool))
    assert (explored.ants, explored.steps, explored.visits.sum()) == (0, 0, 0)


def test_a_ball_is_cut_off_its_vessel_by_a_rising_threshold():
    pheromone = np.zeros((48, 48, 48), np.float32)
    pheromone[:, 22:26, 22:26] = 1.0
    pheromone[distance_from((24, 24, 24), pheromone.shape) <= 6.0] = 3.0
    candidates = compact_regions(pheromone, Settings(levels=(0.5, 2.0)))
    assert len(candidates) == 1
    assert candidates.center_mm[0] == pytest.approx([24, 24, 24], abs=0.1)
    assert candidates.diameter_mm[0] == pytest.approx(12.0, rel=0.05)
    assert not len(compact_regions(pheromone, Settings(levels=(0.5,))))


def test_ants_find_a_nodule_and_ignore_vessels():
    chest = lung_with(ball((32, 32, 20), 4.0), rod((0, 32, 44), 2.0), noise_hu=20.0)
    candidates = detect(chest)
    apart = np.linalg.norm(candidates.center_mm - world(32, 32, 20), axis=1)
    assert apart.min() < 1.0
    assert (np.linalg.norm(candidates.center_mm[:, :2] - world(0, 32, 44)[:2], axis=1) > 4).all()


def test_no_candidates_in_an_empty_lung():
    assert len(detect(lung_with())) == 0
