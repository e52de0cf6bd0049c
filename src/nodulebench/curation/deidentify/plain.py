"""An element as it was read -> its numbers, UIDs or moment where it plainly holds some.

Half of a header are numbers, and pydicom takes longer to convert elements than to read the file.
"""

import re
import struct
from functools import lru_cache
from typing import Any

_BINARY = {"FD": "d", "FL": "f", "SL": "l", "SS": "h", "SV": "q", "UL": "L", "US": "H", "UV": "Q"}
_WRITTEN = frozenset({"DS", "IS"})
_DIGITS = re.compile(rb"[0-9eE+\-. \\\0]*")
_MOMENT = re.compile(rb"[0-9.]+ ?")
MOMENTS = frozenset({"DA", "DT", "TM"})
_UIDS = re.compile(rb"[0-9.]+(?:\\[0-9.]+)*\0?")


def plain_numbers(element: Any) -> list[str] | None:
    """The numbers in an element that nothing has converted yet; None: it is to be converted.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    if not element.is_raw:
        return None
    value = element.value or b""
    if element.VR in _WRITTEN:
        return str(value, "ascii").split("\\") if _DIGITS.fullmatch(value) else None
    form = _BINARY.get(element.VR)
    if form is None:
        return None
    order = "<" if getattr(element, "is_little_endian", True) else ">"
    size = struct.calcsize(f"{order}{form}")
    if len(value) % size:
        return None
    return [repr(one) for one in struct.unpack(f"{order}{len(value) // size}{form}", value)]


def plain_uids(element: Any) -> list[str]:
    """The UIDs in an element that nothing has converted yet; none: it is to be converted.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    if not element.is_raw or element.VR != "UI" or not _UIDS.fullmatch(element.value or b""):
        return []
    return str(element.value, "ascii").rstrip("\0").split("\\")


def plain_moment(element: Any) -> str:
    """The date or time in an element that nothing has converted yet; empty: it is to be converted.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    is_moment = element.is_raw and element.VR in MOMENTS
    if not is_moment or not _MOMENT.fullmatch(element.value or b""):
        return ""
    return str(element.value, "ascii").rstrip(" ")


def with_text(element: Any, text: str) -> Any:
    """The same element, not converted, with another text that is ASCII (PS3.5 6.2)."""
    value = text.encode("ascii")
    if len(value) % 2:
        value += b"\0" if element.VR == "UI" else b" "
    return element._replace(value=value, length=len(value))


@lru_cache(maxsize=8192)
def keyword_of(tag: Any) -> str:
    """What the standard calls an attribute; empty: it is none of the standard's."""
    from pydicom.datadict import keyword_for_tag

    return keyword_for_tag(tag)
