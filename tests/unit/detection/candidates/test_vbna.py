import numpy as np
import pytest

from builders.lung_scenes import ball, distance_from, lung_with, rod, world
from nodulebench.detection.candidates.vbna import (
    Settings,
    count_normals,
    find_in_parenchyma,
    find_on_pleura,
    mean_depth,
)


def test_normals_of_a_sphere_meet_in_its_centre():
    lungs = np.ones((31, 31, 31), dtype=bool)
    away = distance_from((15, 15, 15), lungs.shape)
    surface = np.argwhere((away >= 5.5) & (away < 6.5))
    normal = (15 - surface) / np.linalg.norm(15 - surface, axis=1, keepdims=True)
    count, depth = count_normals(surface, normal, lungs, Settings())
    assert np.unravel_index(count.argmax(), count.shape) == (15, 15, 15)
    middle = np.array([[15, 15, 15]])
    assert mean_depth(depth, count[15, 15, 15:16], middle) == pytest.approx([6.0], abs=0.3)
    # unsmoothed, every normal passes a voxel per millimetre: nothing is lost
    assert count.sum() == pytest.approx(len(surface) * 8, rel=0.01)


def test_normals_are_counted_in_the_lungs_only():
    lungs = np.zeros((11, 11, 11), dtype=bool)
    count, _ = count_normals(np.array([[5, 5, 5]]), np.array([[1.0, 0, 0]]), lungs, Settings())
    assert not count.any()


def test_parallel_normals_of_a_flat_wall_pass_once_each():
    lungs = np.ones((20, 20, 20), dtype=bool)
    rows, columns = np.indices((20, 20))
    surface = np.stack([np.full(400, 4), rows.ravel(), columns.ravel()], axis=1)
    count, _ = count_normals(surface, np.tile([1.0, 0.0, 0.0], (400, 1)), lungs, Settings())
    assert count[8] == pytest.approx(1.0, rel=1e-3)


def test_a_nodule_on_the_pleura_is_found_there():
    # the lung begins at row 6; the nodule's centre is 3 mm inside
    chest = lung_with(ball((32, 9, 32), 4.0), noise_hu=10.0)
    candidates = find_on_pleura(chest).best(1)
    assert np.linalg.norm(candidates.center_mm[0] - world(32, 9, 32)) < 4.0


def test_a_flat_pleura_has_no_candidates_away_from_corners():
    candidates = find_on_pleura(lung_with(noise_hu=10.0))
    middle = np.abs(candidates.center_mm - world(32, 32, 32)).max(axis=1) < 20
    assert not middle.any()


def test_a_nodule_in_the_parenchyma_is_a_dot_and_a_vessel_is_not():
    chest = lung_with(ball((32, 32, 20), 3.0), rod((0, 32, 44), 2.0))
    candidates = find_in_parenchyma(chest)
    # a vessel ends where the lung does, and its ends are dots
    inner = np.abs(candidates.center_mm[:, 2] - world(32, 32, 20)[2]) < 18
    assert inner.sum() == 1
    assert np.linalg.norm(candidates.center_mm[inner][0] - world(32, 32, 20)) < 1.0
    assert candidates.diameter_mm[inner][0] == pytest.approx(6.0, rel=0.4)
