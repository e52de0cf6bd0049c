"""Elements of DICOM headers <-> the bytes of a file (PS3.10), without conversion."""

import re
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.io.dicom.header import IMPLEMENTATION_UID
from nodulebench.io.dicom.slices import EXPLICIT_LITTLE

if TYPE_CHECKING:
    from pydicom.dataelem import DataElement, RawDataElement
    from pydicom.dataset import Dataset


IMPLEMENTATION_NAME = "NODULEBENCH"
PIXEL_DATA = 0x7FE00010
LONG_KINDS = frozenset(
    {"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"}
)
"""Value representations whose length takes four bytes."""
KINDS = LONG_KINDS | frozenset(
    "AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split()  # noqa: SIM905
)


class HeaderElement(Protocol):
    """An element of a header: as it was read (``is_raw``), or as pydicom converted it."""

    @property
    def tag(self) -> int: ...
    @property
    def VR(self) -> str | None: ...  # noqa: N802 - as pydicom calls it
    @property
    def value(self) -> Any: ...
    @property
    def is_raw(self) -> bool: ...


def encoding_of(dataset: "Dataset") -> tuple[bool, bool]:
    """Whether the elements of a file are written as implicit VR, and little endian."""
    syntax = dataset.file_meta.TransferSyntaxUID
    return syntax.is_implicit_VR, syntax.is_little_endian


def encoded(element: HeaderElement, encoding: tuple[bool, bool]) -> bytes:
    from pydicom.filebase import DicomBytesIO
    from pydicom.filewriter import write_data_element

    if element.is_raw:
        value = element.value or b""
        return _head(element.tag, cast("str", element.VR), len(value), encoding) + value
    target = DicomBytesIO()
    target.is_implicit_VR, target.is_little_endian = encoding
    write_data_element(target, cast("DataElement", element))
    return target.getvalue()


def picture_of(content: bytes, kind: str, encoding: tuple[bool, bool]) -> list[bytes]:
    """The pixel element of a slice in a file, in pieces because it is large."""
    tail = bytes(len(content) % 2)
    return [_head(PIXEL_DATA, kind, len(content) + len(tail), encoding), content, tail]


def file_of(
    elements: dict[int, bytes], picture: list[bytes], sop_class: str, instance: str, syntax: str
) -> tuple[bytes, list[bytes]]:
    """A whole file in order: everything except the pixels, and the pixels."""
    if any(not 0x00080000 <= tag < PIXEL_DATA for tag in elements):
        raise ValueError("an element is at a position where none is allowed")
    body = b"".join([elements[tag] for tag in sorted(elements)])
    uids = {0x02: sop_class, 0x03: instance, 0x10: syntax, 0x12: IMPLEMENTATION_UID}
    meta = b"".join(
        [
            _meta_element(0x01, "OB", b"\0\1"),
            *(_meta_element(number, "UI", uid.encode("ascii")) for number, uid in uids.items()),
            _meta_element(0x13, "SH", IMPLEMENTATION_NAME.encode("ascii")),
        ]
    )
    length = _meta_element(0x00, "UL", struct.pack("<L", len(meta)))
    return b"".join([bytes(128), b"DICM", length, meta, body]), picture


def _meta_element(number: int, kind: str, value: bytes) -> bytes:
    """An element of group 0002: explicit, little endian, of even length (PS3.10 7.1)."""
    if len(value) % 2:
        value += b"\0" if kind == "UI" else b" "
    return _head(0x00020000 + number, kind, len(value), (False, True)) + value


def _head(tag: int, kind: str, length: int, encoding: tuple[bool, bool]) -> bytes:
    is_implicit, is_little = encoding
    order = "<" if is_little else ">"
    if is_implicit:
        return struct.pack(f"{order}HHL", tag >> 16, tag & 0xFFFF, length)
    form = f"{order}HH2sxxL" if kind in LONG_KINDS else f"{order}HH2sH"
    return struct.pack(form, tag >> 16, tag & 0xFFFF, kind.encode("ascii"), length)


Finding = TypeVar("Finding")

MOST_CONTEXTS = 12
MOST_ELEMENTS = 4096
"""Most elements of one context; beyond this number it is cleared."""
LARGEST_BYTES = 4096
"""Larger elements are inspected every time."""
UNDEFINED_LENGTH = 0xFFFFFFFF

