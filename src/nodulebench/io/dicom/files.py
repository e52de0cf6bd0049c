"""DICOM files -> pydicom datasets, whole or with the reason why not."""

import warnings
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, first_line
from nodulebench.core.optional_packages import needs
from nodulebench.io.format import FileProbe

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
            wanted = " or ".join(pydicom.uid.UID(sop_class).name for sop_class in sop_classes)
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
            _require_length(pydicom, data)
            if is_decoded:
                data.walk(lambda _, element: element.value)
            else:
                _ = [data.get(keyword) for keyword in IMAGE_KEYWORDS]
    except Exception as error:  # damage may break any part of the parser
        what = f"is damaged: {first_line(error)}."
        raise InputError.at(path, what, "Copy or export it anew.") from error
    return data


def _require_length(pydicom: Any, data: Any) -> None:
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


def lacks_dicom(glimpse: FileProbe, sop_classes: tuple[str, ...], words: str) -> str:
    """Why a path holds no DICOM object of these kinds; empty: it does."""
    if glimpse.is_not("dicom", "folder"):
        return glimpse.is_not("dicom", "folder")
    if not any(is_dicom(file) for file in dicom_files(glimpse.path)):
        return "no DICOM file"
    return "" if holds_dicom(glimpse.path, sop_classes) else f"no {words}"


LONGEST_REMEMBERED = 256
"""Bytes; slices of a series share most of their short values, which are converted once."""


def value_of(data: Any, keyword: str) -> Any:
    """What the header says, converted as pydicom does; None: nothing."""
    raw = None if data is None else data.get_item(_tag(keyword))
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
def _tag(keyword: str) -> Any:
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


def text_of(data: Any, keyword: str) -> str:
    """A text without what fills it up; several values with backslashes, as in the file."""
    value = value_of(data, keyword)
    if value is None:
        return ""
    if isinstance(value, MutableSequence):  # not a person's name, which has signs to iterate
        value = "\\".join(str(one) for one in value)
    return str(value).strip(" \0")


def many_of(data: Any, keyword: str) -> list[Any]:
    """All values."""
    value = value_of(data, keyword)
    if value is None or value == "":
        return []
    return [value] if isinstance(value, str | int | float) else list(value)


def floats_of(data: Any, keyword: str) -> tuple[float, ...] | None:
    """All values as numbers, be they finite or not; None where one is none."""
    try:
        return tuple(float(one) for one in many_of(data, keyword))
    except (TypeError, ValueError, OverflowError):
        return None


def numbers_of(data: Any, keyword: str, count: int | None = None) -> tuple[float, ...] | None:
    """So many finite numbers, or as many as there are; None where it says anything else."""
    values = floats_of(data, keyword)
    is_finite = values is not None and all(abs(value) < 1e9 for value in values)  # NaN: false
    return values if values is not None and is_finite and count in (None, len(values)) else None


def number_of(data: Any, keyword: str) -> float | None:
    """A finite number."""
    found = numbers_of(data, keyword, 1)
    return None if found is None else found[0]


def items_of(data: Any, keyword: str) -> list[Any]:
    """The items of a sequence; none where it is anything else."""
    from pydicom.sequence import Sequence

    value = None if data is None else data.get(keyword)
    return list(value) if isinstance(value, Sequence) else []


def item_of(data: Any, keyword: str) -> Any:
    """The first item of a sequence; None where there is none."""
    return next(iter(items_of(data, keyword)), None)


def shared_item(own: Any, shared: Any, keyword: str) -> Any:
    """The first item of a frame's sequence; where it has none, that which all frames share."""
    held = item_of(own, keyword)
    return item_of(shared, keyword) if held is None else held


def whole_of(data: Any, keyword: str) -> int | None:
    """A number without what follows its point."""
    found = number_of(data, keyword)
    return None if found is None else int(found)


ROOM_BYTES = 1 << 30
"""What decoding a slice may need beside its own size; libraries that are loaded for it included."""

_STATE = Path("/proc/self/statm")


@contextmanager
def bounded_memory(needed: int) -> Iterator[None]:
    """Let this process grow by no more than ``needed`` bytes and some room; then MemoryError.

    Where the system cannot tell or limit it (other than Linux), nothing is bounded.
    """
    try:
        import resource

        pages = int(_STATE.read_text(encoding="ascii").split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        yield
        return
    limit = pages * resource.getpagesize() + needed + ROOM_BYTES
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
