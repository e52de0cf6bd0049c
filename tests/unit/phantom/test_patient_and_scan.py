from dataclasses import replace

import numpy as np
import pytest

from nodulebench.core.tables import NODULE_TYPES
from nodulebench.phantom.chest import SIDES, Chest, lung_surface, random_chest
from nodulebench.phantom.nodule import KINDS
from nodulebench.phantom.patient import NodulePlan, follow_up, make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner
from nodulebench.phantom.truth import nodule_mask

SMALL = Scanner(2.5, 2.5, 2.7, 128, "standard", 300.0)


def pleura_mm(chest, points):
    x, y, z = points.T
    return np.minimum(*(lung_surface(chest, x, y, z, side) for side in SIDES))


def surface_points(shape):
    random = np.random.default_rng(4)
    direction = random.standard_normal((300, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return shape.center_mm + direction * shape.reach_mm(direction)[:, None]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_scan_and_another_seed_another(patient, scan):
    plans = [NodulePlan(n.type, n.surface, n.attachment, 8.0) for n in patient.nodules]
    again = make_patient(11, 1, plans)
    assert again.chest == patient.chest
    assert np.array_equal(again.tubes.vessels.end, patient.tubes.vessels.end)
    assert make_patient(12, 1, ()).chest != patient.chest
    assert make_patient(11, 2, ()).chest != patient.chest
    first, again, other = (scan_patient(patient, SMALL, repeat=n, slices=8) for n in (0, 0, 1))
    assert np.array_equal(first.volume.hu, again.volume.hu)
    # the last slice of a short scan has no planes above it
    assert np.array_equal(first.volume.hu[:6], scan.volume.hu[:6])
    difference = other.volume.hu.astype(float) - first.volume.hu
    assert 1 < difference.std() < 30
    assert abs(difference.mean()) < 1.0


def test_every_type_of_the_tables_has_its_kind():
    assert tuple(KINDS) == NODULE_TYPES


def test_every_planned_nodule_is_there_with_its_type(patient):
    assert sorted(nodule.type for nodule in patient.nodules) == sorted([*NODULE_TYPES, "solid"])


@pytest.mark.slow
def test_patients_without_a_plan_have_all_types_between_them():
    patients = [make_patient(5, number) for number in range(1, 6)]
    types = {nodule.type for patient in patients for nodule in patient.nodules}
    assert types == set(NODULE_TYPES)
    for patient in patients:
        for nodule in patient.nodules:
            low, high = KINDS[nodule.type].diameter_mm
            assert 0.6 * low < nodule.shape.diameter_mm < 1.15 * high


@pytest.mark.parametrize("surface", ["smooth", "lobulated", "spiculated"])
@pytest.mark.parametrize("diameter_mm", [2.0, 30.0])
def test_nodules_of_2_and_of_30_mm_have_about_their_size_and_none_is_longer(surface, diameter_mm):
    (nodule,) = make_patient(8101, 1, [NodulePlan("solid", surface, None, diameter_mm)]).nodules
    assert nodule.shape.diameter_mm == pytest.approx(diameter_mm, rel=0.15)
    assert nodule.shape.long_and_short_mm[0] <= 30.001


def test_isolated_nodules_lie_in_the_lung_and_pleural_ones_on_its_edge(patient):
    for nodule in patient.nodules:
        depth = -pleura_mm(patient.chest, surface_points(nodule.shape))
        if nodule.attachment == "juxtapleural":
            assert depth.min() == pytest.approx(0, abs=3.5)
        else:
            assert depth.min() > 0.5
        assert depth.max() > 1.0


def test_a_juxtavascular_nodule_touches_a_vessel(patient):
    (nodule,) = [nodule for nodule in patient.nodules if nodule.attachment == "juxtavascular"]
    vessels = patient.tubes.vessels
    middle = (vessels.start + vessels.end) / 2
    gap = nodule.shape.distance_mm(middle) - vessels.end_radius
    assert gap[vessels.end_radius > 1.0].min() < 1.0


def test_nodules_keep_apart(patient):
    for number, nodule in enumerate(patient.nodules):
        for other in patient.nodules[number + 1 :]:
            apart = np.linalg.norm(nodule.shape.center_mm - other.shape.center_mm)
            assert apart > nodule.shape.largest_reach_mm + other.shape.largest_reach_mm


def test_each_type_has_its_density_in_the_scan(scan):
    for nodule in scan.nodules:
        if nodule.shape.diameter_mm < 10:
            continue
        box, inside = nodule_mask(nodule, scan.volume.geometry)
        values = scan.volume.hu[box][inside]
        if nodule.type == "pure_ground_glass":
            assert -800 < np.median(values) < -450
        elif nodule.type == "part_solid":
            assert -800 < np.percentile(values, 15) < -300
            assert values.max() > -400
        elif "calcified" in nodule.type:
            assert np.percentile(values, 75) > 100
        else:
            assert -250 < np.median(values) < 100


@pytest.mark.slow
def test_the_truth_is_where_the_nodules_change_the_image(patient, scan):
    # the same scan without nodules, same noise: what differs are the nodules
    empty = scan_patient(replace(patient, nodules=()), SMALL, position_mm=(3.0, -4.0, 120.0))
    change = scan.volume.hu.astype(float) - empty.volume.hu
    geometry = scan.volume.geometry
    for nodule in scan.nodules:
        if nodule.attachment != "isolated":
            continue
        i, j, k = np.rint(geometry.to_index(nodule.shape.centroid_mm[None])[0]).astype(int)
        reach = 6
        box = tuple(slice(at - reach, at + reach + 1) for at in (k, j, i))
        weight = change[box]
        places = np.indices(weight.shape) + np.array([k, j, i])[:, None, None, None] - reach
        middle = [(weight * axis).sum() / weight.sum() for axis in places][::-1]
        seen = geometry.to_world(np.array([middle]))[0]
        assert seen == pytest.approx(nodule.shape.centroid_mm, abs=0.35)
        contrast = nodule.hu - np.median(empty.volume.hu[box])
        volume = weight.sum() / contrast * scan.volume.voxel_mm3
        assert volume == pytest.approx(nodule.shape.volume_mm3, rel=0.12)


def test_a_scan_is_where_the_patient_was_put(patient, scan):
    assert scan.volume.geometry.spacing_mm.tolist() == [2.7, 2.7, 2.5]
    at_origin = scan_patient(patient, SMALL, slices=2)
    shift = scan.volume.geometry.origin_mm - at_origin.volume.geometry.origin_mm
    assert shift == pytest.approx([3.0, -4.0, 120.0])
    for here, there in zip(scan.nodules, at_origin.nodules, strict=True):
        assert here.shape.center_mm - there.shape.center_mm == pytest.approx([3.0, -4.0, 120.0])


def test_both_lungs_are_known_and_hold_air(scan):
    right, left = (scan.lungs == side for side in (1, 2))
    litres = [lung.sum() * scan.volume.voxel_mm3 / 1e6 for lung in (right, left)]
    assert 1.2 < litres[1] < litres[0] * 1.15 < 5.5
    columns = np.arange(128)
    assert (right.any(axis=(0, 1)) * columns).max() < (left.any(axis=(0, 1)) * columns).max()
    assert -950 < np.median(scan.volume.hu[scan.lungs > 0]) < -840


@pytest.mark.slow
def test_the_number_of_slices_can_be_given(patient):
    coarse = Scanner(5.0, 5.0, 5.5, 64, "smooth", 300.0)
    assert scan_patient(patient, coarse, slices=12).volume.shape == (12, 64, 64)


@pytest.mark.slow
def test_follow_up_grows_malignant_nodules_by_a_known_ratio():
    patient = make_patient(3, 1, [NodulePlan("solid", "spiculated", "isolated", 8.0)] * 4)
    later, growth = follow_up(patient, 200)
    assert any(nodule.is_malignant for nodule in patient.nodules)
    for before, after, change in zip(patient.nodules, later.nodules, growth, strict=True):
        ratio = after.shape.volume_mm3 / before.shape.volume_mm3
        assert ratio == pytest.approx(change.volume_ratio, rel=1e-6)
        assert (change.doubling_days is not None) == before.is_malignant
        if change.doubling_days is not None:
            assert ratio == pytest.approx(2 ** (200 / change.doubling_days), rel=1e-6)
        assert after.shape.long_and_short_mm[0] < 30.1


def test_a_grown_pleural_nodule_stays_on_the_pleura():
    patient = make_patient(3, 2, [NodulePlan("pleural", "smooth", None, 12.0)])
    (nodule,) = patient.nodules
    grown = nodule.grown(2.0)
    assert grown.anchor_mm == pytest.approx(nodule.anchor_mm)
    assert grown.shape.volume_mm3 == pytest.approx(2 * nodule.shape.volume_mm3)


def test_chests_differ_and_their_lungs_have_plausible_size():
    chests = [random_chest(np.random.default_rng(seed)) for seed in range(40)]
    assert {chest.is_female for chest in chests} == {True, False}
    assert {chest.is_enhanced for chest in chests} == {True, False}
    random = np.random.default_rng(0)
    points = random.uniform((-170, -130, -220), (170, 150, 150), (30_000, 3))
    for chest in chests[:10]:
        litres = np.mean(pleura_mm(chest, points) < 0) * 340 * 280 * 370 / 1e6
        assert 3.0 < litres < 8.5


def test_the_pleura_of_a_default_chest_separates_the_lungs():
    chest = Chest()
    x = np.linspace(-150, 150, 301)
    inside = pleura_mm(chest, np.column_stack([x, np.full(301, 0.0), np.full(301, -20.0)])) < 0
    assert np.count_nonzero(np.diff(inside.astype(int)) == 1) == 2  # two lungs along the line
    assert not inside[150]
