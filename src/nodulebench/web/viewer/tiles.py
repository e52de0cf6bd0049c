"""A scan -> its voxels as whole HU on an upright grid, read once and kept on disk.

What was kept is mapped into memory, so that a slice costs one read. It is known by the names, sizes
and times of the scan's files: one that was exchanged is read anew.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.upright import upright
from nodulebench.imaging.volume import Volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.json_files import read_json, write_json
from nodulebench.web.viewer.scans import Scan

VOXELS, GRID = "hu.i16", "grid.json"
VERSION = 1
"""Of what is kept; another one is made anew."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """The voxels of a scan, and where they are."""

    volume: Volume
    """Upright; its voxels are mapped from disk as soon as they are kept."""
    original: Geometry
    is_resampled: bool

    def slices(self, first: int, count: int) -> bytes:
        """The voxels of neighbouring slices from the feet on: int16, little-endian, row by row."""
        return self.volume.hu[first : first + count].tobytes()

    @property
    def grid(self) -> Geometry:
        """Where the voxels shown are."""
        return self.volume.geometry


def patch_of(tiles: Tiles, middle_mm: FloatArray, width_mm: float) -> Tiles:
    """What lies around a place, as far as the image goes; every voxel stays where it is."""
    grid, shape = tiles.grid, np.array(tiles.volume.shape[::-1])
    middle = grid.to_index(middle_mm[None])[0].round()
    reach = np.floor(width_mm / 2 / grid.spacing_mm)
    low = np.clip(middle - reach, 0, shape - 1).astype(np.int64)
    high = np.clip(middle + reach + 1, low + 1, shape).astype(np.int64)
    (i, j, k), (columns, rows, slices) = low, high
    origin = grid.to_world(low[None].astype(np.float64))[0]
    cut = replace(grid, origin_mm=origin, size=high - low)
    return replace(tiles, volume=Volume(tiles.volume.hu[k:slices, j:rows, i:columns], cut))


def tiles_of(scan: Scan, cache: Path) -> Tiles:
    """The voxels of a scan from the cache, made first where they are not there.

    Raises:
        InputError: if the scan cannot be read as a volume.
    """
    return kept_tiles(read_tiles(scan, cache), scan, cache)


def read_tiles(scan: Scan, cache: Path) -> Tiles:
    """The voxels of a scan from the cache, or from its files; nothing is written.

    Raises:
        InputError: if the scan cannot be read as a volume.
    """
    folder = cache / _known_by(scan)
    if (folder / GRID).is_file():
        return _kept(folder)
    made = upright(scan.read())
    return Tiles(made.volume, made.original, made.is_resampled)


def kept_tiles(tiles: Tiles, scan: Scan, cache: Path) -> Tiles:
    """The same voxels, mapped from the cache, where they are kept first if they are not there."""
    folder = cache / _known_by(scan)
    if not (folder / GRID).is_file():
        _keep(tiles, folder)
    return _kept(folder)


def _known_by(scan: Scan) -> str:
    facts = [f"{VERSION} {scan.case_id}"]
    for path in scan.files:
        state = path.stat()
        facts.append(f"{path.name} {state.st_size} {state.st_mtime_ns}")
    text = "\n".join(facts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def _keep(tiles: Tiles, folder: Path) -> None:
    with staged_folder(folder, last=GRID) as stage:
        tiles.volume.hu.astype("<i2", copy=False).tofile(stage / VOXELS)
        grids = {"shown": _written(tiles.grid), "original": _written(tiles.original)}
        write_json({**grids, "is_resampled": tiles.is_resampled}, stage / GRID)


def _kept(folder: Path) -> Tiles:
    told = read_json(folder / GRID)
    grid = _geometry(told["shown"])
    shape = tuple(told["shown"]["size"][::-1])
    hu: npt.NDArray[np.int16] = np.memmap(folder / VOXELS, dtype="<i2", mode="r", shape=shape)
    return Tiles(Volume(hu, grid), _geometry(told["original"]), told["is_resampled"])


def _written(grid: Geometry) -> dict[str, Any]:
    if grid.size is None:
        raise AssertionError("an image has a size")
    return {
        "spacing_mm": grid.spacing_mm.tolist(),
        "origin_mm": grid.origin_mm.tolist(),
        "direction": grid.direction.tolist(),
        "size": grid.size.tolist(),
    }


def _geometry(told: dict[str, Any]) -> Geometry:
    return Geometry(
        np.array(told["spacing_mm"]),
        np.array(told["origin_mm"]),
        np.array(told["direction"]),
        np.array(told["size"], dtype=np.int64),
    )
