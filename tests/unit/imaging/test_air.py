"""Air in the body and around it, in small images whose answer can be counted."""

import numpy as np
import pytest

from nodulebench.imaging.air import classify_regions, padded, seen_mean, separate_air
from nodulebench.imaging.morphology import block_mean

STEP_MM = np.array([3.0, 3.0, 3.0])


def block():
    """Tissue in air with a cavity of 10 x 20 x 20 voxels, as dark as lung."""
    hu = np.full((20, 60, 60), -1000.0, np.float32)
    hu += np.random.default_rng(0).normal(0, 2, hu.shape).astype(np.float32)
    hu[:, 10:50, 10:50] = 40.0
    hu[5:15, 20:40, 20:40] = -860.0
    return hu


def cavity():
    where = np.zeros((20, 60, 60), np.bool_)
    where[5:15, 20:40, 20:40] = True
    return where


def test_a_cavity_is_inside_and_the_rest_is_around():
    air = separate_air(block(), STEP_MM)
    assert np.array_equal(air.inside, cavity())
    assert np.array_equal(air.outside, block() < -900)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_path_of_up_to_nine_millimetres_is_closed(width):
    hu = block()
    hu[8:11, 28 : 28 + width, :20] = -1000.0
    assert separate_air(hu, STEP_MM).inside[cavity()].all()


def test_through_a_wide_path_air_comes_in_and_lung_does_not_get_out():
    hu = block()
    hu[8:14, 24:36, :20] = -1000.0
    assert separate_air(hu, STEP_MM).inside[cavity()].mean() > 0.95
    empty = np.where(cavity(), np.float32(-1000.0), hu)  # a wound without lung
    assert not separate_air(empty, STEP_MM).inside[9:13, 24:36, 22:38].any()


def test_what_the_edge_cuts_is_inside_where_it_is_as_dark_as_lung():
    for hu_of_it, is_inside in ((-860.0, True), (-1000.0, False)):
        hu = np.where(cavity(), np.float32(hu_of_it), block())[:, :, 25:]
        assert separate_air(hu, STEP_MM).inside[7:13, 22:38, 0:14].all() == is_inside


def test_lung_goes_on_where_the_edge_leaves_no_wall_next_to_it():
    hu = block()[:, 10:50, 25:]
    hu[8:12, :, :15] = -860.0  # from the front of the image to its back
    assert np.array_equal(separate_air(hu, STEP_MM).inside, hu == -860.0)
    hu[:, :, :15] = -860.0  # on no slice is there a wall: a cushion
    assert not separate_air(hu, STEP_MM).inside.any()


def test_a_block_half_outside_the_field_of_view_has_the_mean_of_its_other_half():
    hu = np.arange(24, dtype=np.int16).reshape(2, 3, 4) * 10
    hu[:, :, 0] = -2048
    hu[:, 2, :2] = -2048
    mean = seen_mean(hu, np.array([2, 2, 2]))
    # above left 10, 50, 130 and 170; below left nothing is seen; below right 100, 110, 220, 230
    assert mean.tolist() == [[[90.0, 105.0], [-2048.0, 165.0]]]
    moved = seen_mean(hu, np.array([2, 2, 2]), np.array([0, 0, 1]))
    assert moved.tolist() == [[[-2048.0, 95.0, 110.0], [-2048.0, 160.0, 170.0]]]


def test_without_padding_blocks_have_their_means():
    hu = block().astype(np.int16)
    factors, lead = np.array([2, 3, 3]), np.array([1, 2, 0])
    assert not padded(hu).any()
    assert np.array_equal(seen_mean(hu, factors, lead), block_mean(hu, factors, lead))


@pytest.mark.parametrize("padding", [-2048.0, -1024.0])
def test_lung_next_to_padding_is_inside_up_to_the_last_voxel(padding):
    hu = block()
    hu[:, :, :28] = padding
    assert np.array_equal(padded(hu), np.tile(np.arange(60) < 28, (60, 1)))
    seen = cavity()
    seen[:, :, :28] = False
    assert np.array_equal(separate_air(hu, STEP_MM).inside, seen)


def test_regions_are_lung_by_density_vessels_and_wall():
    random = np.random.default_rng(1)
    hu = np.full((30, 120, 80), 40.0, np.float32)
    regions = np.zeros(hu.shape, np.int32)
    places = {1: 10, 2: 40, 3: 70, 4: 100}
    for number, row in places.items():
        regions[5:25, row : row + 18, 20:60] = number
    vessels = random.random(hu.shape) < 0.1
    hu[regions > 0] = -860.0
    hu[(regions > 0) & vessels] = -600.0
    hu[regions == 2] = -860.0  # foam
    hu[regions == 3] = -1000.0  # bowel
    outside = np.zeros(hu.shape, np.bool_)
    outside[:, 119] = True  # two voxels from the fourth
    outside[:, 99] = True
    hu[outside] = -1000.0
    judged = classify_regions(hu, regions, 4, outside, STEP_MM)
    assert judged.is_lung.tolist() == [False, True, False, False, False]
    assert judged.is_other.tolist() == [False, False, False, True, True]
