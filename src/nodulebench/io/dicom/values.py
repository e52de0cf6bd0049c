"""A DICOM header and a keyword -> text or numbers; None or nothing where it says anything else."""

from collections.abc import MutableSequence
from functools import cache, lru_cache
from typing import Any

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
    is_finite = values is not None and all(abs(one) < 1e9 for one in values)  # NaN: false
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
