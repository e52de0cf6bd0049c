import numpy as np
import pytest

from builders.lung_scenes import ball, distance_from, lung_with, rod, world
from nodulebench.detection.candidates import etrocad, m5l, mot_m5lv1
from nodulebench.detection.scale_space import peaks_of_chest

PLACE = (32, 32, 20)


def _apart(candidates, place):
    return np.linalg.norm(candidates.center_mm - world(*place), axis=1)


@pytest.mark.parametrize("find", [etrocad.find, m5l.find, mot_m5lv1.find])
def test_a_nodule_is_found_once_with_its_size_and_a_vessel_is_not(find):
    chest = lung_with(ball(PLACE, 4.0), rod((0, 32, 46), 1.5), noise_hu=15.0)
    candidates = find(chest)
    near = _apart(candidates.candidates, PLACE) < 4.0
    assert near.sum() == 1
    assert candidates.candidates.diameter_mm[near][0] == pytest.approx(8.0, rel=0.35)
    assert candidates.features.shape == (len(candidates.candidates), len(candidates.names))
    along = (
        np.linalg.norm(candidates.candidates.center_mm[:, :2] - world(0, 32, 46)[:2], axis=1) < 3
    )
    ends = np.abs(candidates.candidates.center_mm[:, 2] - world(*PLACE)[2]) > 18
    assert not (along & ~ends).any()


@pytest.mark.parametrize("detect", [etrocad.detect, m5l.detect, mot_m5lv1.detect])
def test_an_empty_lung_gives_no_candidates(detect):
    assert len(detect(lung_with())) == 0


def test_ground_glass_is_seen_by_all_three():
    chest = lung_with(ball(PLACE, 5.0, hu=-600.0), noise_hu=15.0)
    for find in (etrocad.find, m5l.find, mot_m5lv1.find):
        assert _apart(find(chest).candidates, PLACE).min() < 3.0


def test_the_kind_follows_from_pleura_and_vessel():
    chest = lung_with(ball((32, 32, 32), 3.0), ball((32, 10, 32), 3.0))
    peaks = peaks_of_chest(chest)
    lungs = chest.resampled(1.0).lungs.mask
    kind = etrocad.kinds(peaks, lungs, etrocad.DEFAULT)
    middle = np.linalg.norm(peaks.index - 32, axis=1) < 1.5
    pleural = np.linalg.norm(peaks.index - [32, 10, 32], axis=1) < 1.5
    fits = np.abs(peaks.scale - 1.5) < 0.1
    assert set(kind[middle & fits]) == {etrocad.ISOLATED}
    assert set(kind[pleural & fits]) == {etrocad.JUXTAPLEURAL}


def test_a_strong_line_makes_a_peak_juxtavascular():
    chest = lung_with(ball((32, 32, 32), 3.0))
    peaks = peaks_of_chest(chest)
    always = etrocad.Settings(vessel_share=0.0, pleura_mm=-100.0)
    lungs = np.ones_like(chest.resampled(1.0).lungs.mask)
    assert set(etrocad.kinds(peaks, lungs, always)) == {etrocad.JUXTAVASCULAR}


def test_the_thresholds_of_a_kind_hold_for_that_kind():
    chest = lung_with(ball((32, 32, 32), 3.0))
    deaf = etrocad.Settings(dot_hu=(1e4, 0.0, 0.0))
    assert len(etrocad.find(chest).candidates) == 1
    assert len(etrocad.find(chest, deaf).candidates) == 0


def test_an_opening_parts_a_nodule_from_its_vessel():
    dense = distance_from((32, 32, 32)) <= 5.0
    dense[:, 31:34, 31:34] = True
    assert len(mot_m5lv1.compact_regions(dense, 1.0)) == 0, "the vessel is still attached"
    candidates = mot_m5lv1.compact_regions(dense, 3.0)
    assert len(candidates) == 1
    assert candidates.center_mm[0] == pytest.approx([32, 32, 32], abs=0.1)
    assert candidates.diameter_mm[0] == pytest.approx(10.0, rel=0.1)


def test_a_nodule_of_several_thresholds_is_one_candidate():
    chest = lung_with(ball(PLACE, 5.0))
    assert len(mot_m5lv1.find(chest).candidates) == 1


def test_the_same_chest_gives_the_same_candidates():
    chest = lung_with(ball(PLACE, 4.0), noise_hu=15.0)
    for find in (etrocad.find, m5l.find, mot_m5lv1.find):
        first, again = find(chest), find(chest)
        assert np.array_equal(first.candidates.center_mm, again.candidates.center_mm)
        assert np.array_equal(first.features, again.features)
