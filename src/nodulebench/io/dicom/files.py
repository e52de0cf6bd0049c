"""Read DICOM files as pydicom datasets, with a reason where that fails."""

import warnings
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nodulebench.core.errors import InputError, first_line
from nodulebench.core.optional_packages import needs
from nodulebench.io.format import FileProbe

if TYPE_CHECKING:
    from pydicom import Dataset, FileDataset
    from pydicom.dataelem import RawDataElement
    from pydicom.tag import BaseTag

PREAMBLE_BYTES = 128
UNDEFINED_LENGTH = 0xFFFFFFFF
_PLACED_AND_NAMED_BY = """
    SOPClassUID SOPInstanceUID SeriesInstanceUID StudyInstanceUID FrameOfReferenceUID
    ImagePositionPatient ImageOrientationPatient PixelSpacing Rows Columns SliceThickness
    SpacingBetweenSlices PatientID
"""
IMAGE_KEYWORDS = tuple(_PLACED_AND_NAMED_BY.split())


def is_dicom(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(PREAMBLE_BYTES + 4)[PREAMBLE_BYTES:] == b"DICM"
    except OSError:
        return False


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def dicom_files(path: Path) -> list[Path]:
    return [file for file in files_of(path) if is_dicom(file)] if path.is_dir() else [path]


def read_image_header(path: Path) -> "Dataset":
    """An image's header; only position and identity are decoded at once."""
    return _read(path, stop_before_pixels=True, is_decoded=False)


def read_header(path: Path) -> "Dataset":
    """A DICOM file without its pixels, every element decoded."""
    return _read(path, stop_before_pixels=True)


def read_object(path: Path) -> "Dataset":
    return _read(path, stop_before_pixels=False)


def require_pydicom() -> None:
    """Fail early, not at the first file, if DICOM cannot be read."""
    with needs("images", "DICOM"):
        import pydicom  # noqa: F401


def objects_of(path: Path, *sop_classes: str) -> Iterator[tuple[Path, "Dataset"]]:
    """Yield path and header of the objects of some kinds; a single file must be of one of them."""
    with needs("images", "DICOM"):
        import pydicom
    for file in dicom_files(path):
        header = read_image_header(file)
        uid = str(header.get("SOPClassUID", ""))
        if uid in sop_classes:
            yield file, read_header(file)
        elif not path.is_dir():
            wanted = " or ".join(pydicom.uid.UID(sop_class).name for sop_class in sop_classes)
            # the file's SOP class may not be a UID at all
            kind = pydicom.uid.UID(uid, pydicom.config.IGNORE).name or "of no kind"
            raise InputError.at(path, f"is {kind}, not {wanted}.", "Is it the right file?")


def _read(path: Path, *, stop_before_pixels: bool, is_decoded: bool = True) -> "FileDataset":
    with needs("images", "DICOM"):
        import pydicom
    if not path.is_file():
        raise InputError.at(path, "does not exist.")
    if not is_dicom(path):
        raise InputError.at(path, "is not a DICOM file.", "Export it as DICOM Part 10.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # later checks report what matters
            data = pydicom.dcmread(path, stop_before_pixels=stop_before_pixels)
            _require_length(data)
            if is_decoded:
                data.walk(lambda _, element: element.value)
            else:
                _ = [data.get(keyword) for keyword in IMAGE_KEYWORDS]
    except Exception as error:  # damage may break any part of the parser
        what = f"is damaged: {first_line(error)}."
        raise InputError.at(path, what, "Copy or export it again.") from error
    return data


def _require_length(data: "Dataset") -> None:
    """Reject a file that ends within an element, which the parser would accept as complete."""
    from pydicom.dataelem import RawDataElement

    for element in data.values():
        if not isinstance(element, RawDataElement) or element.length == UNDEFINED_LENGTH:
            continue
        if len(element.value or b"") < element.length:
            raise EOFError("the file ends before its content does")


def holds_dicom(path: Path, sop_classes: tuple[str, ...]) -> bool:
    files = [file for file in dicom_files(path) if is_dicom(file)]
    if not files:  # then the package is not needed
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


def lacks_dicom(probe: FileProbe, sop_classes: tuple[str, ...], words: str) -> str:
    """Why a path holds no DICOM object of these kinds; empty if it does."""
    if probe.is_not("dicom", "folder"):
        return probe.is_not("dicom", "folder")
    if not any(is_dicom(file) for file in dicom_files(probe.path)):
        return "no DICOM file"
    return "" if holds_dicom(probe.path, sop_classes) else f"no {words}"


LONGEST_REMEMBERED = 256
"""Bytes; slices of a series share most of their short values, which are converted once."""


def value_of(data: "Dataset | None", keyword: str) -> Any:
    """The value of a header element, converted as pydicom does; None if it is missing."""
    if data is None:
        return None
    raw = cast("RawDataElement | None", data.get_item(_tag(keyword)))
    if raw is None:
        return None
    is_short = getattr(raw, "is_raw", False) and 0 < raw.length <= LONGEST_REMEMBERED
    if not is_short or not isinstance(raw.value, bytes):
        return data.get(keyword)
    encoding = data.original_character_set
    encodings = (encoding,) if isinstance(encoding, str) else tuple(encoding)
    way = raw.is_implicit_VR, raw.is_little_endian
    return _converted(int(raw.tag), raw.VR, raw.length, raw.value, way, encodings)


@cache
def _tag(keyword: str) -> "BaseTag":
    from pydicom.tag import Tag

    return Tag(keyword)


@lru_cache(maxsize=4096)
def _converted(
    tag: int,
    kind: str | None,
    length: int,
    value: bytes,
    way: tuple[bool, bool],
    encodings: tuple[str, ...],
) -> Any:
    from pydicom.dataelem import RawDataElement, convert_raw_data_element
    from pydicom.tag import Tag

    raw = RawDataElement(Tag(tag), kind, length, value, 0, *way)
    return convert_raw_data_element(raw, encoding=list(encodings)).value


def text_of(data: "Dataset | None", keyword: str) -> str:
    """A text without padding; several values are joined by backslashes, as in the file."""
    value = value_of(data, keyword)
    if value is None:
        return ""
    if isinstance(value, MutableSequence):  # not a person's name, which can be iterated, too
        value = "\\".join(str(part) for part in value)
    return str(value).strip(" \0")


def many_of(data: "Dataset | None", keyword: str) -> list[Any]:
    value = value_of(data, keyword)
    if value is None or value == "":
        return []
    return [value] if isinstance(value, str | int | float) else list(value)


def floats_of(data: "Dataset | None", keyword: str) -> tuple[float, ...] | None:
    """All values as numbers, finite or not; None if one is not a number."""
    try:
        return tuple(float(entry) for entry in many_of(data, keyword))
    except (TypeError, ValueError, OverflowError):
        return None


def numbers_of(
    data: "Dataset | None", keyword: str, count: int | None = None
) -> tuple[float, ...] | None:
    """``count`` finite numbers, or all if ``count`` is None; None if they are anything else."""
    values = floats_of(data, keyword)
    is_finite = values is not None and all(abs(value) < 1e9 for value in values)  # NaN: false
    return values if values is not None and is_finite and count in (None, len(values)) else None


def number_of(data: "Dataset | None", keyword: str) -> float | None:
    numbers = numbers_of(data, keyword, 1)
    return None if numbers is None else numbers[0]


def items_of(data: "Dataset | None", keyword: str) -> list["Dataset"]:
    from pydicom.sequence import Sequence

    value = None if data is None else data.get(keyword)
    return list(value) if isinstance(value, Sequence) else []


def item_of(data: "Dataset | None", keyword: str) -> "Dataset | None":
    return next(iter(items_of(data, keyword)), None)


def shared_item(own: "Dataset | None", shared: "Dataset | None", keyword: str) -> "Dataset | None":
    """The first item of a frame's sequence, else the one that all frames share."""
    held = item_of(own, keyword)
    return item_of(shared, keyword) if held is None else held


def whole_of(data: "Dataset | None", keyword: str) -> int | None:
    number = number_of(data, keyword)
    return None if number is None else int(number)


HEADROOM_BYTES = 1 << 30
"""Memory for decoding in addition to the slice itself, including libraries that it loads."""

_STATE = Path("/proc/self/statm")


@contextmanager
def bounded_memory(needed: int) -> Iterator[None]:
    """Let this process grow by ``needed`` bytes and some headroom; beyond it is MemoryError.

    On systems that cannot measure or limit it (other than Linux), memory is not limited.
    """
    try:
        import resource

        pages = int(_STATE.read_text(encoding="ascii").split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        yield
        return
    limit = pages * resource.getpagesize() + needed + HEADROOM_BYTES
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
