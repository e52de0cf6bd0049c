"""NIfTI-1 (.nii, .nii.gz) <-> Volume; NIfTI's RAS coordinates become LPS and back.

Read here and not by an image library, because those turn voxels that are not numbers into zeros.
"""

import gzip
import struct
from pathlib import Path

import numpy as np

from nodulebench.errors import InputError, Problem
from nodulebench.imaging.volume import Volume, VoxelArray, make_volume
from nodulebench.model.arrays import FloatArray
from nodulebench.storage.csv_text import open_bytes
from nodulebench.storage.staging import staged_file

_HEADER_BYTES = 348
_VOXELS_AT = 352
_MAGIC = b"n+1\x00"
_DTYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}
_INT16, _FLOAT32 = 4, 16
_MILLIMETRES = 2
_SCANNER_COORDINATES = 1
_TO_LPS = np.diag([-1.0, -1.0, 1.0])


def read_volume(path: Path) -> Volume:
    """Read a NIfTI image of one file.

    The affine matrix (sform) is taken where there is one, else the quaternion (qform).

    Raises:
        InputError: if it is no NIfTI image of a CT volume, or its voxels are damaged or sheared.
    """
    with open_bytes(path) as file:
        content = file.read()
    order = _byte_order(path, content)
    size, dtype = _grid(path, content, order)
    spacing = np.array(struct.unpack_from(order + "3f", content, 80), dtype=np.float64)
    axes, origin = _affine(path, content, order, spacing)
    lengths = np.linalg.norm(axes, axis=0)
    return make_volume(
        _voxels(path, content, order, size, dtype),
        spacing_mm=lengths,
        origin_mm=_TO_LPS @ origin,
        direction=_TO_LPS @ axes / np.where(lengths > 0, lengths, 1.0),
        where=str(path),
    )


def write_volume(volume: Volume, path: Path) -> None:
    """Write a NIfTI image, compressed if its name ends with ``.gz``."""
    geometry = volume.geometry
    axes = _TO_LPS @ geometry.direction
    origin = _TO_LPS @ geometry.origin_mm
    handedness = 1.0 if np.linalg.det(axes) > 0 else -1.0
    quaternion = _quaternion(axes * np.array([1.0, 1.0, handedness]))
    is_whole = volume.hu.dtype == np.int16
    header = bytearray(_VOXELS_AT)
    struct.pack_into("<i", header, 0, _HEADER_BYTES)
    struct.pack_into("<8h", header, 40, 3, *volume.hu.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, _INT16 if is_whole else _FLOAT32, 16 if is_whole else 32)
    struct.pack_into("<8f", header, 76, handedness, *geometry.spacing_mm, 0, 0, 0, 0)
    struct.pack_into("<3f", header, 108, _VOXELS_AT, 1.0, 0.0)
    header[123] = _MILLIMETRES
    struct.pack_into("<2h", header, 252, _SCANNER_COORDINATES, _SCANNER_COORDINATES)
    struct.pack_into("<6f", header, 256, *quaternion, *origin)
    affine = np.column_stack([axes * geometry.spacing_mm, origin])
    struct.pack_into("<12f", header, 280, *affine.ravel())
    struct.pack_into("<4s", header, 344, _MAGIC)
    content = (
        bytes(header) + np.ascontiguousarray(volume.hu, "<i2" if is_whole else "<f4").tobytes()
    )
    with staged_file(path) as staged:
        staged.write_bytes(
            gzip.compress(content, compresslevel=1, mtime=0) if path.suffix == ".gz" else content
        )


def _byte_order(path: Path, content: bytes) -> str:
    for order in "<>":
        if len(content) >= _VOXELS_AT and struct.unpack_from(order + "i", content)[0] == 348:
            break
    else:
        raise InputError(Problem(str(path), "is not a NIfTI-1 image."))
    if content[344:348] != _MAGIC:
        raise InputError(
            Problem(str(path), "keeps its voxels in another file.", "Save it as one .nii file.")
        )
    return order


def _grid(path: Path, content: bytes, order: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Voxels along x, y, z and their type."""
    dimensions, *counts = struct.unpack_from(order + "8h", content, 40)
    kind = struct.unpack_from(order + "h", content, 70)[0]
    extra = [count for count in counts[3 : max(dimensions, 3)] if count > 1]
    if dimensions < 3 or extra or min(counts[:3]) < 1 or kind not in _DTYPES:
        shown = " x ".join(str(count) for count in counts[: max(dimensions, 0)])
        raise InputError(
            Problem(
                str(path),
                f"has the size {shown} and the data type {kind}.",
                "A CT volume has three dimensions of one number each.",
            )
        )
    return tuple(counts[:3]), np.dtype(order + _DTYPES[kind])


def _voxels(
    path: Path, content: bytes, order: str, size: tuple[int, ...], dtype: np.dtype[np.generic]
) -> VoxelArray:
    """The voxels [slice, row, column], rescaled where the header asks for it."""
    start, slope, intercept = struct.unpack_from(order + "3f", content, 108)
    expected = int(np.prod(size)) * dtype.itemsize
    found = len(content) - int(start)
    if found < expected:
        raise InputError(
            Problem(
                str(path),
                f"holds {found} bytes of voxels, but its header asks for {expected}.",
                "Copy or export it anew.",
            )
        )
    stored = np.frombuffer(content, dtype, count=int(np.prod(size)), offset=int(start))
    voxels: VoxelArray = stored.reshape(size[::-1]).astype(dtype.newbyteorder("="))
    if slope in (0.0, 1.0) and intercept == 0.0:
        return voxels
    rescaled: VoxelArray = voxels * np.float64(slope or 1.0) + intercept
    return rescaled


def _affine(
    path: Path, content: bytes, order: str, spacing: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Steps along the image's axes as columns, and the place of the first voxel, in RAS."""
    by_quaternion, by_matrix = struct.unpack_from(order + "2h", content, 252)
    if by_matrix > 0:
        matrix = np.array(struct.unpack_from(order + "12f", content, 280), dtype=np.float64)
        rows = matrix.reshape(3, 4)
        return rows[:, :3], rows[:, 3]
    if by_quaternion > 0:
        b, c, d, *origin = struct.unpack_from(order + "6f", content, 256)
        handedness = struct.unpack_from(order + "f", content, 76)[0]
        axes = _rotation(b, c, d) * np.array([1.0, 1.0, -1.0 if handedness < 0 else 1.0])
        return axes * spacing, np.array(origin)
    raise InputError(
        Problem(
            str(path),
            "does not say where its voxels are in the patient (qform and sform are unset).",
            "Export it with its orientation.",
        )
    )


def _rotation(b: float, c: float, d: float) -> FloatArray:
    """The rotation of a unit quaternion (a, b, c, d) with a >= 0, as NIfTI defines it."""
    a = np.sqrt(max(0.0, 1.0 - b * b - c * c - d * d))
    return np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )


def _quaternion(rotation: FloatArray) -> tuple[float, float, float]:
    """The last three parts of a rotation's quaternion, the first being positive.

    The quaternion is the eigenvector of the largest eigenvalue of Bar-Itzhack's symmetric matrix,
    which needs no cases.
    """
    r = rotation
    symmetric = np.array(
        [
            [r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], r[1, 2] + r[2, 1]],
            [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1]],
        ]
    )
    _, vectors = np.linalg.eigh(symmetric)
    a, b, c, d = vectors[:, -1]
    sign = 1.0 if a >= 0 else -1.0
    return float(sign * b), float(sign * c), float(sign * d)
