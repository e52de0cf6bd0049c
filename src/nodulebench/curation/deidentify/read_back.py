"""Bytes of a header as written -> whether all of its elements are known to be clean.

Slices of a series repeat most elements. One whose every element was checked in an earlier slice of
the same patient, or is plainly a number or a UID made here, need not be converted once more.
"""

import re
import struct
from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from nodulebench.curation.deidentify import numbers
from nodulebench.curation.deidentify.check import ALLOWED_META, is_allowed_uid, uids_within
from nodulebench.curation.deidentify.codec import KINDS, LONG_KINDS
from nodulebench.curation.deidentify.identity import Identity
from nodulebench.curation.deidentify.keep import KEPT_DATES
from nodulebench.curation.deidentify.memory import LARGEST_BYTES, READ_BY, Memory
from nodulebench.curation.deidentify.plain import keyword_of, plain_numbers, plain_uids
from nodulebench.curation.deidentify.profile import ACTIONS
from nodulebench.curation.deidentify.pseudonyms import is_registered, plain_time

_IMPLICIT = "1.2.840.10008.1.2"
_OTHERWISE_WRITTEN = frozenset({"1.2.840.10008.1.2.2", "1.2.840.10008.1.2.1.99"})
"""Big end first, deflated."""
_DATES = frozenset({"DA", "DT", "TM"})
_DIGITS = re.compile(rb"[0-9.]* ?")
_REMOVED = 0x00120062
_LAST_META = 0x0002FFFF


class Element(NamedTuple):
    """An element as it stands in a header."""

    tag: int
    VR: str | None
    value: bytes
    is_raw: bool = True


def elements_in(header: bytes) -> list[Element] | None:
    """The elements of a header one after another; None: it is not written as those here are.

    Every byte has to be accounted for: an empty preamble, tags that rise, lengths that are told.
    """
    if len(header) < 144 or header[:132] != bytes(128) + b"DICM":
        return None
    try:
        end = 144 + struct.unpack_from("<L", header, 140)[0]
        meta = list(_elements(header, 132, end, is_implicit=False))
        syntax = next(str(one.value, "ascii").rstrip("\0") for one in meta if one.tag == 0x00020010)
        if syntax in _OTHERWISE_WRITTEN:
            return None
        body = _elements(header, end, len(header), is_implicit=syntax == _IMPLICIT)
        found = [*meta, *body]
    except (ValueError, StopIteration, struct.error):
        return None
    rises = all(one.tag < other.tag for one, other in pairwise(found))
    return found if rises and meta[-1].tag <= _LAST_META else None


def _elements(header: bytes, place: int, end: int, *, is_implicit: bool) -> Iterator[Element]:
    while place < end:
        if is_implicit:
            kind = None
            group, number, length = struct.unpack_from("<HHL", header, place)
            start = place + 8
        else:
            group, number, letters, length = struct.unpack_from("<HH2sH", header, place)
            kind, start = str(letters, "ascii"), place + 8
            if kind in LONG_KINDS:
                (length,) = struct.unpack_from("<L", header, start)
                start += 4
            elif kind not in KINDS:
                raise ValueError(kind)
        place = start + length
        if place > end:
            raise ValueError("an element is longer than the header")
        yield Element(group << 16 | number, kind, header[start:place])


def is_known_clean(elements: list[Element] | None, identity: Identity, memory: Memory) -> bool:
    """Whether nothing among the elements of a header can identify, as far as that is known.

    Args:
        elements: of a header that was read back.
        identity: what identified the patient before.
        memory: of headers that were checked.
    """
    if elements is None:
        return False
    known = memory.about(*_context(elements, identity))
    is_declared = False
    for element in elements:
        uids = known.get(element)
        if uids is None:
            uids = _plain(element, identity)
        if uids is None or not identity.uids.isdisjoint(uids):
            return False
        is_declared |= element.tag == _REMOVED and element.value == b"YES "
    return is_declared


def remember_clean(
    elements: list[Element] | None, dataset: Any, identity: Identity, memory: Memory
) -> None:
    """Keep in mind that the elements of a header were checked and nothing was found.

    Args:
        elements: of the header.
        dataset: the same, as pydicom read it.
        identity: what identified the patient before.
        memory: to keep it in.
    """
    if elements is None:
        return
    known = memory.about(*_context(elements, identity))
    for element in elements:
        if element not in known and len(element.value) <= LARGEST_BYTES:
            source = dataset.file_meta if element.tag <= _LAST_META else dataset
            uids = uids_within(source, element.tag)
            known[element] = frozenset(uid for uid in uids if not is_registered(uid))


def _plain(element: Element, identity: Identity) -> frozenset[str] | None:
    """The UIDs of an element that is plainly clean; None: it has to be looked at."""
    tag, group = element.tag, element.tag >> 16
    keyword = keyword_of(tag)
    if not keyword or group % 2 or (group < 8 and tag not in ALLOWED_META):
        return None
    values = plain_numbers(element) if tag not in ACTIONS else None
    if values is not None:
        return frozenset() if numbers.stays(keyword, values, identity.numbers) else None
    if element.VR in _DATES and _is_other_date(keyword, element, identity):
        return frozenset()
    uids = plain_uids(element)
    if uids and all(is_allowed_uid(uid) for uid in uids):
        return frozenset(uid for uid in uids if not is_registered(uid))
    return None


def _is_other_date(keyword: str, element: Element, identity: Identity) -> bool:
    """Whether a date or time is one that stays, and not the original one."""
    if keyword not in KEPT_DATES or not _DIGITS.fullmatch(element.value):
        return False
    text = str(element.value, "ascii").rstrip(" ")
    if element.VR == "DA":
        return len(text) in (0, 8) and text.isdigit() and (keyword, text) not in identity.dates
    if element.VR == "TM":
        return plain_time(text) == text
    is_form = text[:8].isdigit() and plain_time(text[8:]) == text[8:]
    return is_form and (keyword, text[:8]) not in identity.dates


def _context(elements: list[Element], identity: Identity) -> tuple[Hashable, ...]:
    read_by = tuple(element for element in elements if element.tag in READ_BY)
    syntax = tuple(element for element in elements if element.tag == 0x00020010)
    return ("clean", read_by, syntax, identity.words, identity.dates)
