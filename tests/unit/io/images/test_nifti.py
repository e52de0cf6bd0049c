"""NIfTI through nibabel: old files, headers that disagree, bombs, and no package."""

import gzip
import struct
import sys

import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.images import nifti

nibabel = pytest.importorskip("nibabel")


def a_volume(**geometry):
    voxels = np.random.default_rng(3).integers(-1024, 3072, (4, 5, 6)).astype(np.int16)
    chosen = {"spacing_mm": (0.7, 0.8, 2.5), "origin_mm": (-101.5, 33.25, -340)} | geometry
    return make_volume(voxels, **chosen)


def file_along_axes(volume):
    """The bytes of a volume along the patient's axes, with a quaternion and an affine."""
    header = bytearray(352)
    origin = volume.geometry.origin_mm * [-1, -1, 1]
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *volume.hu.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 4, 16)
    struct.pack_into("<8f", header, 76, 1.0, *volume.geometry.spacing_mm, 0, 0, 0, 0)
    struct.pack_into("<3f", header, 108, 352, 1.0, 0.0)
    header[123] = 2
    struct.pack_into("<2h", header, 252, 1, 1)
    struct.pack_into("<6f", header, 256, 0, 0, 1, *origin)
    affine = np.column_stack([np.diag([-1, -1, 1]) * volume.geometry.spacing_mm, origin])
    struct.pack_into("<12f", header, 280, *affine.ravel())
    struct.pack_into("<4s", header, 344, b"n+1\x00")
    return bytes(header) + np.ascontiguousarray(volume.hu, "<i2").tobytes()


@pytest.mark.parametrize("name", ["old.nii", "old.nii.gz"])
def test_files_of_another_program_read_the_same(tmp_path, name):
    content = file_along_axes(a_volume())
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    again = nifti.read_volume(tmp_path / name)
    nifti.write_volume(a_volume(), tmp_path / f"new {name}")
    new = nifti.read_volume(tmp_path / f"new {name}")
    for volume in (again, new):
        assert np.array_equal(volume.hu, a_volume().hu)
        assert volume.hu.dtype == np.int16
    for part in ("spacing_mm", "origin_mm", "direction"):
        assert np.array_equal(getattr(again.geometry, part), getattr(new.geometry, part))


def test_the_matrix_counts_where_it_and_the_quaternion_disagree(tmp_path):
    image = nibabel.Nifti1Image(np.zeros((6, 5, 4), np.int16), np.diag([-2.0, -2.0, 3.0, 1.0]))
    image.set_sform(np.diag([-2.0, -2.0, 3.0, 1.0]), code=1)
    image.set_qform(np.diag([1.0, 1.0, 7.0, 1.0]), code=1)
    nibabel.save(image, tmp_path / "a.nii")
    geometry = nifti.read_volume(tmp_path / "a.nii").geometry
    assert geometry.spacing_mm.tolist() == [2.0, 2.0, 3.0]
    assert np.array_equal(geometry.direction, np.eye(3))


def test_a_quaternion_that_is_not_a_rotation_is_reported(tmp_path):
    nifti.write_volume(a_volume(), tmp_path / "a.nii")
    content = bytearray((tmp_path / "a.nii").read_bytes())
    struct.pack_into("<2h", content, 252, 1, 0)
    struct.pack_into("<3f", content, 256, 2.0, 2.0, 2.0)
    (tmp_path / "a.nii").write_bytes(content)
    with pytest.raises(InputError, match="its qform is not a rotation"):
        nifti.read_volume(tmp_path / "a.nii")


def test_big_endian_files_and_voxels_that_are_not_numbers_are_kept(tmp_path):
    voxels = np.zeros((6, 5, 4), np.float32)
    image = nibabel.Nifti1Image(voxels, np.diag([-1.0, -1.0, 1.0, 1.0]))
    image = nibabel.Nifti1Image(voxels, image.affine, image.header.as_byteswapped(">"))
    image.set_sform(image.affine, code=1)
    nibabel.save(image, tmp_path / "a.nii")
    assert nifti.read_volume(tmp_path / "a.nii").shape == (4, 5, 6)
    voxels[0, 0, 0] = np.nan
    nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), tmp_path / "b.nii")
    with pytest.raises(InputError, match="1 of 120 voxels are not finite numbers"):
        nifti.read_volume(tmp_path / "b.nii")


def test_a_header_that_asks_for_more_than_any_ct_is_not_unpacked(tmp_path):
    content = bytearray(file_along_axes(a_volume()))
    struct.pack_into("<8h", content, 40, 3, 30000, 30000, 30000, 1, 1, 1, 1)
    (tmp_path / "bomb.nii.gz").write_bytes(gzip.compress(bytes(content) + bytes(1 << 20)))
    with pytest.raises(InputError, match=r"would unpack to 50291\.4 GiB; no CT is so large"):
        nifti.read_volume(tmp_path / "bomb.nii.gz")


def test_what_follows_the_voxels_is_not_unpacked(tmp_path, monkeypatch):
    content = gzip.compress(file_along_axes(a_volume()) + bytes(50 << 20))
    (tmp_path / "tail.nii.gz").write_bytes(content)
    read = []
    original = gzip.GzipFile.read

    def counted(self, size=-1):
        read.append(size)
        return original(self, size)

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    assert np.array_equal(nifti.read_volume(tmp_path / "tail.nii.gz").hu, a_volume().hu)
    assert all(0 <= size < 10_000 for size in read)


@pytest.mark.parametrize("keep", [100, 352, 400])
def test_a_cut_or_damaged_gzip_is_reported(tmp_path, keep):
    content = file_along_axes(a_volume())
    (tmp_path / "short.nii.gz").write_bytes(gzip.compress(content[:keep]))
    with pytest.raises(InputError, match=r"is not a NIfTI-1|holds \d+ bytes of voxels"):
        nifti.read_volume(tmp_path / "short.nii.gz")
    (tmp_path / "torn.nii.gz").write_bytes(gzip.compress(content)[: keep // 2])
    with pytest.raises(InputError, match="is a damaged gzip file"):
        nifti.read_volume(tmp_path / "torn.nii.gz")


def test_without_nibabel_the_extra_is_named(tmp_path, monkeypatch):
    for name in ("nibabel", "nibabel.nifti1"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"needs nibabel.*pip install 'nodulebench\[images\]'"):
        nifti.write_volume(a_volume(), tmp_path / "a.nii")
    with pytest.raises(InputError, match="needs nibabel"):
        nifti.read_volume(tmp_path / "a.nii")
