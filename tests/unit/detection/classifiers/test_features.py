import numpy as np
import pytest

from builders.lung_scenes import ball, distance_from, lung_with, rod, world
from nodulebench.detection.classifiers.features import (
    FEATURES,
    Outlined,
    entropy_bits,
    measure,
    outline,
    region_features,
    skewness,
)


def _named(values):
    return dict(zip(FEATURES, values, strict=True))


def _block(inside, hu, lungs=None, threshold=-400.0):
    everywhere = np.ones(inside.shape, bool) if lungs is None else lungs
    return Outlined(hu.astype(np.float32), everywhere, inside, threshold)


def test_there_are_fifteen_features():
    assert len(FEATURES) == len(set(FEATURES)) == 15


def test_a_digital_ball_by_hand():
    inside = distance_from((10, 10, 10), (21, 21, 21)) <= 5.0
    hu = np.where(inside, 40.0, -860.0)
    features = _named(region_features(_block(inside, hu)))
    # 515 voxels have their centre within 5: radius (3 x 515 / 4 pi)^(1/3)
    assert inside.sum() == 515
    assert features["radius_mm"] == pytest.approx(np.cbrt(3 * 515 / (4 * np.pi)))
    assert features["sphericity"] == pytest.approx(485 / 515), "30 voxels lie at 5, beyond 4.97"
    assert features["elongation"] == pytest.approx(1.0)
    assert features["flatness"] == pytest.approx(1.0)
    assert features["box_filling"] == pytest.approx(515 / 11**3)
    # distances of a ball from its centre have density 3 r^2: skewness -0.8607
    assert features["distance_skewness"] == pytest.approx(-0.86, abs=0.1)
    assert features["mean_hu"] == features["max_hu"] == 40.0
    assert features["sd_hu"] == features["entropy_bits"] == 0.0
    assert features["contrast_hu"] == features["edge_hu_per_mm"] == pytest.approx(900.0)
    assert features["dense_shell"] == features["outside_shell"] == features["shell_sd_hu"] == 0.0


def test_a_shandle_of_two_densities_by_hand():
    inside = np.zeros((9, 9, 13), dtype=bool)
    inside[4, 4, 2:10] = True
    hu = np.full(inside.shape, -900.0)
    hu[4, 4, 2:6], hu[4, 4, 6:10] = -100.0, 100.0
    lungs = np.ones(inside.shape, bool)
    features = _named(region_features(_block(inside, hu, lungs)))
    assert features["mean_hu"] == 0.0
    assert features["sd_hu"] == 100.0
    assert features["max_hu"] == 100.0
    assert features["entropy_bits"] == 1.0
    # a rod of 8: half axes sqrt(5 x 64/12) and sqrt(5/12)
    assert features["elongation"] == features["flatness"] == pytest.approx(1 / 8)
    assert features["box_filling"] == 1.0
    # distances 0.5, 1.5, 2.5, 3.5 twice each, about the mean 2
    assert features["distance_skewness"] == pytest.approx(0.0)
    assert features["contrast_hu"] == 900.0


def test_the_surroundings_measure_what_is_dense_or_outside():
    inside = np.zeros((9, 9, 9), dtype=bool)
    inside[4, 4, 4] = True
    hu = np.full(inside.shape, -900.0)
    hu[4, 4, 4] = hu[4, 4, 5] = 0.0
    lungs = np.ones(inside.shape, bool)
    lungs[:4] = False
    features = _named(region_features(_block(inside, hu, lungs)))
    # of the 24 voxels within two steps over faces, 6 lie below (5 at one slice, 1 at two)
    assert features["outside_shell"] == pytest.approx(6 / 24)
    assert features["dense_shell"] == pytest.approx(1 / 18)


def test_a_region_with_nothing_but_chest_wall_around_it():
    inside = np.zeros((5, 5, 5), dtype=bool)
    inside[2, 2, 2] = True
    features = _named(region_features(_block(inside, np.zeros((5, 5, 5)), inside)))
    assert (features["outside_shell"], features["dense_shell"], features["contrast_hu"]) == (
        1.0,
        1.0,
        0.0,
    )


def test_skewness_and_entropy_by_hand():
    assert skewness(np.array([3.0, 3.0])) == 0.0
    # 0, 0, 3 about their mean 1: (-1 - 1 + 8) / 3 over 2^(3/2)
    assert skewness(np.array([0.0, 0.0, 3.0])) == pytest.approx(2.0 / 2.0**1.5)
    # bins of 50 HU: two voxels in [0, 50), one in [50, 100), one in [-50, 0)
    assert entropy_bits(np.array([0.0, 49.0, 50.0, -1.0])) == pytest.approx(1.5)


def test_an_outline_is_the_nodule_without_its_vessel():
    shape = (64, 64, 64)
    hu = -850.0 + np.maximum(ball((32, 32, 32), 5.0), rod((32, 32, 32), 0.6))
    outlined = outline(hu.astype(np.float32), np.ones(shape, bool), np.array([32.0, 32, 32]), 10.0)
    assert outlined.threshold_hu == pytest.approx((0 - 850) / 2)
    assert outlined.inside.sum() == pytest.approx(4 / 3 * np.pi * 125, rel=0.1)
    along = outlined.inside.any(axis=(1, 2)).sum()
    assert along <= 13, "the vessel through it is cut after a voxel or two"


def test_an_outline_stays_within_the_lungs_and_is_never_empty():
    hu = np.full((20, 20, 20), -850.0, np.float32)
    nothing = outline(hu, np.zeros(hu.shape, bool), np.array([19.6, 3.0, -4.0]), 3.0)
    assert nothing.inside.sum() == 1


def test_features_are_measured_where_candidates_lie():
    chest = lung_with(ball((32, 32, 20), 4.0), ball((32, 32, 44), 6.0, hu=-500.0))
    place = np.array([world(32, 32, 20), world(32, 32, 44)])
    first, second = (_named(row) for row in measure(chest, place, np.array([8.0, 12.0])))
    assert first["radius_mm"] == pytest.approx(4.0, abs=0.3)
    assert second["radius_mm"] == pytest.approx(6.0, abs=0.4)
    assert first["max_hu"] == pytest.approx(0.0, abs=1)
    assert second["max_hu"] == pytest.approx(-500.0, abs=1)
    assert measure(chest, np.empty((0, 3)), np.empty(0)).shape == (0, 15)
