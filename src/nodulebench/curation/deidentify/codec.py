"""Elements without identities -> the bytes of a DICOM file (PS3.10)."""

import struct
from typing import Any

from nodulebench.io.dicom.header import IMPLEMENTATION_UID

IMPLEMENTATION_NAME = "NODULEBENCH"
PIXEL_DATA = 0x7FE00010
LONG_KINDS = frozenset(
    {"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"}
)
"""Kinds of element whose length takes four bytes."""
KINDS = LONG_KINDS | frozenset(
    "AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split()  # noqa: SIM905
)


def encoding_of(dataset: Any) -> tuple[bool, bool]:
    """Whether the elements of a file are written without their kinds, and little end first.

    Raises:
        ValueError: if the file names no transfer syntax.
    """
    syntax = dataset.file_meta.TransferSyntaxUID
    return syntax.is_implicit_VR, syntax.is_little_endian


def encoded(element: Any, encoding: tuple[bool, bool]) -> bytes:
    """An element as it stands in a file.

    Args:
        element: converted, or as it was read in the same encoding.
        encoding: as ``encoding_of`` gives it. What stays of texts is ASCII.
    """
    from pydicom.filebase import DicomBytesIO
    from pydicom.filewriter import write_data_element

    if element.is_raw:
        value = element.value or b""
        return _head(element.tag, element.VR, len(value), encoding) + value
    target = DicomBytesIO()
    target.is_implicit_VR, target.is_little_endian = encoding
    write_data_element(target, element)
    return target.getvalue()


def picture_of(content: bytes, kind: str, encoding: tuple[bool, bool]) -> list[bytes]:
    """The pixels of a slice as they stand in a file, in pieces: they are large.

    Args:
        content: all that Pixel Data holds, uncompressed.
        kind: its value representation, OB or OW.
        encoding: as ``encoding_of`` gives it.
    """
    tail = bytes(len(content) % 2)
    return [_head(PIXEL_DATA, kind, len(content) + len(tail), encoding), content, tail]


def file_of(
    elements: dict[int, bytes], picture: list[bytes], sop_class: str, instance: str, syntax: str
) -> tuple[bytes, list[bytes]]:
    """A whole file, in its order: all that is not its picture, and the picture.

    Args:
        elements: each as it stands in a file, by its tag.
        picture: pieces of the element with the pixels, which is the last.
        sop_class: UID of the class of the object.
        instance: UID of the object.
        syntax: UID of the transfer syntax that the elements are written in.

    Raises:
        ValueError: if an element is none that may stand before the picture of a file.
    """
    if any(not 0x00080000 <= tag < PIXEL_DATA for tag in elements):
        raise ValueError("an element stands where none may be")
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
    """An element of group 0002: explicit, little end first, of even length (PS3.10 7.1)."""
    if len(value) % 2:
        value += b"\0" if kind == "UI" else b" "
    return _head(0x00020000 + number, kind, len(value), (False, True)) + value


def _head(tag: int, kind: str, length: int, encoding: tuple[bool, bool]) -> bytes:
    """What stands before the value of an element (PS3.5 7.1)."""
    is_implicit, is_little = encoding
    order = "<" if is_little else ">"
    if is_implicit:
        return struct.pack(f"{order}HHL", tag >> 16, tag & 0xFFFF, length)
    form = f"{order}HH2sxxL" if kind in LONG_KINDS else f"{order}HH2sH"
    return struct.pack(form, tag >> 16, tag & 0xFFFF, kind.encode("ascii"), length)
