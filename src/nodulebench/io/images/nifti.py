"""Read and write NIfTI-1 (.nii, .nii.gz) with nibabel; its RAS coordinates are converted to LPS."""

import gzip
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.imaging.volume import Volume, VoxelArray, make_volume
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_files import open_bytes

if TYPE_CHECKING:
    from typing import BinaryIO

    from nibabel.nifti1 import Nifti1Header

LARGEST_BYTES = 8 << 30
"""Largest voxel data that is unpacked: no CT is larger."""
_SIZES = {2: 1, 4: 2, 8: 4, 16: 4, 64: 8, 256: 1, 512: 2, 768: 4}
"""Data type of one real number -> its bytes."""
_TO_LPS = np.diag([-1.0, -1.0, 1.0])


def read_volume(path: Path) -> Volume:
    """Read a NIfTI image of one file.

    The geometry is the affine matrix (sform), else the quaternion (qform). No more is
    unpacked than the header asks for, and no more than ``LARGEST_BYTES``.
    """
    voxels, affine = _read(path)
    return _placed(path, voxels, affine)


def read_labels(path: Path, most: int = LARGEST_BYTES) -> Volume:
    voxels, affine = _read(path, most)
    whole = np.rint(voxels).astype(np.int32)
    if not np.array_equal(whole, voxels):
        raise InputError.at(path, "has voxels that are not whole numbers.", "Is it a label map?")
    return _placed(path, whole, affine)


def _read(path: Path, most: int = LARGEST_BYTES) -> tuple[VoxelArray, FloatArray]:
    with needs("images", "NIfTI"):
        from nibabel.nifti1 import Nifti1Header
        from nibabel.wrapstruct import WrapStructError
    with open_bytes(path) as file:
        try:
            header = Nifti1Header.from_fileobj(file, check=False)
        except WrapStructError:
            header = Nifti1Header()
            header["sizeof_hdr"] = 0
        voxels = _voxels(path, header, file, _voxel_bytes(path, header, most))
        return voxels, _affine(path, header)


def _placed(path: Path, voxels: VoxelArray, affine: FloatArray) -> Volume:
    axes, lengths = affine[:3, :3], np.linalg.norm(affine[:3, :3], axis=0)
    return make_volume(
        voxels,
        spacing_mm=lengths,
        origin_mm=_TO_LPS @ affine[:3, 3],
        direction=_TO_LPS @ axes / np.where(lengths > 0, lengths, 1.0),
        where=str(path),
    )


def write_volume(volume: Volume, path: Path) -> None:
    with needs("images", "NIfTI"):
        from nibabel.nifti1 import Nifti1Image
    geometry = volume.geometry
    affine = np.eye(4)
    affine[:3, :3] = _TO_LPS @ geometry.direction * geometry.spacing_mm
    affine[:3, 3] = _TO_LPS @ geometry.origin_mm
    image = Nifti1Image(volume.hu.T, affine)
    image.set_qform(affine, code="scanner")
    image.set_sform(affine, code="scanner")
    image.header.set_xyzt_units("mm")
    content = image.to_bytes()
    with staged_file(path) as staged:
        staged.write_bytes(
            gzip.compress(content, compresslevel=1, mtime=0) if path.suffix == ".gz" else content
        )


def _voxel_bytes(path: Path, header: "Nifti1Header", most: int) -> int:
    if header["sizeof_hdr"] != 348:
        raise InputError.at(path, "is not a NIfTI-1 image.")
    if header["magic"].item() != b"n+1":
        raise InputError.at(path, "has its voxels in another file.", "Save it as one .nii file.")
    dimensions, *counts = (int(count) for count in header["dim"])
    size = _SIZES.get(int(header["datatype"]), 0) * math.prod(counts[:3])
    extra = [count for count in counts[3 : max(dimensions, 3)] if count > 1]
    if not 3 <= dimensions <= 7 or extra or min(counts[:3]) < 1 or not size:
        shown = " x ".join(str(count) for count in counts[: max(dimensions, 0)])
        what = f"has the size {shown} and the data type {header['datatype']}."
        raise InputError.at(path, what, "A CT volume has three dimensions of one number each.")
    if size > most:
        what = f"would unpack to {size / 2**30:.1f} GiB; no CT is so large."
        raise InputError.at(path, what, "Is it the right file?")
    return size


def _voxels(path: Path, header: "Nifti1Header", file: "BinaryIO", size: int) -> VoxelArray:
    header["dim"][0] = 3
    try:
        voxels: VoxelArray = header.data_from_fileobj(file)
    except (OSError, ValueError) as error:
        available = max(0, file.tell() - int(np.nan_to_num(header["vox_offset"])))
        what = f"holds {available} bytes of voxels, but its header asks for {size}."
        raise InputError.at(path, what, "Copy or export it again.") from error
    return np.ascontiguousarray(voxels.T, dtype=voxels.dtype.newbyteorder("="))


def _affine(path: Path, header: "Nifti1Header") -> FloatArray:
    if header["sform_code"] <= 0 and header["qform_code"] <= 0:
        what = "has no position in the patient (qform and sform are unset)."
        raise InputError.at(path, what, "Export it with its orientation.")
    is_matrix = header["sform_code"] > 0
    try:
        affine: FloatArray = header.get_sform() if is_matrix else header.get_qform()
    except ValueError as error:
        raise InputError.at(path, f"its qform is not a rotation ({error}).") from error
    return affine
