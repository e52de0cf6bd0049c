"""Scans of a folder with their files, and the cached voxels that the page shows."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume, upright
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import case_of_image
from nodulebench.io.folders import files_below
from nodulebench.io.images.case_images import SUFFIXES, images_folder, images_of_set, read_case
from nodulebench.io.json_files import read_json, write_json

_VOLUMES = tuple(suffix for suffix in SUFFIXES if suffix != ".dcm")


@dataclass(frozen=True, eq=False)
class Scan:
    """One image that can be read."""

    case_id: str
    files: tuple[Path, ...]
    read: Callable[[], Volume]
    images: Path | None = None
    """The folder of its DICOM files, for DICOM objects that refer to them."""


def scans_in(images: Path) -> list[Scan]:
    """Every scan of a folder or test set, or the scan in a file; each name once."""
    if images.is_file():
        scans = [_scan_of_file(images)]
    elif images_folder(images) is not None:
        scans = [_scan_of(case_id, path) for case_id, path in images_of_set(images)]
    else:
        paths = [Path(file) for file in files_below(images, lambda _: None)]
        scans = [_scan_of_file(path) for path in paths if path.name.endswith(_VOLUMES)]
        scans += _dicom_scans(images, is_needed=not scans)
    names = [scan.case_id for scan in scans]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        what = f"holds two scans named '{duplicate}'."
        raise InputError.at(images, what, "Open their folders one at a time.")
    return scans


def _scan_of(case_id: str, path: Path) -> Scan:
    if path.is_dir():
        files = tuple(Path(file) for file in files_below(path, lambda _: None))
        return Scan(case_id, files, lambda: read_case(path, allows_tilt=True), path)
    return Scan(case_id, tuple(_belonging_to(path)), lambda: read_case(path, allows_tilt=True))


def _scan_of_file(path: Path) -> Scan:
    name = path.name
    ending = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    return _scan_of(case_of_image(name.removesuffix(ending)) if ending else name, path)


def _belonging_to(path: Path) -> Iterator[Path]:
    """A file with its sidecar files: the voxels of a MetaImage can be in a separate file."""
    yield path
    if path.suffix == ".mhd":
        siblings = (other for other in path.parent.iterdir() if other.stem == path.stem)
        yield from sorted(other for other in siblings if other.suffix in (".raw", ".zraw"))


def _dicom_scans(folder: Path, *, is_needed: bool) -> list[Scan]:
    from nodulebench.io.dicom.series import Series, ct_series
    from nodulebench.io.dicom.volumes import series_volume

    def scan(series: Series) -> Scan:
        files = tuple(map(Path, series.files))

        def read() -> Volume:
            return series_volume(series, f"{folder} series {series.uid}", allows_tilt=True)

        return Scan(series.uid, files, read, files[0].parent)

    try:
        return [scan(series) for series in ct_series(folder).values()]
    except InputError:
        if is_needed:
            raise
        return []


def scans_of(images: Path, wanted: Iterable[str]) -> dict[str, Scan]:
    scans = {scan.case_id: scan for scan in scans_in(images)}
    raise_problems(
        Problem(f"folder '{images.name}'", f"holds no scan of '{name}', which is needed.")
        for name in dict.fromkeys(wanted)
        if name not in scans
    )
    return scans


VOXELS, GRID = "hu.i16", "grid.json"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Tiles:
    """The voxels of a scan and their grid."""

    volume: Volume
    """In upright orientation; its voxels are memory-mapped once they are cached."""
    original: Geometry
    is_resampled: bool

    def slices(self, first: int, count: int) -> bytes:
        return self.volume.hu[first : first + count].tobytes()

    @property
    def grid(self) -> Geometry:
        return self.volume.geometry


def patch_of(tiles: Tiles, middle_mm: FloatArray, width_mm: float) -> Tiles:
    """The part of a scan around a position, cropped at the border; voxels keep their positions."""
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
    return cached_tiles(read_tiles(scan, cache), scan, cache)


def read_tiles(scan: Scan, cache: Path) -> Tiles:
    folder = cache / _cache_key(scan)
    if (folder / GRID).is_file():
        return _load_cached(folder)
    image = upright(scan.read())
    return Tiles(image.volume, image.original, image.is_resampled)


def cached_tiles(tiles: Tiles, scan: Scan, cache: Path) -> Tiles:
    """The same voxels, memory-mapped from the cache; they are cached first if needed."""
    folder = cache / _cache_key(scan)
    if not (folder / GRID).is_file():
        _save(tiles, folder)
    return _load_cached(folder)


def _cache_key(scan: Scan) -> str:
    facts = [f"{VERSION} {scan.case_id}"]
    for path in scan.files:
        state = path.stat()
        facts.append(f"{path.name} {state.st_size} {state.st_mtime_ns}")
    text = "\n".join(facts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def _save(tiles: Tiles, folder: Path) -> None:
    with staged_folder(folder, last=GRID) as stage:
        tiles.volume.hu.astype("<i2", copy=False).tofile(stage / VOXELS)
        grids = {"shown": _geometry_json(tiles.grid), "original": _geometry_json(tiles.original)}
        write_json({**grids, "is_resampled": tiles.is_resampled}, stage / GRID)


def _load_cached(folder: Path) -> Tiles:
    stored = read_json(folder / GRID)
    grid = _geometry(stored["shown"])
    shape = tuple(stored["shown"]["size"][::-1])
    hu: npt.NDArray[np.int16] = np.memmap(folder / VOXELS, dtype="<i2", mode="r", shape=shape)
    return Tiles(Volume(hu, grid), _geometry(stored["original"]), stored["is_resampled"])


def _geometry_json(grid: Geometry) -> JsonObject:
    if grid.size is None:
        raise AssertionError("an image has a size")
    return {
        "spacing_mm": grid.spacing_mm.tolist(),
        "origin_mm": grid.origin_mm.tolist(),
        "direction": grid.direction.tolist(),
        "size": grid.size.tolist(),
    }


def _geometry(stored: JsonObject) -> Geometry:
    return Geometry(
        np.array(stored["spacing_mm"]),
        np.array(stored["origin_mm"]),
        np.array(stored["direction"]),
        np.array(stored["size"], dtype=np.int64),
    )
