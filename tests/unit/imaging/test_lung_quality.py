"""What is not as lungs are is told; lungs of every kind are not."""

from dataclasses import replace

import numpy as np
import pytest

from builders.bodies import CHESTS, NO_CHESTS, cut_chest
from nodulebench.imaging.air import Air
from nodulebench.imaging.lung_quality import (
    RANGES,
    LungMeasures,
    body_share,
    lung_warnings,
    measure_lungs,
)
from nodulebench.imaging.lungs import segment_lungs
from nodulebench.imaging.volume import make_volume

USUAL = LungMeasures(4500.0, 260.0, -860.0, 0.4, 0.0, 0.02, 0.9)


def found(body):
    hu, step_mm = body.seen()
    return segment_lungs(make_volume(np.rint(hu).astype(np.int16), spacing_mm=step_mm[::-1]))


@pytest.mark.parametrize("name", [*CHESTS, "cut"])
def test_lungs_of_every_kind_are_plausible(name):
    assert found({**CHESTS, "cut": cut_chest}[name]()).is_plausible


@pytest.mark.parametrize("name", NO_CHESTS)
def test_what_is_found_in_heads_bellies_and_legs_is_not(name):
    lungs = found(NO_CHESTS[name]())
    assert not lungs.is_plausible
    assert lungs.mask.any()  # whoever wants to see what was found can


def test_usual_lungs_leave_no_doubt():
    assert lung_warnings(USUAL) == ()


@pytest.mark.parametrize("one", RANGES, ids=lambda one: one.measure)
def test_each_measure_is_reported_just_outside_its_range(one):
    for inside, outside in ((one.low, one.low - 0.01), (one.high, one.high + 0.01)):
        assert lung_warnings(replace(USUAL, **{one.measure: inside})) == ()
        (doubt,) = lung_warnings(replace(USUAL, **{one.measure: outside}))
        assert doubt.code == "lungs_unlike"
        assert doubt.values == {**one._asdict(), "value": outside}


def test_a_single_lung_is_reported_by_its_own_code():
    (doubt,) = lung_warnings(replace(USUAL, smaller_share=0.05))
    assert (doubt.code, doubt.values) == ("one_lung", {"smaller_share": 0.05})


def test_measures_are_those_of_boxes_counted_by_hand():
    # voxels of 5 x 4 x 4 mm; a body of 20 x 30 voxels in air, lungs of 10 x 8 and 10 x 4 voxels
    hu = np.full((12, 40, 50), -1000.0, np.float32)
    body = (slice(None), slice(10, 30), slice(10, 40))
    hu[body] = 40.0
    label = np.zeros(hu.shape, np.uint8)
    label[2:10, 15:25, 15:23] = 1
    label[2:10, 15:25, 32:36] = 2
    hu[label > 0] = -850.0
    hu[2:10, 13:14, 26:30] = -700.0  # air as dark as lung, 3 voxels from both
    within = np.zeros(hu.shape, np.bool_)
    within[body] = True
    air = Air(label > 0, ~within, ~within, np.zeros(hu.shape[1:], np.bool_), within)
    measures = measure_lungs(hu, label, air, np.array([5.0, 4.0, 4.0]))
    assert measures.volume_ml == pytest.approx(8 * 10 * 12 * 0.08)
    assert measures.height_mm == 40.0
    assert measures.median_hu == -850.0
    assert measures.body_share == pytest.approx(10 * 12 / (20 * 30))
    # 9 mm are two voxels of 4 mm; the wall is four voxels at the nearest
    assert measures.exposed_share == 0.0
    # of four voxels a slice none lies within 9 mm: 12 mm from the first lung, 12 from the second
    assert measures.left_out_share == pytest.approx(8 * 4 / (8 * 10 * 12))
    assert measures.smaller_share == pytest.approx(0.5)


def test_lungs_at_the_skin_are_exposed():
    label = np.zeros((5, 30, 30), np.uint8)
    label[:, 10:20, 10:15] = 1
    label[:, 10:20, 15:20] = 2
    outside = np.ones(label.shape, np.bool_)
    outside[:, 9:21, 9:21] = False
    hu = np.where(outside, -1000.0, -850.0).astype(np.float32)
    air = Air(label > 0, outside, outside, np.zeros(hu.shape[1:], np.bool_), ~outside)
    assert measure_lungs(hu, label, air, np.array([5.0, 4.0, 4.0])).exposed_share == 1.0
    assert body_share(label > 0, outside) == pytest.approx(100 / 144)
