"""Read and write NRRD files of labels: arrays, their grid, and the header's key/value pairs."""

import math
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.core.arrays import FloatArray, StoredArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.geometry import FARTHEST_MM, Geometry, is_orthonormal
from nodulebench.io.atomic import staged_file

LARGEST_BYTES = 8 << 30
"""Largest voxel data that is unpacked: no CT is larger."""
_LONGEST_HEADER = 1 << 20
_TYPES = {
    **dict.fromkeys(("signed char", "int8", "int8_t"), "i1"),
    **dict.fromkeys(("uchar", "unsigned char", "uint8", "uint8_t"), "u1"),
    **dict.fromkeys(("short", "short int", "signed short", "int16", "int16_t"), "i2"),
    **dict.fromkeys(("ushort", "unsigned short", "uint16", "uint16_t"), "u2"),
    **dict.fromkeys(("int", "signed int", "int32", "int32_t"), "i4"),
    **dict.fromkeys(("uint", "unsigned int", "uint32", "uint32_t"), "u4"),
}
_SPACES = {
    **dict.fromkeys(("left-posterior-superior", "lps"), (1, 1, 1)),
    **dict.fromkeys(("right-anterior-superior", "ras"), (-1, -1, 1)),
    **dict.fromkeys(("left-anterior-superior", "las"), (1, -1, 1)),
}
"""Axis directions of a file -> signs that convert them to LPS."""


@dataclass(frozen=True, eq=False)
class Nrrd:
    """Layers of labels on one grid."""

    labels: StoredArray
    """Layer, slice, row, column."""
    geometry: Geometry
    pairs: dict[str, str]
    """The key/value pairs of the header."""


