from dataclasses import replace

import numpy as np
import pytest

from nodulebench.phantom.bulges import KINDS, TO_NODULE_MM, grow_bulges
from nodulebench.phantom.chest import RIGHT, SIDES, lung_surface
from nodulebench.phantom.disease import Condition
from nodulebench.phantom.nodule_placement import Surroundings
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner
from nodulebench.phantom.vessels import REACH_MM, hilar_vessels, hilum

COARSE = Scanner(2.5, 4.0, 3.6, 96, "standard", 1000.0)


@pytest.fixture(scope="module")
def around(patient):
    return Surroundings(patient.chest, patient.tubes.vessels)


@pytest.fixture(scope="module")
def bulges(around, patient):
    return grow_bulges(around, patient.nodules, np.random.default_rng(2))


def test_bulges_reach_a_few_millimetres_into_the_lung_and_keep_off_nodules(around, bulges, patient):
    deepest = max(kind.height_mm[1] for kind in KINDS.values())
    # the middle is outside the lung, or hardly inside
    depth = -around.pleura_mm(bulges.start) + bulges.start_radius
    assert len(bulges) > 150
    assert np.quantile(depth, 0.5) > 0.5
    assert np.mean(depth < 1.6 * deepest) > 0.95  # distances next to a corner are not exact
    for nodule in patient.nodules:
        apart = np.linalg.norm(bulges.start - nodule.shape.center_mm, axis=1)
        least = nodule.shape.largest_reach_mm + bulges.start_radius + TO_NODULE_MM
        assert np.all(apart > least)


@pytest.mark.slow
def test_the_lungs_of_image_and_truth_end_at_a_bulge(patient, bulges):
    plain = replace(patient, nodules=(), condition=Condition())
    smooth, rough = (
        scan_patient(replace(plain, bulges=each), COARSE, slices=24) for each in (None, bulges)
    )
    lost = (smooth.lungs > 0) & (rough.lungs == 0)
    assert 0.005 < np.count_nonzero(lost) / np.count_nonzero(smooth.lungs) < 0.08
    assert not np.any((smooth.lungs == 0) & (rough.lungs > 0))
    # what was lung is tissue there, but for voxels on the border
    assert np.mean(rough.volume.hu[lost] > smooth.volume.hu[lost].astype(float) + 100) > 0.8
    is_left = (rough.lungs > 0) & ~lost
    change = np.abs(rough.volume.hu[is_left].astype(float) - smooth.volume.hu[is_left])
    assert np.median(change) < 5.0


def test_vessels_crowd_around_the_hilum(patient):
    chest = patient.chest
    vessels = hilar_vessels(chest, np.random.default_rng(3))
    assert len(vessels) > 40
    for end in (vessels.start, vessels.end):
        roots = np.stack([hilum(chest, side) for side in SIDES])
        apart = np.linalg.norm(end[:, None] - roots, axis=2).min(axis=1)
        assert apart.max() <= REACH_MM[1] * 1.05
    right = vessels.end[vessels.end[:, 0] < 0]
    assert np.mean(lung_surface(chest, *right.T, RIGHT) < 0) > 0.6
