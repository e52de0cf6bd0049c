from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume, to_patient_axes


def turned(axes, signs):
    """A direction matrix whose columns are signed patient axes."""
    direction = np.zeros((3, 3))
    direction[list(axes), range(3)] = signs
    return direction


def test_whole_numbers_become_int16_and_fractions_float32():
    assert make_volume(np.zeros((2, 3, 4), np.int64), spacing_mm=(1, 1, 1)).hu.dtype == np.int16
    assert make_volume(np.zeros((2, 3, 4), np.float64), spacing_mm=(1, 1, 1)).hu.dtype == np.float32


def test_spacing_follows_the_arrays_axes_and_the_voxel_is_their_product():
    volume = make_volume(np.zeros((2, 3, 4), np.int16), spacing_mm=(0.5, 0.7, 2.0))
    assert volume.spacing_mm.tolist() == [2.0, 0.7, 0.5]
    assert volume.voxel_mm3 == pytest.approx(0.7)
    assert volume.shape == (2, 3, 4)


def test_an_8_bit_volume_is_refused_with_its_range():
    voxels = np.array([[[0, 255]]], dtype=np.uint8)
    with pytest.raises(InputError) as error:
        make_volume(voxels, spacing_mm=(1, 1, 1), where="scan.mhd")
    assert str(error.value) == (
        "scan.mhd: has 8-bit voxels (0 to 255), which cannot hold Hounsfield units. "
        "Export the CT with 16 bits per voxel, without a display window."
    )


def test_voxels_that_are_not_numbers_are_counted():
    voxels = np.zeros((1, 2, 2), np.float32)
    voxels[0, 0, 0], voxels[0, 1, 1] = np.nan, np.inf
    with pytest.raises(InputError) as error:
        make_volume(voxels, spacing_mm=(1, 1, 1), where="scan")
    assert str(error.value) == (
        "scan: 2 of 4 voxels are not finite numbers (NaN or infinite). "
        "Write -1000 HU for voxels without data."
    )


def test_all_problems_of_a_volume_are_reported_at_once():
    with pytest.raises(InputError) as error:
        make_volume(np.zeros((4, 4)), spacing_mm=(0, 1, 1), direction=np.ones(9), where="slice")
    assert [str(problem) for problem in error.value.problems] == [
        "slice: has the shape (4, 4), not slices x rows x columns. Give 3-D CT.",
        "slice: voxel size [0.0, 1.0, 1.0] mm is not three lengths.",
        "slice: its direction is not nine orthonormal cosines.",
    ]


@given(
    axes=st.sampled_from(list(permutations(range(3)))),
    signs=st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3),
    tilt=st.floats(-0.15, 0.15),
)
def test_turning_to_the_patients_axes_keeps_every_voxel_in_its_place(axes, signs, tilt):
    oblique = np.array(
        [[np.cos(tilt), -np.sin(tilt), 0], [np.sin(tilt), np.cos(tilt), 0], [0, 0, 1]]
    )
    hu = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)
    volume = make_volume(
        hu,
        spacing_mm=(0.5, 0.8, 2.0),
        origin_mm=(-10, 20, 30),
        direction=oblique @ turned(axes, signs),
    )
    upright = to_patient_axes(volume)
    assert np.all(np.diag(upright.geometry.direction) > 0.9)
    for value in (0, 7, 23):
        before, after = (np.argwhere(one.hu == value)[:, ::-1] for one in (volume, upright))
        assert np.allclose(
            volume.geometry.to_world(before.astype(float)),
            upright.geometry.to_world(after.astype(float)),
        )


def test_a_volume_that_is_too_oblique_is_refused():
    half = np.sqrt(0.5)
    direction = [[half, -half, 0], [half, half, 0], [0, 0, 1]]
    volume = make_volume(np.zeros((2, 2, 2), np.int16), spacing_mm=(1, 1, 1), direction=direction)
    with pytest.raises(InputError) as error:
        to_patient_axes(volume, "scan")
    assert str(error.value) == (
        "scan: its axes are turned 45 degrees against the patient's. "
        "Resample it to axial slices (at most 20 degrees off)."
    )


@pytest.mark.parametrize("origin", [(np.nan, 0, 0), (0, np.inf, 0), (0, 0)])
def test_an_image_that_is_nowhere_is_refused(origin):
    with pytest.raises(InputError, match=r"first voxel is at .* which is not a position") as caught:
        make_volume(
            np.zeros((2, 2, 2), np.int16), spacing_mm=(1, 1, 1), origin_mm=origin, where="a.mhd"
        )
    assert "a.mhd" in str(caught.value)
