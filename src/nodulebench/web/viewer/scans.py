"""A folder of scans -> what there is to read, each with the files that it is made of."""

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
    """The folder of its DICOM files, for objects that refer to them."""


def scans_in(place: Path) -> list[Scan]:
    """Every scan of a folder, or the one that a file is; a test set says itself which it has.

    Raises:
        InputError: if there is none, or two have the same name.
    """
    if place.is_file():
        found = [_scan_of_file(place)]
    elif images_folder(place) is not None:
        found = [_scan_of(case_id, path) for case_id, path in images_of_set(place)]
    else:
        paths = [Path(file) for file in files_below(place, lambda _: None)]
        found = [_scan_of_file(path) for path in paths if path.name.endswith(_VOLUMES)]
        found += _dicom_scans(place, is_needed=not found)
    names = [one.case_id for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        what = f"holds two scans named '{twice}'."
        raise InputError.at(place, what, "Read their folders one by one.")
    return found


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
    """A file and those of its name beside it: the voxels of a MetaImage have one of their own."""
    yield path
    if path.suffix == ".mhd":
        beside = (one for one in path.parent.iterdir() if one.stem == path.stem and one != path)
        yield from sorted(one for one in beside if one.suffix in (".raw", ".zraw"))


def _dicom_scans(folder: Path, *, is_needed: bool) -> list[Scan]:
    """The CT series below a folder, in the order of their first files."""
    from nodulebench.io.dicom.series import Series, ct_series
    from nodulebench.io.dicom.volumes import series_volume

    def scan(series: Series) -> Scan:
        files = tuple(map(Path, series.files))

        def read() -> Volume:
            return series_volume(series, f"{folder} series {series.uid}", allows_tilt=True)

        return Scan(series.uid, files, read, files[0].parent)

    try:
        return [scan(one) for one in ct_series(folder).values()]
    except InputError:
        if is_needed:
            raise
        return []


def scans_of(place: Path, wanted: Iterable[str]) -> dict[str, Scan]:
    """The scans of a folder by case, among which are some.

    Raises:
        InputError: if one of those is not there.
    """
    found = {scan.case_id: scan for scan in scans_in(place)}
    raise_problems(
        Problem(f"folder '{place.name}'", f"holds no scan of '{name}', which is to be read.")
        for name in dict.fromkeys(wanted)
        if name not in found
    )
    return found


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
    return cached_tiles(read_tiles(scan, cache), scan, cache)


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


def cached_tiles(tiles: Tiles, scan: Scan, cache: Path) -> Tiles:
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


def _written(grid: Geometry) -> JsonObject:
    if grid.size is None:
        raise AssertionError("an image has a size")
    return {
        "spacing_mm": grid.spacing_mm.tolist(),
        "origin_mm": grid.origin_mm.tolist(),
        "direction": grid.direction.tolist(),
        "size": grid.size.tolist(),
    }


def _geometry(told: JsonObject) -> Geometry:
    return Geometry(
        np.array(told["spacing_mm"]),
        np.array(told["origin_mm"]),
        np.array(told["direction"]),
        np.array(told["size"], dtype=np.int64),
    )
