import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.detection.block_grid import block_voxels
from nodulebench.imaging.volume import make_volume


def volume(hu, spacing=(0.5, 0.5, 2.0), direction=None):
    return make_volume(
        np.asarray(hu, dtype=np.int16),
        spacing_mm=spacing,
        origin_mm=(10, 20, 30),
        direction=direction,
    )


def test_four_pixels_of_half_a_millimetre_become_their_mean():
    hu = np.array([[[-1024, -1008, -992, -992], [-1008, -992, -992, -992]]])
    seen = block_voxels(volume(hu), "scan")
    # means -1008 and -992, in steps of 16 above -1024
    assert seen.voxels.tolist() == [[[1, 2]]]
    assert seen.spacing_mm.tolist() == [2.0, 1.0, 1.0]
    # a new voxel's centre is between the two that it is made of
    assert seen.geometry.origin_mm.tolist() == [10.25, 20.25, 30.0]


def test_a_pixel_at_the_edge_counts_by_its_share():
    hu = np.array([[[0, 160, 320, 0, 0]]])
    seen = block_voxels(volume(hu, (0.8, 1.0, 1.0)), "scan")
    # 1 mm holds the first pixel and a quarter of the second, then three quarters and a half ...
    assert seen.voxels[0, 0].tolist() == [
        round((1024 + (0.8 * 0 + 0.2 * 160)) / 16),
        round((1024 + (0.6 * 160 + 0.4 * 320)) / 16),
        round((1024 + (0.4 * 320 + 0.6 * 0)) / 16),
        64,
    ]


def test_coarser_pixels_and_slices_stay():
    hu = np.arange(24).reshape(2, 3, 4) * 16 - 1024
    seen = block_voxels(volume(hu, (1.2, 1.5, 0.7)), "scan")
    assert seen.voxels.ravel().tolist() == list(range(24))
    assert seen.spacing_mm.tolist() == [0.7, 1.5, 1.2]


@given(
    spacing=st.floats(0.3, 1.4),
    flipped=st.lists(st.booleans(), min_size=3, max_size=3),
    at=st.tuples(*(st.integers(3, 12) for _ in range(3))),
)
def test_a_bright_place_stays_where_it_is_in_the_patient(spacing, flipped, at):
    hu = np.full((16, 16, 16), -1000)
    hu[at] = 1000
    turned = np.diag([-1.0 if is_flipped else 1.0 for is_flipped in flipped])
    scan = volume(hu, (spacing, spacing, 1.0), turned)
    place = scan.geometry.to_world(np.array([at[::-1]], dtype=float))
    seen = block_voxels(scan, "scan", place)
    brightest = np.unravel_index(int(seen.voxels.argmax()), seen.voxels.shape)
    # a place on the border of two voxels: in steps of 16 HU one may be as bright as the other
    assert np.abs(seen.to_index(place)[0] - brightest).max() <= 0.5 + 0.03


def test_only_the_part_around_the_positions_is_used_and_positions_fit():
    hu = np.zeros((4, 300, 300))
    hu[2, 150, 100] = 1000
    scan = volume(hu, (1.0, 1.0, 1.0))
    place = scan.geometry.to_world(np.array([[100.0, 150.0, 2.0]]))
    seen = block_voxels(scan, "scan", place)
    assert seen.voxels.shape == (4, 61, 61)
    index = seen.to_index(place)[0].astype(int)
    assert seen.voxels[tuple(index)] == pytest.approx((1000 + 1024) / 16, abs=1)