CHARACTER_SET = 0x00080005
READ_BY = (CHARACTER_SET, 0x00080102, 0x00280103, 0x00283002)
"""Elements on which the reading of others depends."""


class Memory:
    """Results for the elements of the latest contexts; 0: nothing from slice to slice."""

    def __init__(self, contexts: int = MOST_CONTEXTS) -> None:
        self._most = contexts
        self._known: dict[Hashable, dict[Hashable, Any]] = {}

    def each(
        self,
        elements: Iterable[tuple[int, HeaderElement]],
        inspect: Callable[[int, HeaderElement], Finding],
        *context: Hashable,
    ) -> Iterator[tuple[int, Finding]]:
        """The tag of every element with the result for it.

        The context is everything except the element on which the finding depends.
        """
        known = self.about(*context)
        for tag, element in elements:
            key = key_of(tag, element)
            finding = known.get(key, known)  # ``known`` itself: no result yet
            if finding is known:
                finding = inspect(tag, element)
                if key is not None:
                    known[key] = finding
            yield tag, finding

    def about(self, *context: Hashable) -> dict[Hashable, Any]:
        """The results in a context, by element; what is added to them is remembered."""
        known = self._known.pop(context, {})
        if len(known) > MOST_ELEMENTS:
            known = {}
        self._known[context] = known
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known


def key_of(tag: int, element: HeaderElement) -> Hashable | None:
    """What distinguishes an element from all others; None: it is not remembered."""
    value = element.value
    if not element.is_raw:  # only the character set, which is always converted
        return (tag, element.VR, str(value)) if tag == CHARACTER_SET else None
    if cast("RawDataElement", element).length == UNDEFINED_LENGTH or tag >> 16 == 0x7FE0:
        return None
    return None if value and len(value) > LARGEST_BYTES else (tag, element.VR, value)


def elements_of(dataset: "Dataset") -> list[tuple[int, HeaderElement]]:
    """Tags and elements in order, as they were read; converting one does not change these."""
    return sorted(((int(tag), element) for tag, element in dataset.items()), key=_tag)


def reading_of(dataset: "Dataset") -> Hashable:
    """How the elements of a dataset are read: the encoding, and READ_BY."""
    read_by = []
    for tag in READ_BY:
        element = dataset.get_item(tag)
        value = None if element is None else element.value
        read_by.append((type(value).__name__, str(value)))
    return (dataset.original_encoding, tuple(read_by))


def _tag(pair: tuple[int, HeaderElement]) -> int:
    return pair[0]


