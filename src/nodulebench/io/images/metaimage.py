"""Read and write MetaImage (.mhd with .raw or .zraw, or .mha), the format of LUNA16's scans."""

import math
import zlib
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume, VoxelArray, make_volume
from nodulebench.io.atomic import staged_file

_ELEMENT_TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
_LONGEST_HEADER = 1 << 16
LARGEST_BYTES = 8 << 30
"""Largest voxel data that is read: no CT is larger."""


def read_volume(path: Path) -> Volume:
    voxels, fields = _read_voxels(path)
    return _placed(path, voxels, fields)


def read_mask(path: Path) -> tuple[BoolArray, Geometry]:
    """Read the mask of an organ: which voxels are not 0 (slice, row, column), and their grid."""
    voxels, fields = _read_voxels(path)
    mask = voxels != 0
    return mask, _placed(path, mask.astype(np.int16), fields).geometry


def _read_voxels(path: Path) -> tuple[VoxelArray, dict[str, str]]:
    fields, voxel_start = _read_fields(path)
    size = _numbers(path, fields, "DimSize").astype(np.int64)
    kind = fields.get("ElementType", "")
    if len(size) != 3 or kind not in _ELEMENT_TYPES:
        what = f"has DimSize '{fields['DimSize']}' and ElementType '{kind}'."
        remedy = f"A CT volume has three dimensions and one of: {', '.join(_ELEMENT_TYPES)}."
        raise InputError.at(path, what, remedy)
    order = ">" if _is_true(fields, "BinaryDataByteOrderMSB", "ElementByteOrderMSB") else "<"
    dtype = np.dtype(order + _ELEMENT_TYPES[kind])
    expected = math.prod(size.tolist()) * dtype.itemsize
    if not 0 <= expected <= LARGEST_BYTES:
        what = f"asks for {expected / 2**30:,.1f} GiB of voxels; no CT is so large."
        raise InputError.at(path, what, "Is it the right file?")
    content = _read_content(path, fields, voxel_start, expected)
    if len(content) != expected:
        what = f"holds {len(content)} bytes of voxels, but its header asks for {expected}."
        raise InputError.at(path, what, "Copy or export it again.")
    voxels = np.frombuffer(content, dtype).reshape(size[::-1]).astype(dtype.newbyteorder("="))
    return voxels, fields


def _placed(path: Path, voxels: VoxelArray, fields: dict[str, str]) -> Volume:
    direction = fields.get("TransformMatrix") or fields.get("Orientation")
    origin = next((name for name in ("Offset", "Position", "Origin") if name in fields), None)
    return make_volume(
        voxels,
        spacing_mm=_numbers(path, fields, "ElementSpacing"),
        origin_mm=np.zeros(3) if origin is None else _numbers(path, fields, origin),
        # MetaImage lists the direction of one image axis after the other
        direction=None if direction is None else _matrix(path, direction).T,
        where=str(path),
    )


def write_volume(volume: Volume, path: Path, *, is_compressed: bool = True) -> None:
    """Write ``name.mhd`` with ``name.zraw`` or ``.raw`` next to it, or all in one ``name.mha``."""
    for name, content in volume_files(volume, path.name, is_compressed=is_compressed).items():
        with staged_file(path.with_name(name)) as staged:
            staged.write_bytes(content)


def volume_files(volume: Volume, name: str, *, is_compressed: bool = True) -> dict[str, bytes]:
    """The content of the files of a volume, by name; the file with the header is last."""
    path = PurePath(name)
    is_local = path.suffix == ".mha"
    content = np.ascontiguousarray(volume.hu).tobytes()
    if is_compressed:
        content = zlib.compress(content, level=1)
    voxel_path = path.with_suffix(".zraw" if is_compressed else ".raw")
    geometry = volume.geometry
    fields = {
        "ObjectType": "Image",
        "NDims": "3",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": str(is_compressed),
        **({"CompressedDataSize": str(len(content))} if is_compressed else {}),
        "TransformMatrix": _text(geometry.direction.T.ravel()),
        "Offset": _text(geometry.origin_mm),
        "CenterOfRotation": "0 0 0",
        "AnatomicalOrientation": "RAI",
        "ElementSpacing": _text(geometry.spacing_mm),
        "DimSize": " ".join(str(count) for count in volume.hu.shape[::-1]),
        "ElementType": "MET_SHORT" if volume.hu.dtype == np.int16 else "MET_FLOAT",
        "ElementDataFile": "LOCAL" if is_local else voxel_path.name,
    }
    header = "".join(f"{name} = {value}\n" for name, value in fields.items()).encode("ascii")
    if is_local:
        return {path.name: header + content}
    return {voxel_path.name: content, path.name: header}


def _read_fields(path: Path) -> tuple[dict[str, str], int]:
    try:
        with path.open("rb") as file:
            head = file.read(_LONGEST_HEADER)
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}.") from error
    fields: dict[str, str] = {}
    place = 0
    while place < len(head) and "ElementDataFile" not in fields:
        line, _, _ = head[place:].partition(b"\n")
        name, equals, value = line.decode("latin-1").partition("=")
        if not equals:
            break
        fields[name.strip()] = value.strip()
        place += len(line) + 1
    missing = [name for name in ("DimSize", "ElementDataFile") if name not in fields]
    if missing:
        raise InputError.at(
            path, f"is not a MetaImage: its header has no {' and no '.join(missing)}."
        )
    return fields, place


def _read_content(path: Path, fields: dict[str, str], voxel_start: int, expected: int) -> bytes:
    """The bytes of the voxels; at most one byte more is unpacked than the header asks for."""
    name = fields["ElementDataFile"]
    source = path if name == "LOCAL" else path.parent / name
    if name == "LIST" or "%" in name:
        raise InputError.at(path, "has its slices in several files.", "Export it as one raw file.")
    try:
        content = source.read_bytes()[voxel_start if name == "LOCAL" else 0 :]
    except OSError as error:
        raise InputError.at(
            path, f"its voxels in '{name}' cannot be read: {error.strerror}."
        ) from error
    if not _is_true(fields, "CompressedData"):
        return content
    try:
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(content, expected + 1)
        if len(unpacked) <= expected and not unpacker.eof:
            raise zlib.error("incomplete or truncated stream")
        return unpacked
    except zlib.error as error:
        raise InputError.at(
            source, f"its compressed voxels are damaged ({error}).", "Copy it again."
        ) from error


def _is_true(fields: dict[str, str], *names: str) -> bool:
    return any(fields.get(name, "").lower() == "true" for name in names)


def _numbers(path: Path, fields: dict[str, str], name: str) -> npt.NDArray[np.float64]:
    try:
        return np.array(fields[name].split(), dtype=np.float64)
    except (KeyError, ValueError) as error:
        given = f"'{fields[name]}'" if name in fields else "missing"
        raise InputError.at(path, f"its {name} is {given}, not numbers.") from error


def _matrix(path: Path, text: str) -> npt.NDArray[np.float64]:
    cosines = _numbers(path, {"TransformMatrix": text}, "TransformMatrix")
    return cosines.reshape(3, 3) if cosines.size == 9 else cosines


def _text(numbers: npt.NDArray[np.float64]) -> str:
    return " ".join(repr(float(number)) for number in numbers)