def read_nrrd(path: Path, most: int = LARGEST_BYTES) -> Nrrd:
    """Read labels of three dimensions, or several layers; at most ``most`` bytes unpacked."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}.") from error
    end = re.search(rb"\r?\n\r?\n", content[:_LONGEST_HEADER])
    if not content.startswith(b"NRRD") or end is None:
        raise InputError.at(path, "is not an NRRD file with its voxels in it.")
    fields, pairs = _header(content[: end.start()].decode("utf-8", "replace"))
    size, dtype = _size(path, fields), _dtype(path, fields)
    expected = math.prod(size) * dtype.itemsize
    if expected > most:
        what = f"would unpack to {expected / 2**30:.1f} GiB; no CT is so large."
        raise InputError.at(path, what, "Is it the right file?")
    voxels = _unpacked(path, fields, content[end.end() :], expected)
    labels = np.frombuffer(voxels, dtype).reshape(size[::-1])
    # the layer axis runs fastest; the next axes are columns, rows and slices
    layered = np.moveaxis(labels, -1, 0) if len(size) == 4 else labels[None]
    return Nrrd(layered, _grid(path, fields, size[-3:]), pairs)


def write_nrrd(nrrd: Nrrd, path: Path) -> None:
    """Write labels as one compressed file; a single layer has three dimensions."""
    layers, grid = nrrd.labels, nrrd.geometry
    several = len(layers) > 1
    steps = [_vector(step) for step in (grid.direction * grid.spacing_mm).T]
    size = [*((len(layers),) if several else ()), *layers.shape[:0:-1]]
    fields = {
        "type": {1: "unsigned char", 2: "unsigned short"}[layers.dtype.itemsize],
        "dimension": str(len(size)),
        "space": "left-posterior-superior",
        "sizes": " ".join(map(str, size)),
        "space directions": " ".join([*(("none",) if several else ()), *steps]),
        "kinds": " ".join([*(("list",) if several else ()), *["domain"] * 3]),
        "endian": "little",
        "encoding": "gzip",
        "space origin": _vector(grid.origin_mm),
    }
    lines = ["NRRD0004", *(f"{name}: {value}" for name, value in fields.items())]
    lines += [f"{key}:={_line(value)}" for key, value in nrrd.pairs.items()]
    stored = np.moveaxis(layers, 0, -1) if several else layers[0]
    packer = zlib.compressobj(1, wbits=31)
    raw = np.ascontiguousarray(stored.astype(stored.dtype.newbyteorder("<"))).tobytes()
    with staged_file(path) as staged:
        head = ("\n".join(lines) + "\n\n").encode()
        staged.write_bytes(head + packer.compress(raw) + packer.flush())


def _header(text: str) -> tuple[dict[str, str], dict[str, str]]:
    fields: dict[str, str] = {}
    pairs: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        key, is_pair, value = line.partition(":=")
        name, is_field, field_text = line.partition(": ")
        if line.startswith("#"):
            continue
        if is_pair and not (is_field and len(name) < len(key)):
            pairs[key] = value
        elif is_field:
            fields[name.strip().lower()] = field_text.strip()
    return fields, pairs


def _size(path: Path, fields: dict[str, str]) -> list[int]:
    if "data file" in fields or "datafile" in fields:
        raise InputError.at(path, "has its voxels in another file.", "Save it as one file.")
    try:
        size = [int(count) for count in fields.get("sizes", "").split()]
    except ValueError:
        size = []
    has_layers = len(size) == 4 and fields.get("space directions", "").startswith("none")
    if min(size, default=0) < 1 or not (len(size) == 3 or has_layers):
        what = f"has the size '{fields.get('sizes', '')}'."
        raise InputError.at(path, what, "Labels have three dimensions, or layers of three.")
    return size


def _dtype(path: Path, fields: dict[str, str]) -> np.dtype[Any]:
    kind = _TYPES.get(fields.get("type", "").lower())
    if kind is None:
        what = f"has the type '{fields.get('type', '')}'."
        raise InputError.at(path, what, "Labels are whole numbers.")
    return np.dtype((">" if fields.get("endian", "").lower() == "big" else "<") + kind)


def _unpacked(path: Path, fields: dict[str, str], packed: bytes, expected: int) -> bytes:
    """The voxels; at most one byte more is unpacked than the header asks for."""
    encoding = fields.get("encoding", "").lower()
    if encoding not in ("raw", "gzip", "gz"):
        what = f"is encoded as '{encoding}'."
        raise InputError.at(path, what, "Save it raw or compressed with gzip.")
    try:
        unpacker = zlib.decompressobj(wbits=31)
        unpacked = packed if encoding == "raw" else unpacker.decompress(packed, expected + 1)
    except zlib.error as error:
        raise InputError.at(path, f"its voxels are damaged ({error}).", "Copy it again.") from error
    if len(unpacked) != expected:
        what = f"holds {len(unpacked)} bytes of voxels, but its header asks for {expected}."
        raise InputError.at(path, what, "Copy or export it again.")
    return unpacked


def _grid(path: Path, fields: dict[str, str], size: list[int]) -> Geometry:
    sign = _SPACES.get(fields.get("space", "").lower())
    if sign is None:
        what = f"has the space '{fields.get('space', '')}', so its axes are unknown."
        raise InputError.at(path, what, "Save it in LPS, RAS or LAS.")
    vectors = [*_VECTOR.findall(fields.get("space directions", "")), fields.get("space origin", "")]
    numbers = [_numbers(vector) for vector in vectors]
    is_whole = [len(vector) for vector in numbers] == [3, 3, 3, 3]
    if not is_whole or not np.all(np.abs(numbers) < FARTHEST_MM):
        raise InputError.at(path, "does not say where its voxels are.", "Export it again.")
    steps, origin = np.array(numbers[:3]), np.array(numbers[3])
    turned: FloatArray = steps.T * np.array(sign)[:, None]
    spacing = np.linalg.norm(turned, axis=0)
    if not np.all(spacing > 0) or not is_orthonormal(turned / spacing):
        raise InputError.at(path, "its axes are not at right angles.", "Export it again.")
    return Geometry(spacing, origin * sign, turned / spacing, np.array(size, dtype=np.int64))


_VECTOR = re.compile(r"\([^)]*\)")


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.strip().strip("()").split(",")]
    except ValueError:
        return []


def _vector(values: FloatArray) -> str:
    return "(" + ",".join(repr(float(value)) for value in values) + ")"


def _line(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "")