class NotCleanableError(NoduleBenchError):
    """Raised for a slice of which it cannot be shown that it holds no identities."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.notice = Notice(code, values)

    @classmethod
    def from_notice(cls, notice: Notice) -> Self:
        return cls(notice.code, **notice.values)


def leftover(code: str, where: str, **values: object) -> Notice:
    """Something that could still identify, at a position in a header."""
    return Notice(code, {"where": where, **values})


HEAD_BYTES = 1 << 15
"""Longer headers are left to pydicom."""
_KINDS = {kind.encode("ascii"): kind for kind in KINDS}
_EXPLICIT = EXPLICIT_LITTLE.encode("ascii")
_PREAMBLE = 128
_FIRST, _SYNTAX, _FIRST_OF_BODY = 0x00020000, 0x00020010, 0x00030000


def read_dataset(path: Path) -> "Dataset":
    with needs("images", "DICOM"):
        import pydicom
    try:
        dataset = _plainly_written(path)
        return pydicom.dcmread(path) if dataset is None else dataset
    except (pydicom.errors.InvalidDicomError, EOFError) as error:
        raise NotCleanableError("not_dicom") from error


def _plainly_written(path: Path) -> "Dataset | None":
    """The dataset of a file in plain form (explicit, little endian); None: it has another form."""
    from pydicom.dataset import Dataset, FileMetaDataset

    with path.open("rb", buffering=0) as file:
        head = file.read(HEAD_BYTES)
        raw = _elements(head)
        picture, syntax = raw.pop(PIXEL_DATA, None), raw.get(_SYNTAX)
        if picture is None or syntax is None or syntax.value.rstrip(b"\0") != _EXPLICIT:
            return None
        file.seek(picture.value_tell)
        content = file.read()
    if not len(content) == picture.length > 0:
        return None
    meta = {tag: element for tag, element in raw.items() if tag < _FIRST_OF_BODY}
    body = {tag: element for tag, element in raw.items() if tag >= _FIRST_OF_BODY}
    body[picture.tag] = picture._replace(value=content)
    dataset = Dataset(body)
    dataset.preamble = head[:_PREAMBLE]
    dataset.file_meta = FileMetaDataset(meta)
    dataset.file_meta.set_original_encoding(False, True, _encodings(None))
    dataset.set_original_encoding(False, True, _encodings(body.get(CHARACTER_SET)))
    return dataset


def _elements(head: bytes) -> dict[Any, Any]:
    """Elements by their tags, the pixels last and without value; none: not in plain form."""
    from pydicom.dataelem import RawDataElement, empty_value_for_VR
    from pydicom.tag import BaseTag

    short, long = struct.Struct("<HH2sH").unpack_from, struct.Struct("<L").unpack_from
    elements: dict[Any, Any] = {}
    place, last, end = _PREAMBLE + 4, _FIRST - 1, len(head) - 12
    while head[_PREAMBLE : _PREAMBLE + 4] == b"DICM" and place <= end:
        group, number, letters, length = short(head, place)
        kind, tag, start = _KINDS.get(letters), BaseTag(group << 16 | number), place + 8
        if kind is None or tag <= last:
            break
        if kind in LONG_KINDS:
            (length,), start = long(head, start), place + 12
        place, last = start + length, tag
        if tag == PIXEL_DATA:
            elements[tag] = RawDataElement(tag, kind, length, None, start, False, True)
            return elements
        value: Any = head[start:place] if length else empty_value_for_VR(kind, raw=True)
        elements[tag] = RawDataElement(tag, kind, length, value, start, False, True)
    return {}


@lru_cache(maxsize=16)
def _encodings(element: Any | None) -> Any:
    from pydicom.charset import convert_encodings, default_encoding
    from pydicom.dataelem import convert_raw_data_element

    if element is None:
        return default_encoding
    return convert_encodings(convert_raw_data_element(element).value)


_BINARY = {"FD": "d", "FL": "f", "SL": "l", "SS": "h", "SV": "q", "UL": "L", "US": "H", "UV": "Q"}
_WRITTEN = frozenset({"DS", "IS"})
_DIGITS = re.compile(rb"[0-9eE+\-. \\\0]*")
_MOMENT = re.compile(rb"[0-9.]+ ?")
MOMENTS = frozenset({"DA", "DT", "TM"})
_UIDS = re.compile(rb"[0-9.]+(?:\\[0-9.]+)*\0?")


def plain_numbers(element: HeaderElement) -> list[str] | None:
    """The numbers in an element that is not converted yet; None: it must be converted."""
    if not element.is_raw:
        return None
    value = element.value or b""
    if element.VR in _WRITTEN:
        return str(value, "ascii").split("\\") if _DIGITS.fullmatch(value) else None
    form = _BINARY.get(element.VR or "")
    if form is None:
        return None
    order = "<" if getattr(element, "is_little_endian", True) else ">"
    size = struct.calcsize(f"{order}{form}")
    if len(value) % size:
        return None
    return [repr(number) for number in struct.unpack(f"{order}{len(value) // size}{form}", value)]


def plain_uids(element: HeaderElement) -> list[str]:
    """The UIDs in an element that is not converted yet; none: it must be converted."""
    if not element.is_raw or element.VR != "UI" or not _UIDS.fullmatch(element.value or b""):
        return []
    return str(element.value, "ascii").rstrip("\0").split("\\")


def plain_moment(element: HeaderElement) -> str:
    """The date or time in an element that is not converted yet; empty: it must be converted."""
    is_moment = element.is_raw and element.VR in MOMENTS
    if not is_moment or not _MOMENT.fullmatch(element.value or b""):
        return ""
    return str(element.value, "ascii").rstrip(" ")


def with_text(element: HeaderElement, text: str) -> HeaderElement:
    """The same element, not converted, with another ASCII text (PS3.5 6.2)."""
    value = text.encode("ascii")
    if len(value) % 2:
        value += b"\0" if element.VR == "UI" else b" "
    return cast("RawDataElement", element)._replace(value=value, length=len(value))


@lru_cache(maxsize=8192)
def keyword_of(tag: int) -> str:
    """The standard's keyword of an attribute; empty: not an attribute of the standard."""
    from pydicom.datadict import keyword_for_tag

    return keyword_for_tag(tag)
