"""Read blocks of CT around nodules (blocks.csv, foldN.npz.xz), and the findings inside them.

A block's voxels are bytes, HU = 16 x value - 1024; its axes are the patient's.
"""

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import NODULES, PLACE, Reference
from nodulebench.imaging.geometry import GEOMETRY_COLUMNS, ORIGIN_MM, SIZE, SPACING_MM
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.table_files import LARGEST_ARRAY_BYTES, read_arrays

HU_PER_STEP = 16
LOWEST_HU = -1024
FOLDS = tuple(range(10))
MOST_TRIMMED_MM = 20.0
"""A nodule is in the middle of its block. Each face moves in by up to this much, so that the
middle gives no hint."""
MARGIN_MM = 6.0
"""Smallest distance of a face from a nodule's edge, which filters need around it."""

_TABLE = "blocks.csv"


@dataclass(frozen=True, eq=False)
class Block:
    """A part of a scan around a nodule."""

    block_id: str
    series: str
    """The scan from which it was cut."""
    fold: int
    volume: Volume


def read_blocks(folder: Path, folds: Iterable[int] = FOLDS) -> Iterator[Block]:
    """Yield the blocks of some folds, fold by fold, in the order of the table."""
    rows = CsvFile(folder / _TABLE).read_columns(
        text=("block_id", "seriesuid"), numbers=("fold", *GEOMETRY_COLUMNS, *SIZE)
    )
    for fold in folds:
        path = folder / f"fold{fold}.npz.xz"
        voxels = _read_voxels(path)
        for row in rows.filter(pl.col("fold") == fold).iter_rows(named=True):
            yield _block(row, voxels, path)


def findings_inside(block: Block, reference: Reference) -> pl.DataFrame:
    """Nodules and ignored findings with their centre in a block, whose id becomes their case."""
    of_scan = reference.nodules.filter(pl.col("case_id") == block.series)
    is_inside = block.volume.geometry.contains(of_scan.select(PLACE).to_numpy())
    inside = of_scan.filter(pl.Series(is_inside, dtype=pl.Boolean))
    return NODULES.arrange(inside.with_columns(case_id=pl.lit(block.block_id)))


def trimmed(block: Block, inside: pl.DataFrame, seed: int) -> Block:
    """The block with its six faces moved in at random, but never close to a nodule."""
    first, last = random_part(block, inside, seed)
    box = tuple(slice(*bounds) for bounds in zip(first, last + 1, strict=True))
    part = block.volume.part(box)
    return replace(block, volume=replace(part, hu=np.ascontiguousarray(part.hu)))


def random_part(block: Block, inside: pl.DataFrame, seed: int) -> tuple[IntArray, IntArray]:
    """The first and last slice, row and column after moving the faces in at random."""
    volume = block.volume
    size = volume.geometry.size
    if size is None:
        raise ValueError("a block has a size")
    nodules = inside.filter(~pl.col("is_ignored"))
    center = volume.geometry.to_index(nodules.select(PLACE).to_numpy())
    reach_mm = nodules["diameter_mm"].fill_null(0.0).to_numpy()[:, None] / 2 + MARGIN_MM
    reach = reach_mm / volume.geometry.spacing_mm
    sides = (center - reach, size - 1 - center - reach)
    free = np.concatenate([side.min(axis=0, initial=np.inf) for side in sides])
    most = np.tile(MOST_TRIMMED_MM / volume.geometry.spacing_mm, 2)
    trim = np.floor(np.clip(free, 0, most)).astype(np.int64)
    low, high = np.split(
        np.random.default_rng([seed, zlib.crc32(block.block_id.encode())]).integers(0, trim + 1), 2
    )
    return low[::-1], (size - high)[::-1] - 1


def _read_voxels(path: Path) -> dict[str, np.ndarray]:
    try:
        with lzma.open(path) as file:
            content = file.read(LARGEST_ARRAY_BYTES + 1)
        if len(content) > LARGEST_ARRAY_BYTES:
            raise ValueError(f"it unpacks to more than {LARGEST_ARRAY_BYTES >> 30} GiB")
        return read_arrays(io.BytesIO(content))
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}.") from error
    except (lzma.LZMAError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise InputError.at(
            path, f"is not an xz-packed numpy archive ({error}).", "Fetch it again."
        ) from error


def _block(row: JsonObject, voxels: dict[str, np.ndarray], path: Path) -> Block:
    name = str(row["block_id"])
    if name not in voxels:
        raise InputError.at(path, f"lacks the block '{name}' of {_TABLE}.")
    values = voxels[name]
    expected = tuple(int(row[axis]) for axis in reversed(SIZE))
    if values.shape != expected or values.dtype != np.uint8:
        what = f"has {values.shape} voxels of type {values.dtype}, not {expected} bytes."
        raise InputError.at(f"{path.name}, block '{name}'", what)
    volume = make_volume(
        values.astype(np.int16) * HU_PER_STEP + LOWEST_HU,
        spacing_mm=[row[axis] for axis in SPACING_MM],
        origin_mm=[row[axis] for axis in ORIGIN_MM],
        where=f"{path.name}, block '{name}'",
    )
    return Block(name, str(row["seriesuid"]), int(row["fold"]), volume)
