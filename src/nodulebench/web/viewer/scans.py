"""A folder of scans -> what there is to read, each with the files that it is made of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.imaging.volume import Volume
from nodulebench.io.case_names import case_of_image
from nodulebench.io.folders import files_below
from nodulebench.io.images.case_images import SUFFIXES, read_case
from nodulebench.io.images.set_images import images_folder, images_of_set

_VOLUMES = tuple(one for one in SUFFIXES if one != ".dcm")


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
        paths = [Path(one) for one in files_below(place, lambda _: None)]
        found = [_scan_of_file(one) for one in paths if one.name.endswith(_VOLUMES)]
        found += _dicom_scans(place, is_needed=not found)
    names = [one.case_id for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        what = f"holds two scans named '{twice}'."
        raise InputError.at(place, what, "Read their folders one by one.")
    return found


def _scan_of(case_id: str, path: Path) -> Scan:
    if path.is_dir():
        files = tuple(Path(one) for one in files_below(path, lambda _: None))
        return Scan(case_id, files, lambda: read_case(path, allows_tilt=True), path)
    return Scan(case_id, tuple(_belonging_to(path)), lambda: read_case(path, allows_tilt=True))


def _scan_of_file(path: Path) -> Scan:
    name = path.name
    ending = next((one for one in SUFFIXES if name.endswith(one)), "")
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
    found = {one.case_id: one for one in scans_in(place)}
    refuse_any(
        Problem(f"folder '{place.name}'", f"holds no scan of '{name}', which is to be read.")
        for name in dict.fromkeys(wanted)
        if name not in found
    )
    return found
