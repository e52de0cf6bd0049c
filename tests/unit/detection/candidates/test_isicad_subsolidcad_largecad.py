import csv
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from builders.lung_scenes import ball, lung_with, rod, world
from builders.places import TEST_DATA
from builders.real_scans import plain_scan
from nodulebench.detection.candidates import isicad, largecad, subsolidcad
from nodulebench.detection.scan import prepare_scan
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import make_volume

MODULES = (isicad, subsolidcad, largecad)
PLACE = (30, 33, 28)


def _nearest_mm(candidates, place):
    return np.linalg.norm(candidates.center_mm - world(*place), axis=1).min()


@pytest.mark.parametrize("diameter", [4, 6, 10, 16])
def test_isicad_finds_a_solid_ball_at_its_centre(diameter):
    candidates = isicad.detect(lung_with(ball(PLACE, diameter / 2)))
    assert len(candidates) == 1
    assert _nearest_mm(candidates, PLACE) < 0.5
    assert candidates.diameter_mm[0] == pytest.approx(diameter, abs=2.5)


def test_isicad_ignores_a_vessel_and_finds_the_nodule_on_it():
    vessel = rod((32, 40, 40), 2.0)
    assert len(isicad.detect(lung_with(vessel)).score) == 0
    candidates = isicad.detect(lung_with(vessel, ball((32, 40, 44), 4)))
    assert _nearest_mm(candidates, (32, 40, 44)) < 4


def test_isicad_scores_a_larger_nodule_higher():
    candidates = isicad.detect(lung_with(ball((20, 20, 20), 2.5), ball((42, 42, 42), 5)))
    assert np.linalg.norm(candidates.best(1).center_mm[0] - world(42, 42, 42)) < 1
    assert len(candidates) == 2


def test_isicad_merges_clusters_within_three_voxels():
    pair = lung_with(ball((30, 30, 28), 2.0), ball((30, 30, 34), 2.0))
    apart = isicad.detect(pair, replace(isicad.DEFAULT, merge_voxels=0.0, voxel_mm=1.0))
    joined = isicad.detect(pair, replace(isicad.DEFAULT, merge_voxels=7.0, voxel_mm=1.0))
    assert (len(apart), len(joined)) == (2, 1)
    assert _nearest_mm(joined, (30, 30, 31)) < 0.5


@pytest.mark.parametrize("hu", [-600.0, -450.0])
def test_subsolidcad_finds_ground_glass_that_largecad_misses(hu):
    chest = lung_with(ball(PLACE, 6, hu=hu))
    candidates = subsolidcad.detect(chest)
    assert np.linalg.norm(candidates.best(1).center_mm[0] - world(*PLACE)) < 1
    assert candidates.best(1).diameter_mm[0] == pytest.approx(12, abs=1.5)
    assert len(largecad.detect(chest)) == 0


def test_subsolidcad_drops_what_is_smaller_than_34_cubic_millimetres():
    # 34 mm3 is a ball of 4.02 mm; two cubes of voxels of 1 mm, the smaller of 27 mm3
    def cube(side):
        hu = np.full((64, 64, 64), 0.0)
        hu[20 : 20 + side, 20 : 20 + side, 20 : 20 + side] = 300.0
        return lung_with(hu)

    plain = replace(subsolidcad.DEFAULT, sigma_voxels=0.0)
    assert len(subsolidcad.detect(cube(3), plain)) == 0
    assert len(subsolidcad.detect(cube(5), plain)) == 1


def test_subsolidcad_opens_with_a_ball_of_three_voxels():
    sheet = np.zeros((64, 64, 64))
    sheet[20:22, 15:45, 15:45] = 300.0  # two voxels thick: a rim
    assert len(subsolidcad.detect(lung_with(sheet))) == 0


def test_subsolidcad_parts_a_nodule_from_a_long_rim():
    rim = rod((32, 40, 40), 1.6, hu=-500)
    candidates = subsolidcad.detect(lung_with(rim, ball((20, 40, 44), 6, hu=-550)))
    assert np.linalg.norm(candidates.best(1).center_mm[0] - world(20, 40, 44)) < 3


