"""An element as it was read -> whether it is plainly a number or a UID, without converting it.

Half of a header are numbers, and pydicom takes longer to convert elements than to read the file.
"""

import re
from typing import Any

_BINARY = frozenset({"AT", "FD", "FL", "SL", "SS", "SV", "UL", "US", "UV"})
_WRITTEN = frozenset({"DS", "IS"})
_DIGITS = re.compile(rb"[0-9eE+\-. \\\0]*")
_UIDS = re.compile(rb"[0-9.]+(?:\\[0-9.]+)*\0?")


def is_plain_number(element: Any) -> bool:
    """Whether an element that nothing has converted yet holds numbers and nothing else.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    if not element.is_raw:
        return False
    if element.VR in _WRITTEN:
        return element.value is None or _DIGITS.fullmatch(element.value) is not None
    return element.VR in _BINARY


def plain_uids(element: Any) -> list[str]:
    """The UIDs in an element that nothing has converted yet; none: it is to be converted.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    if not element.is_raw or element.VR != "UI" or not _UIDS.fullmatch(element.value or b""):
        return []
    return str(element.value, "ascii").rstrip("\0").split("\\")


def with_uids(element: Any, uids: list[str]) -> Any:
    """The same element, not converted, with other UIDs."""
    value = "\\".join(uids).encode("ascii")
    value += bytes(len(value) % 2)
    return element._replace(value=value, length=len(value))


def is_known_tag(tag: Any) -> bool:
    """Whether an element is one of the standard."""
    from pydicom.datadict import dictionary_has_tag

    return bool(dictionary_has_tag(tag))
