"""DICOM files -> pydicom datasets, whole or with the reason why not."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, first_line
from nodulebench.core.optional_packages import needs
from nodulebench.io.sniff import Glimpse

PREAMBLE_BYTES = 128
UNDEFINED_LENGTH = 0xFFFFFFFF
_PLACED_AND_NAMED_BY = """
    SOPClassUID SOPInstanceUID SeriesInstanceUID StudyInstanceUID FrameOfReferenceUID
    ImagePositionPatient ImageOrientationPatient PixelSpacing Rows Columns SliceThickness
    SpacingBetweenSlices PatientID
"""
IMAGE_KEYWORDS = tuple(_PLACED_AND_NAMED_BY.split())


def is_dicom(path: Path) -> bool:
    """Whether a file starts as DICOM files do."""
    try:
        with path.open("rb") as file:
            return file.read(PREAMBLE_BYTES + 4)[PREAMBLE_BYTES:] == b"DICM"
    except OSError:
        return False


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files in a folder and its subfolders, in order."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def dicom_files(path: Path) -> list[Path]:
    """The file itself, or all DICOM files in a folder and its subfolders, in order."""
    return [file for file in files_of(path) if is_dicom(file)] if path.is_dir() else [path]


def read_image_header(path: Path) -> Any:
    """An image's header; only what places and names the image is decoded at once.

    Raises:
        InputError: if it is not DICOM, or damaged.
    """
    return _read(path, stop_before_pixels=True, is_decoded=False)


def read_header(path: Path) -> Any:
    """A DICOM file without its pixels, every element decoded.

    Raises:
        InputError: if it is not DICOM, or damaged.
    """
    return _read(path, stop_before_pixels=True)


def read_object(path: Path) -> Any:
    """A whole DICOM file, every element decoded.

    Raises:
        InputError: if it is not DICOM, or damaged.
    """
    return _read(path, stop_before_pixels=False)


def require_pydicom() -> None:
    """Tell at once that DICOM cannot be read, not at the first file.

    Raises:
        InputError: if pydicom is not installed.
    """
    with needs("images", "DICOM"):
        import pydicom  # noqa: F401


def objects_of(path: Path, *sop_classes: str) -> Iterator[tuple[Path, Any]]:
    """The DICOM objects of some kinds in a file or folder: path and header.

    A file must be of one of these kinds; in a folder, others are passed over.

    Raises:
        InputError: if a file is of another kind, or damaged.
    """
    with needs("images", "DICOM"):
        import pydicom
    for file in dicom_files(path):
        header = read_image_header(file)
        found = str(header.get("SOPClassUID", ""))
        if found in sop_classes:
            yield file, read_header(file)
        elif not path.is_dir():
            wanted = " or ".join(pydicom.uid.UID(one).name for one in sop_classes)
            # what the file calls its kind may be no UID at all
            kind = pydicom.uid.UID(found, pydicom.config.IGNORE).name or "of no kind"
            raise InputError.at(path, f"is {kind}, not {wanted}.", "Is it the right file?")


def _read(path: Path, *, stop_before_pixels: bool, is_decoded: bool = True) -> Any:
    with needs("images", "DICOM"):
        import pydicom
    if not path.is_file():
        raise InputError.at(path, "is not there.")
    if not is_dicom(path):
        raise InputError.at(path, "is not a DICOM file.", "Export it as DICOM Part 10.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd shows in what is read
            data = pydicom.dcmread(path, stop_before_pixels=stop_before_pixels)
            _refuse_short(pydicom, data)
            if is_decoded:
                data.walk(lambda _, element: element.value)
            else:
                _ = [data.get(keyword) for keyword in IMAGE_KEYWORDS]
    except Exception as error:  # damage may break any part of the parser
        what = f"is damaged: {first_line(error)}."
        raise InputError.at(path, what, "Copy or export it anew.") from error
    return data


def _refuse_short(pydicom: Any, data: Any) -> None:
    """Refuse a file that ends within an element; the parser would take what is there for all."""
    for element in data.values():
        is_raw = isinstance(element, pydicom.dataelem.RawDataElement)
        has_length = is_raw and element.length != UNDEFINED_LENGTH
        if has_length and len(element.value or b"") < element.length:
            raise EOFError("the file ends before its content does")


def holds_dicom(path: Path, sop_classes: tuple[str, ...]) -> bool:
    """Whether a path holds a DICOM object of one of these kinds, judged by file headers."""
    files = [file for file in dicom_files(path) if is_dicom(file)]
    if not files:  # then nobody needs the package
        return False
    with needs("images", "DICOM"):
        import pydicom
    for file in files:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                meta = pydicom.filereader.read_file_meta_info(file)
        except Exception:  # damage may break any part of the parser; another file may do  # noqa: S112
            continue
        if str(meta.get("MediaStorageSOPClassUID", "")) in sop_classes:
            return True
    return False


def lacks_dicom(glimpse: Glimpse, sop_classes: tuple[str, ...], words: str) -> str:
    """Why a path holds no DICOM object of these kinds; empty: it does."""
    if glimpse.is_not("dicom", "folder"):
        return glimpse.is_not("dicom", "folder")
    if not any(is_dicom(file) for file in dicom_files(glimpse.path)):
        return "no DICOM file"
    return "" if holds_dicom(glimpse.path, sop_classes) else f"no {words}"