@pytest.mark.parametrize("diameter", [10, 16, 24])
def test_largecad_finds_a_large_ball_on_a_vessel(diameter):
    candidates = largecad.detect(lung_with(rod((32, 30, 30), 2.5), ball(PLACE, diameter / 2)))
    assert np.linalg.norm(candidates.best(1).center_mm[0] - world(*PLACE)) < 2
    assert candidates.best(1).diameter_mm[0] == pytest.approx(diameter, abs=2.5)


def test_largecad_finds_a_ball_cut_by_the_pleura_where_the_lungs_leave_it_out():
    chest = lung_with(ball((32, 32, 10), 8))
    outside = np.linalg.norm(np.argwhere(np.ones(chest.hu.shape)) - [32, 32, 10], axis=1) <= 8.5
    label = chest.lungs.label.copy()
    label[outside.reshape(label.shape)] = 0
    dented = replace(chest, lungs=Lungs(label, chest.volume.geometry))
    candidates = largecad.detect(dented)
    assert _nearest_mm(candidates, (32, 32, 11)) < 4


def test_largecad_keeps_diameters_of_8_to_40_mm():
    assert len(largecad.detect(lung_with(ball(PLACE, 3)))) == 0
    narrow = replace(largecad.DEFAULT, diameter_mm=(8.0, 12.0))
    assert len(largecad.detect(lung_with(ball(PLACE, 9)), narrow)) == 0


@pytest.mark.parametrize("module", MODULES)
def test_an_even_lung_has_no_candidates(module):
    candidates = module.detect(lung_with())
    assert candidates.center_mm.shape == (0, 3)
    assert len(candidates) == 0


@pytest.mark.parametrize("module", MODULES)
def test_every_setting_tells_its_origin(module):
    source = Path(module.__file__).read_text(encoding="utf-8")
    for field in fields(module.Settings):
        origin = source.split(f"    {field.name}:", 1)[1].split('"""')[1]
        assert origin.startswith(("Paper: ", "Open: ")), field.name


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_scan_stored_the_other_way_round_has_the_same_candidates(module, axis):
    structures = (ball(PLACE, 6, hu=-500 if module is subsolidcad else 0), rod((32, 45, 45), 2.0))
    chest = lung_with(*structures, noise_hu=20.0)
    plain = module.detect(chest)
    geometry = chest.volume.geometry
    last = np.zeros((1, 3))
    last[0, 2 - axis] = geometry.size[2 - axis] - 1
    direction = np.eye(3)
    direction[2 - axis, 2 - axis] = -1
    turned = make_volume(
        np.flip(chest.hu, axis),
        spacing_mm=geometry.spacing_mm,
        origin_mm=geometry.to_world(last)[0],
        direction=direction,
    )
    # lungs are given in the patient's axes, like those of the plain scan
    other = module.detect(prepare_scan(turned, lungs=chest.lungs))
    assert np.allclose(plain.center_mm, other.center_mm)
    assert np.allclose(plain.score, other.score)


@pytest.fixture(scope="module")
def real_scan(tmp_path_factory):
    """LIDC-IDRI-0001 with its nodule of 23.4 mm at the pleura."""
    truth = TEST_DATA / "luna16" / "annotations.csv"
    if not truth.is_file():
        pytest.skip(f"no {truth}; set NODULEBENCH_TEST_DATA")
    folder = plain_scan(tmp_path_factory, "LIDC-IDRI-0001")
    from nodulebench.io.dicom.volumes import read_series, read_volume

    series = read_series(folder).uid
    with truth.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["seriesuid"] == series]
    (nodule,) = rows
    place = np.array([float(nodule[f"coord{axis}"]) for axis in "XYZ"])
    return prepare_scan(read_volume(folder)), place, float(nodule["diameter_mm"])


@pytest.mark.slow
@pytest.mark.parametrize(("module", "most"), [(isicad, 400), (largecad, 60)])
def test_the_nodule_of_a_real_scan_is_the_first_candidate(real_scan, module, most):
    chest, place, diameter_mm = real_scan
    candidates = module.detect(chest)
    assert len(candidates) < most
    assert np.linalg.norm(candidates.best(1).center_mm[0] - place) < diameter_mm / 2
