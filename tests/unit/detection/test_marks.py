from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.lung_scenes import LUNG_HU, ball, lung_with, rod, world
from nodulebench.detection.marks import measure_marks
from nodulebench.detection.scan import Candidates, no_candidates, prepare_scan
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import make_volume

PLACE = (30, 33, 28)


def _candidate(diameter, *places):
    count = len(places) or 1
    center = np.array([world(*place) for place in (places or (PLACE,))])
    return Candidates(center, np.arange(count, 0, -1.0), np.full(count, float(diameter)))


@pytest.mark.parametrize("diameter", [5, 8, 14, 22])
def test_a_ball_has_its_diameter_on_its_largest_slice(diameter):
    marks, slices = measure_marks(lung_with(ball(PLACE, diameter / 2)), _candidate(diameter), "a")
    row = marks.row(0, named=True)
    assert row["diameter_mm"] == pytest.approx(diameter, abs=1.0)
    assert row["short_mm"] == pytest.approx(row["long_mm"], rel=0.2)
    middle = slices.filter(slices["slice_index"] == 30).row(0, named=True)
    assert middle["z_mm"] == -270.0
    assert (middle["center_x_mm"], middle["center_y_mm"]) == (18.0, 53.0)
    assert middle["length_mm"] == pytest.approx(diameter, abs=1.01)
    assert slices.height == pytest.approx(diameter, abs=1.01)


def test_the_mark_keeps_centre_score_and_order():
    chest = lung_with(ball((20, 20, 20), 3), ball((44, 44, 44), 4))
    marks, slices = measure_marks(chest, _candidate(7, (20, 20, 21), (44, 44, 44)), "case-9")
    assert marks["case_id"].to_list() == ["case-9"] * 2
    assert marks["mark_id"].to_list() == ["1", "2"]
    assert marks["score"].to_list() == [2.0, 1.0]
    assert marks.row(0)[2:5] == (11.0, 40.0, -280.0)
    assert set(slices["mark_id"]) == {"1", "2"}


def test_an_ellipse_has_its_two_axes():
    grid = np.indices((64, 64, 64)) - np.array(PLACE)[:, None, None, None]
    inside = (grid[0] / 5) ** 2 + (grid[1] / 5) ** 2 + (grid[2] / 9) ** 2 <= 1
    marks, _ = measure_marks(lung_with(inside * (0.0 - LUNG_HU)), _candidate(14), "a")
    assert marks["long_mm"][0] == pytest.approx(18, abs=1.5)
    assert marks["short_mm"][0] == pytest.approx(10, abs=1.5)


@pytest.mark.parametrize(
    ("hu", "density"),
    [(-600, "ground_glass"), (-400, "ground_glass"), (20, "solid"), (300, "calcified")],
)
def test_density_follows_the_hounsfield_units(hu, density):
    marks, _ = measure_marks(lung_with(ball(PLACE, 5, hu=hu)), _candidate(10), "a")
    assert marks["density"][0] == density


def test_ground_glass_with_a_solid_core_is_part_solid():
    chest = lung_with(ball(PLACE, 8, hu=-550), ball(PLACE, 4.2, hu=30))
    marks, _ = measure_marks(chest, _candidate(16), "a")
    assert marks["density"][0] == "part_solid"
    assert marks["diameter_mm"][0] == pytest.approx(16, abs=2.5)


def test_a_vessel_is_cut_off():
    chest = lung_with(rod((30, 33, 28), 1.2), ball(PLACE, 6))
    _, slices = measure_marks(chest, _candidate(12), "a")
    # the vessel runs through all 64 slices; what is left is the ball and short stumps
    assert 11 <= slices.height <= 17


def test_the_chest_wall_is_cut_off():
    chest = lung_with(ball((30, 33, 9), 6))
    _, slices = measure_marks(chest, _candidate(12, (30, 33, 9)), "a")
    left = slices["center_x_mm"] - slices["length_mm"] / 2
    # the lung begins at column 6: x = -10 + 6 - 0.5
    assert left.min() >= -4.5


def test_slices_are_counted_from_the_feet_of_the_whole_scan():
    chest = lung_with(ball(PLACE, 4))
    whole = Geometry(
        np.ones(3), np.array([-10.0, 20.0, -340.0]), np.eye(3), np.array([64, 64, 120])
    )
    _, slices = measure_marks(replace(chest, scan=whole), _candidate(8), "a")
    assert slices.filter(slices["z_mm"] == -270.0)["slice_index"].to_list() == [70]


def test_no_candidates_make_empty_tables():
    marks, slices = measure_marks(lung_with(), no_candidates(), "a")
    assert (marks.height, slices.height) == (0, 0)


def test_a_candidate_on_nothing_and_one_outside_the_lungs_still_have_a_box():
    chest = lung_with(noise_hu=25.0)
    marks, slices = measure_marks(
        chest, _candidate(6, (30, 30, 30), (2, 30, 30), (90, 30, 30)), "a"
    )
    assert set(slices["mark_id"]) == {"1", "2", "3"}
    assert marks["diameter_mm"].min() > 0


@settings(max_examples=8)
@given(
    spacing=st.tuples(st.floats(0.5, 1.0), st.floats(0.8, 2.5)),
    diameter=st.floats(8.0, 20.0),
    shift=st.tuples(*[st.floats(-0.5, 0.5)] * 3),
)
def test_voxels_of_any_size_give_the_same_diameter(spacing, diameter, shift):
    pixel, thickness = spacing
    shape = (round(34 / thickness), round(34 / pixel), round(34 / pixel))
    step = np.array([thickness, pixel, pixel])
    center = np.array(shape) * step / 2 + np.array(shift)
    grid = np.indices(shape).transpose(1, 2, 3, 0) * step
    share = np.clip(diameter / 2 + 0.5 - np.linalg.norm(grid - center, axis=-1), 0, 1)
    volume = make_volume(
        (LUNG_HU + share * -LUNG_HU).astype(np.float32), spacing_mm=(pixel, pixel, thickness)
    )
    lungs = Lungs(np.ones(shape, dtype=np.uint8), volume.geometry)
    chest = prepare_scan(volume, lungs=lungs)
    candidates = Candidates(center[None, ::-1].copy(), np.ones(1), np.array([diameter]))
    marks, _ = measure_marks(chest, candidates, "a")
    assert marks["diameter_mm"][0] == pytest.approx(diameter, abs=1.5 * pixel + 0.3)
