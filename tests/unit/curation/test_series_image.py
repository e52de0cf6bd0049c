import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.slice_headers import PIXELS, series_of, slice_header
from nodulebench.core.notices import Notice
from nodulebench.curation.series_image import (
    block_means,
    coarse_factor,
    hounsfield,
    read_image,
    thumbnails,
)


def write_slices(folder, planes, **changes):
    """Files of bare pixels, and headers that point at them."""
    headers = []
    for number, plane in enumerate(planes):
        path = folder / f"{number}.bin"
        path.write_bytes(b"head" + plane.astype("<i2").tobytes())
        rows, columns = plane.shape
        size = plane.size * 2
        pixels = replace(PIXELS, rows=rows, columns=columns, offset=4, length=size, available=size)
        headers.append(replace(slice_header(number, **changes), path=str(path), pixels=pixels))
    return headers


@pytest.mark.parametrize(("side", "factor"), [(512, 4), (768, 6), (1024, 8), (128, 1), (300, 3)])
def test_a_slice_has_at_most_128_coarse_voxels_along_a_side(side, factor):
    assert coarse_factor(side) == factor


def test_coarse_voxels_are_means_of_blocks():
    plane = np.arange(256 * 256, dtype=np.int16).reshape(256, 256)
    means = block_means(plane)
    assert means.shape == (128, 128)
    assert means[0, 0] == np.mean(plane[:2, :2].astype(float))
    whole = plane.reshape(128, 2, 128, 2).astype(np.float64).mean(axis=(1, 3))
    assert np.abs(means - whole).max() < 1e-2


def test_the_digest_is_of_hu_in_geometric_order(tmp_path):
    planes = [np.full((2, 3), value, np.int16) for value in (5, 6, 7)]
    headers = write_slices(tmp_path, planes)
    image = read_image(series_of(headers[2], headers[0], headers[1]))
    expected = np.stack(planes).astype("<i2") - 1024
    assert image.pixel_sha256 == hashlib.sha256(expected.astype("<i2").tobytes()).hexdigest()
    assert image.hu[:, 0, 0].tolist() == [-1019, -1018, -1017]
    assert image.step_mm.tolist() == [2.5, 0.7, 0.7]


def test_rescaling_rounds_and_keeps_within_16_bits():
    header = slice_header(0, slope=0.5, intercept=-1000.0)
    assert hounsfield(np.array([[3, 4]]), header).tolist() == [[-998, -998]]
    wide = slice_header(0, slope=1.0, intercept=-1024.0)
    assert hounsfield(np.array([[65535, 0]], np.uint16), wide).tolist() == [[32767, -1024]]
    assert hounsfield(np.array([[-32768, 5]], np.int16), wide).tolist() == [[-32768, -1019]]
    assert hounsfield(np.empty((0, 4), np.int16), wide).shape == (0, 4)


@given(
    stored=st.lists(st.integers(-32768, 65535), min_size=1, max_size=5),
    kind=st.sampled_from(["<i2", "<u2", "<i4", "u1"]),
    intercept=st.sampled_from([-70000.0, -8192.0, -1024.0, -1000.5, 0.0, 1024.0, 40000.0]),
)
def test_hu_are_the_same_in_every_width(stored, kind, intercept):
    limits = np.iinfo(kind)
    values = np.clip(stored, limits.min, limits.max).astype(kind)
    exact = [max(-32768, min(32767, round(int(value) + intercept))) for value in values]
    header = slice_header(0, slope=1.0, intercept=intercept)
    assert hounsfield(values[None], header).tolist() == [exact]


def test_images_are_turned_into_the_patients_axes(tmp_path):
    plane = np.array([[1, 2], [3, 4]], np.int16)
    headers = write_slices(
        tmp_path, [plane, plane], orientation=(-1.0, 0.0, 0.0, 0.0, -1.0, 0.0), intercept=0.0
    )
    assert read_image(series_of(*headers)).hu[0].tolist() == [[4, 3], [2, 1]]


def test_unreadable_slices_are_reported_and_leave_no_digest(tmp_path):
    headers = write_slices(tmp_path, [np.zeros((4, 4), np.int16)] * 3)
    cut = replace(headers[1], pixels=replace(headers[1].pixels, available=10))
    image = read_image(series_of(headers[0], cut, headers[2]))
    assert [(fault.path, fault.is_truncated) for fault in image.faults] == [(cut.path, True)]
    notice = Notice("pixels_too_few", {"bytes": 10, "size": "4 x 4", "needed": 32})
    assert image.faults[0].notice == notice
    assert image.is_read.tolist() == [True, False, True]
    assert image.pixel_sha256 == ""


def test_thumbnails_show_the_middle_in_true_proportions(tmp_path):
    planes = [np.full((8, 8), 24 + 100 * number, np.int16) for number in range(10)]
    axial, coronal = thumbnails(read_image(series_of(*write_slices(tmp_path, planes))))
    assert axial.shape == (96, 96)
    assert np.unique(axial).tolist() == [round((-1000 + 500 + 1250) / 1500 * 255)]
    # 10 slices of 2.5 mm are 25 mm high, 8 columns of 0.7 mm are 5.6 mm wide
    assert coronal.shape == (96, 22)
    assert coronal[0, 0] > coronal[-1, 0]  # the head is at the top
