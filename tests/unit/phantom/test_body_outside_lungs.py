"""What a phantom shows outside its lungs: heart, vessels, wall, bones, abdomen."""

from dataclasses import replace

import numpy as np
import pytest

from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.chest import (
    HEART_AXIS,
    HEART_CENTER,
    RIB_CAGE_MM,
    Chest,
    muscle_thickness,
)
from nodulebench.phantom.organs import (
    SEPTUM_MM,
    TOWARDS_RIGHT_VENTRICLE,
    draw_slice,
    empty_slice,
    heart_position,
)
from nodulebench.phantom.slice import (
    SliceGrid,
    make_plane,
    random_bend,
    random_enhancement,
    random_textures,
    surfaces_at,
)
from nodulebench.phantom.tubes import IN_LUNG, OUTSIDE_LUNG, Tubes, paint_tubes
from nodulebench.phantom.vessels import great_vessels, lymph_nodes, plaques

CHEST = Chest()
ENHANCED = replace(CHEST, blood_hu=220.0)
GRID = SliceGrid(np.arange(-180.0, 180.0, 1.5), np.arange(-150.0, 160.0, 1.5))


def drawn(chest, z_mm, seed=5):
    random = np.random.default_rng(seed)
    textures, bend = random_textures(random), random_bend(random)
    surfaces = surfaces_at(chest, bend, GRID.x, GRID.y, z_mm)
    plane = make_plane(empty_slice(chest, GRID), surfaces, textures, GRID, z_mm)
    draw_slice(chest, plane, random_enhancement(chest, random))
    return plane


def at(plane, x, y):
    """The median of 5 x 5 pixels."""
    row, column = np.argmin(np.abs(plane.y[:, 0] - y)), np.argmin(np.abs(plane.x[0] - x))
    return float(np.median(plane.hu[row - 2 : row + 3, column - 2 : column + 3]))


@pytest.fixture(scope="module")
def heart():
    return drawn(ENHANCED, -66.0)


def test_a_heart_has_its_own_axes():
    assert np.dot(HEART_AXIS, TOWARDS_RIGHT_VENTRICLE) == pytest.approx(0, abs=2e-3)
    assert np.linalg.norm(TOWARDS_RIGHT_VENTRICLE) == pytest.approx(1, abs=2e-3)
    tip = np.array(HEART_CENTER) + 30.0 * np.array(HEART_AXIS)
    place = heart_position(CHEST, tip[:1], tip[1:2], float(tip[2]))
    assert place.along[0] == pytest.approx(30.0, abs=0.05)
    assert place.rightward[0] == pytest.approx(0.0, abs=0.05)
    assert place.aside[0] == pytest.approx(0.0, abs=0.05)


def test_chambers_are_brighter_than_the_muscle_around_the_left_one(heart):
    inside = heart.surfaces.heart < -12.0
    place = heart_position(ENHANCED, heart.surfaces.x, heart.surfaces.y, heart.z_mm)
    away = np.hypot(place.rightward + 17.0, place.aside)
    cavity = inside & (away < 10) & (np.abs(place.along - 8) < 10)
    septum = inside & (np.abs(away - 23.0) < 2) & (np.abs(place.along - 8) < 8)
    assert np.median(heart.hu[cavity]) > 180
    assert 70 < np.median(heart.hu[septum]) < 150


def test_fat_fills_the_groove_between_the_ventricles(heart):
    depth = -heart.surfaces.heart
    place = heart_position(ENHANCED, heart.surfaces.x, heart.surfaces.y, heart.z_mm)
    groove = (np.abs(place.rightward - SEPTUM_MM) < 2.0) & (depth > 2.0) & (depth < 3.5)
    is_in_front = np.broadcast_to(heart.y < 0, groove.shape)
    assert np.median(heart.hu[groove & is_in_front]) < -20


def test_without_contrast_medium_blood_and_muscle_are_alike():
    plain = random_enhancement(CHEST, np.random.default_rng(0))
    values = (plain.lung_vessels, plain.left_heart, plain.right_heart, plain.heart_muscle)
    assert max(values) - min(values) < 20
    raised = random_enhancement(ENHANCED, np.random.default_rng(0))
    assert raised.lung_vessels == ENHANCED.blood_hu
    assert raised.upper_cava > raised.late_veins
    assert raised.spleen > raised.muscle


def test_muscle_is_thickest_next_to_the_spine_and_thin_over_the_breastbone():
    back, front = CHEST.center_y + CHEST.half_depth, CHEST.center_y - CHEST.half_depth
    z = np.asarray(-20.0)
    near_spine, breastbone = (
        float(muscle_thickness(CHEST, np.asarray(x), np.asarray(y), z))
        for x, y in ((25.0, back), (0.0, front))
    )
    assert near_spine > RIB_CAGE_MM + 20
    assert breastbone < RIB_CAGE_MM + 4


@pytest.mark.slow
def test_a_vertebra_has_a_canal_with_fat_around_the_cord():
    for z_mm in (-20.0, -10.0, 0.0, 10.0):
        plane = drawn(CHEST, z_mm)
        middle = int(np.argmin(np.abs(plane.x[0])))
        column = plane.hu[:, middle - 3 : middle + 4].mean(axis=1)
        depth = plane.y[:, 0] - CHEST.spine_y
        cord = column[np.abs(depth - 22.0) < 3.0]
        assert np.median(cord) == pytest.approx(25.0, abs=20.0)


def test_liver_is_right_and_air_in_the_stomach_left_under_the_diaphragm():
    plane = drawn(CHEST, CHEST.left_dome_z - 45.0)
    assert 40 < at(plane, -70.0, -10.0) < 75
    left = plane.hu[(plane.y[:, 0] < -40), :][:, plane.x[0] > 30]
    assert (left < -900).sum() > 20


def test_the_table_is_under_the_patient():
    empty = empty_slice(CHEST, GRID)
    rows = np.flatnonzero(empty[:, len(GRID.x_mm) // 2] > 100)
    assert len(rows)
    assert GRID.y_mm[rows].min() > CHEST.center_y + CHEST.half_depth


def test_tubes_painted_over_one_tissue_leave_the_other():
    def canvas():
        hu = np.full((9, 9, 9), -900.0, dtype=np.float32)
        hu[:, :, 5:] = 40.0
        axis = np.arange(9.0)
        return Canvas(hu, axis, axis, axis)

    tube = Tubes(np.array([[0.0, 4, 4]]), np.array([[8.0, 4, 4]]), np.array([2.0]), np.array([2.0]))
    outside, inside = canvas(), canvas()
    paint_tubes(outside, tube, 200.0, OUTSIDE_LUNG)
    paint_tubes(inside, tube, 200.0, IN_LUNG)
    assert np.array_equal(outside.hu[:, :, :5], canvas().hu[:, :, :5])
    assert outside.hu[4, 4, 7] == 200.0
    assert np.array_equal(inside.hu[:, :, 5:], canvas().hu[:, :, 5:])
    assert inside.hu[4, 4, 2] == 200.0


def test_lymph_nodes_are_too_small_to_be_called_enlarged():
    nodes = lymph_nodes(CHEST, np.random.default_rng(2))
    assert 2 * nodes.start_radius.max() < 10.0


def test_plaques_lie_on_the_wall_of_the_aorta():
    aorta = great_vessels(CHEST).aorta
    spots = plaques(aorta, np.random.default_rng(2))
    for spot in spots.start:
        gap = np.linalg.norm(aorta.start - spot, axis=1) - aorta.start_radius
        assert np.abs(gap).min() == pytest.approx(0, abs=1e-6)
