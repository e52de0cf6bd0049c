"""Read the CT image of a case in any format; all images are read through this module.

An image is a MetaImage or NIfTI file, a DICOM file of many frames, a folder of DICOM files, or a
zip archive of such a folder.
"""

import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.imaging.volume import Volume
from nodulebench.io.cases import IMAGE_SUFFIXES, case_of_image
from nodulebench.io.folders import files_below
from nodulebench.io.formats import case_table_of
from nodulebench.io.manifests import PAYLOAD
from nodulebench.io.table_files import read_cases

if TYPE_CHECKING:
    from nodulebench.io.dicom.series import Series


SUFFIXES = (".mhd", ".mha", ".nii", ".nii.gz", ".dcm", ".zip")
LARGEST_UNPACKED_BYTES = 8 << 30
"""A zip that states a larger content is rejected before anything is written."""


@dataclass(frozen=True, slots=True)
class CaseImage:
    """An image and its own name."""

    volume: Volume
    name: str
    """The file name without endings, or the series UID of DICOM."""


def read_case(path: Path, *, allows_tilt: bool = False) -> Volume:
    return read_case_image(path, allows_tilt=allows_tilt).volume


def read_case_image(path: Path, *, allows_tilt: bool = False) -> CaseImage:
    from nodulebench.io.images import metaimage, nifti

    if path.is_dir() or (path.is_file() and path.suffix == ".dcm"):
        return _dicom(path, allows_tilt=allows_tilt)
    if not path.is_file():
        raise InputError.at(path, "does not exist.", "Give an image or a DICOM folder.")
    if path.suffix == ".zip":
        return _zipped(path, allows_tilt=allows_tilt)
    if path.name.endswith((".nii", ".nii.gz")):
        return CaseImage(nifti.read_volume(path), case_of_image(path.name))
    if path.suffix in (".mhd", ".mha"):
        return CaseImage(metaimage.read_volume(path), case_of_image(path.name))
    remedy = "Give a .mhd, .mha, .nii, .nii.gz or .dcm file, or a folder or zip of DICOM files."
    raise InputError.at(path, "is not an image of a known format.", remedy)


class NoImageError(InputError):
    """A folder has no image of a case."""


def image_reader(folder: Path, wanted: Collection[str] | None = None) -> Callable[[str], Volume]:
    """Return a function that reads the image of a case from a folder; see ``image_lookup``."""
    find = image_lookup(folder, wanted)
    return lambda case_id: find(case_id)()


def image_lookup(
    folder: Path, wanted: Collection[str] | None = None
) -> Callable[[str], Callable[[], Volume]]:
    """Return a function from a case to a reader of its image in a folder, test set or archive.

    The image of a case is a file ``<case_id>`` with one of ``SUFFIXES`` or a folder ``<case_id>``
    of DICOM files: in the folder, in ``images/`` of a bundle, or anywhere below. If no name fits,
    it is the DICOM series of that Series Instance UID. If only some cases are ``wanted``, damaged
    files of others are skipped. The function raises NoImageError if the image is missing.
    """
    named = cache(lambda: _images_by_name(folder))
    series = cache(lambda: _series_by_uid(folder, wanted))

    def find(case_id: str) -> Callable[[], Volume]:
        places = (folder, folder / "images", folder / "data" / "images")
        paths = (place / f"{case_id}{suffix}" for place in places for suffix in (*SUFFIXES, ""))
        image = next((path for path in paths if path.exists()), None) or named().get(case_id)
        if image is not None:
            return partial(read_case, image)
        if case_id in series():
            from nodulebench.io.dicom.volumes import series_volume

            return partial(series_volume, series()[case_id], f"{folder} series {case_id}")
        remedy = f"Put {case_id}.mhd, .mha, .nii or .nii.gz there, or a folder {case_id} of DICOM."
        raise NoImageError.at(folder, f"has no image of case '{case_id}'.", remedy)

    return find


def _images_by_name(folder: Path) -> dict[str, Path]:
    """Every image file below a folder by its name without ending, every subfolder by its name."""
    by_name: dict[str, Path] = {}
    for path in map(Path, files_below(folder, lambda _: None)):
        by_name.setdefault(path.parent.name, path.parent)
        if path.name.endswith(SUFFIXES):
            ending = next(suffix for suffix in SUFFIXES if path.name.endswith(suffix))
            by_name.setdefault(path.name.removesuffix(ending), path)
    return by_name


def _series_by_uid(folder: Path, wanted: Collection[str] | None) -> dict[str, "Series"]:
    from nodulebench.io.dicom.series import ct_series

    try:
        return ct_series(folder, wanted)
    except NoduleBenchError:  # no DICOM files, or pydicom is not installed
        return {}


def _dicom(path: Path, *, allows_tilt: bool) -> CaseImage:
    from nodulebench.io.dicom.volumes import read_series, series_volume

    series = read_series(path)
    return CaseImage(series_volume(series, str(path), allows_tilt=allows_tilt), series.uid)


def _zipped(path: Path, *, allows_tilt: bool) -> CaseImage:
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(part.file_size for part in archive.infolist())
                if size > LARGEST_UNPACKED_BYTES:
                    what = f"would unpack to {size / 2**30:.1f} GiB; no CT series is so large."
                    remedy = "Unpack it yourself and give the folder of one series."
                    raise InputError.at(path, what, remedy)
                archive.extractall(folder)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise InputError.at(path, f"cannot be unpacked ({error}).", "Copy it again.") from error
        try:
            return _dicom(Path(folder), allows_tilt=allows_tilt)
        except InputError as error:
            named = [
                replace(problem, where=problem.where.replace(folder, str(path)))
                for problem in error.problems
            ]
            raise InputError(named) from error


IMAGES = "images"


def images_folder(folder: Path) -> Path | None:
    places = (folder / IMAGES, folder / PAYLOAD / IMAGES)
    return next((place for place in places if place.is_dir()), None)


def images_of_set(folder: Path) -> list[tuple[str, Path]]:
    """The cases of a test set with their images, in the order of its case table if it has one."""
    images = images_folder(folder) or folder / IMAGES
    by_name: dict[str, Path] = {}
    for path in sorted(images.iterdir()):
        if path.is_dir() or path.name.endswith(IMAGE_SUFFIXES):
            by_name.setdefault(case_of_image(path.name), path)
    table = case_table_of(folder)
    wanted = read_cases(table)["case_id"].to_list() if table else list(by_name)
    for case_id in wanted:
        if case_id not in by_name:
            image_reader(images)(case_id)  # its error lists the names that were tried
    if not wanted:
        raise InputError.at(str(images), "holds no image.", "Put one image per case there.")
    return [(case_id, by_name[case_id]) for case_id in wanted]
