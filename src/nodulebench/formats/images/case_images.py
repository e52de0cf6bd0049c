"""The CT image of a case -> Volume, whatever it is kept in; the one way that images are read.

An image is a MetaImage or NIfTI file, a DICOM file of many frames, a folder of DICOM files, or a
zip archive of one.
"""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from nodulebench.errors import InputError
from nodulebench.formats.case_names import case_of_image
from nodulebench.imaging.volume import Volume

SUFFIXES = (".mhd", ".mha", ".nii", ".nii.gz", ".dcm", ".zip")
LARGEST_UNPACKED_BYTES = 8 << 30
"""A zip that says it holds more is refused before anything is written."""


@dataclass(frozen=True, slots=True)
class CaseImage:
    """An image and the name that it has by itself."""

    volume: Volume
    name: str
    """Of the file, or the series UID of DICOM."""


def read_case(path: Path) -> Volume:
    """The CT volume of a case in any form, as ``read_case_image`` does."""
    return read_case_image(path).volume


def read_case_image(path: Path) -> CaseImage:
    """The image of a case in any form.

    Raises:
        InputError: if it is no image that is known, or with everything that is wrong with it.
    """
    from nodulebench.formats.images import metaimage, nifti

    if path.is_dir() or (path.is_file() and path.suffix == ".dcm"):
        return _dicom(path)
    if not path.is_file():
        raise InputError.at(path, "is not there.", "Give an image or a DICOM folder.")
    if path.suffix == ".zip":
        return _zipped(path)
    if path.name.endswith((".nii", ".nii.gz")):
        return CaseImage(nifti.read_volume(path), case_of_image(path.name))
    if path.suffix in (".mhd", ".mha"):
        return CaseImage(metaimage.read_volume(path), case_of_image(path.name))
    raise InputError.at(
        path,
        "is no image that is known.",
        "Give a .mhd, .mha, .nii, .nii.gz or .dcm file, or a folder or zip of DICOM files.",
    )


def image_reader(folder: Path) -> Callable[[str], Volume]:
    """What reads the image of a case from a folder.

    The image of a case is a file ``<case_id>`` with one of ``SUFFIXES``, or a folder ``<case_id>``
    of DICOM files.
    """

    def read(case_id: str) -> Volume:
        files = (folder / f"{case_id}{suffix}" for suffix in SUFFIXES)
        found = next((path for path in files if path.is_file()), folder / case_id)
        if found.exists():
            return read_case(found)
        raise InputError.at(
            folder,
            f"has no image of case '{case_id}'.",
            f"Put {case_id}.mhd, .mha, .nii or .nii.gz there, or a folder {case_id} of DICOM.",
        )

    return read


def _dicom(path: Path) -> CaseImage:
    from nodulebench.formats.dicom.volume import read_series, series_volume

    series = read_series(path)
    return CaseImage(series_volume(series, str(path)), series.uid)


def _zipped(path: Path) -> CaseImage:
    """A zipped DICOM series."""
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(part.file_size for part in archive.infolist())
                if size > LARGEST_UNPACKED_BYTES:
                    raise InputError.at(
                        path,
                        f"would unpack to {size / 2**30:.1f} GiB; no CT series is so large.",
                        "Unpack it yourself and give the folder of one series.",
                    )
                archive.extractall(folder)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise InputError.at(path, f"cannot be unpacked ({error}).", "Copy it anew.") from error
        try:
            return _dicom(Path(folder))
        except InputError as error:
            named = [
                replace(problem, where=problem.where.replace(folder, str(path)))
                for problem in error.problems
            ]
            raise InputError(named) from error
