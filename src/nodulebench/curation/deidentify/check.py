"""A header that must hold no identities -> every element of it that could still identify.

Independent of the cleaning code: it lists what is allowed, and everything else is a leftover,
reported as a notice.
"""

import re
import struct
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from nodulebench.core.notices import Notice
from nodulebench.curation.deidentify import profile
from nodulebench.curation.deidentify.allowed_values import (
    NUMBER_KINDS,
    is_allowed_number,
    is_clean_description,
    is_known_code,
    is_known_text,
    written,
)
from nodulebench.curation.deidentify.codec import (
    KINDS,
    LARGEST_BYTES,
    LONG_KINDS,
    READ_BY,
    HeaderElement,
    Memory,
    elements_of,
    keyword_of,
    leftover,
    plain_numbers,
    plain_uids,
    reading_of,
)
from nodulebench.curation.deidentify.identity import (
    LONG_WORD,
    Identity,
    elements_within,
    is_registered,
    plain_time,
    texts_of,
    word_in,
)
from nodulebench.curation.deidentify.profile import ACTIONS, CODE_PARTS, SHIFTED_DATES, meaning_of
from nodulebench.io.atomic import UNFINISHED

if TYPE_CHECKING:
    from pydicom.dataelem import DataElement
    from pydicom.dataset import Dataset


PSEUDONYM = re.compile(r"[A-Z0-9]{1,16}-[0-9A-F]{10}")
NEW_UID = re.compile(r"2\.25\.\d{30,39}")
"""A UID made of 128 bits; a shorter number may identify a person."""
_NAME = re.compile(rf"(?:{PSEUDONYM.pattern}|{NEW_UID.pattern}|(?i:im|slice)?\d{{1,5}})(?:\.dcm)?")
"""Name of a file or folder: a pseudonym, a UID made here, or a short number."""
_NAMES = frozenset({"PatientName", "PatientID"})
_METHOD = frozenset({"DeidentificationMethod", "PatientIdentityRemoved"})
_TEXT = frozenset({"AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})
_BYTES = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "UN"})
_FORMS = {"DA": re.compile(r"\d{8}"), "DT": re.compile(r"\d{8}(?:\d{2}){0,3}(?:\.\d{1,3})?")}
ALLOWED_META = frozenset({0x00020000, 0x00020001, 0x00020002, 0x00020003}) | frozenset(
    {0x00020010, 0x00020012, 0x00020013}
)
_Seen = tuple[tuple[Notice, ...], frozenset[str]]
"""What is wrong with an element, and the UIDs in it that the standard does not register."""


def leftovers(
    dataset: "Dataset", identity: Identity | None = None, memory: Memory | None = None
) -> list[Notice]:
    """Everything that could still identify, as notices; none: the header is clean.

    ``identity`` identified the patient before; its words, UIDs and dates must be gone.
    """
    memory = memory or Memory(0)
    context = (identity.words, identity.dates) if identity else None
    uids = identity.uids if identity else frozenset()
    notices: list[Notice] = []

    def inspect(tag: int, element: HeaderElement) -> _Seen:
        within = plain_uids(element) or uids_within(dataset, tag)
        own = frozenset(uid for uid in within if not is_registered(uid))
        return tuple(_inspect(dataset, tag, "", identity)), own

    seen = memory.each(elements_of(dataset), inspect, "check", reading_of(dataset), context)
    for tag, (element_notices, own) in seen:
        notices += element_notices
        if not own.isdisjoint(uids):
            notices.append(leftover("left_original_uid", _place(tag)))
    if str(dataset.get("PatientIdentityRemoved", "")) != "YES":
        notices.append(Notice("left_undeclared"))
    meta = getattr(dataset, "file_meta", None)
    if meta is not None:
        notices += _inspect_meta(meta, uids, memory)
    if bytes(getattr(dataset, "preamble", None) or b"").strip(b"\0"):
        notices.append(Notice("left_preamble"))
    return notices


def name_leftovers(parts: Sequence[str]) -> list[Notice]:
    """What the names of a file and of the folders above it could still reveal."""
    notices = []
    if any(UNFINISHED.fullmatch(part) for part in parts):
        notices.append(Notice("left_unfinished"))
    elif not all(_NAME.fullmatch(part) for part in parts):
        notices.append(Notice("left_name"))
    return notices


def words_in(content: bytes, identity: Identity) -> list[Notice]:
    """Identifying words anywhere in the bytes of a header.

    Words that are only numbers are left to ``leftovers``: in UIDs they occur by chance.
    """
    lower = content.lower()
    words = [word for word in identity.words if not word.isascii() or word.encode() in lower]
    if not words:
        return []
    for own in profile.OWN_TEXTS:
        lower = lower.replace(own.lower().encode(), b"\0")
    notices = []
    for word in sorted(words):
        if not word.isascii():
            if any(needle in content for needle in _encoded(word)):
                notices.append(Notice("left_word_in_bytes", {"word": word}))
            continue
        edge = b"" if len(word) >= LONG_WORD else rb"[^a-z0-9]"
        if not word.isdigit() and re.search(edge + re.escape(word.encode()) + edge, lower):
            notices.append(Notice("left_word_in_bytes", {"word": word}))
    return notices


def _encoded(word: str) -> set[bytes]:
    """A word of another script in the encodings of headers, in lower and upper case."""
    encodings = set()
    for encoding in ("utf-8", "gb18030", "latin-1", "shift_jis", "euc_kr"):
        for form in (word, word.upper(), word.title()):
            with suppress(UnicodeEncodeError):
                encodings.add(form.encode(encoding))
    return encodings


def _inspect(
    dataset: "Dataset", tag: int, path: str, identity: Identity | None
) -> Iterator[Notice]:
    """What is wrong with an element and those of its items, except UIDs of the original."""
    where, group = f"{path}{_place(tag)}", tag >> 16
    if group % 2:
        yield leftover("left_private", where)
        return
    if group & 0xFF00 in (0x5000, 0x6000):
        yield leftover("left_overlay", where)
        return
    keyword = keyword_of(tag)
    values = plain_numbers(dataset.get_item(tag)) if keyword and tag not in ACTIONS else None
    if values is not None and is_allowed_number(
        keyword, values, identity.numbers if identity else ()
    ):
        return
    uids = plain_uids(dataset.get_item(tag))
    if uids and keyword and all(is_allowed_uid(uid) for uid in uids):
        return
    element = dataset[tag]
    named = f"{where} {keyword}".rstrip()
    if element.VR == "SQ":
        if element.value and tag in ACTIONS and ACTIONS[tag] != "X/Z/U*":
            yield leftover("left_sequence", named)
        for number, item in enumerate(element.value, start=1):
            for inner in sorted(item.keys()):
                yield from _inspect(item, int(inner), f"{named} item {number} ", identity)
        return
    wrong = _wrong_with(element, dataset, identity, named)
    if wrong is not None:
        yield wrong
    elif identity is not None and (word := _identifying_word(element, identity)):
        yield leftover("left_word", named, word=word)
    elif identity is not None and _has_original_date(element, identity):
        yield leftover("left_original_date", named)


def _place(tag: int) -> str:
    return f"({tag >> 16:04X},{tag & 0xFFFF:04X})"


def _wrong_with(
    element: "DataElement", dataset: "Dataset", identity: Identity | None, where: str
) -> Notice | None:
    """Why an element is not allowed; None: it is allowed."""
    keyword, kind, texts = element.keyword, element.VR, texts_of(element)
    if kind in _BYTES:
        return None if keyword == "PixelData" else leftover("left_bytes", where)
    if not keyword:
        return leftover("left_unknown", where)
    if kind == "UI":
        return None if all(is_allowed_uid(text) for text in texts) else leftover("left_uid", where)
    if keyword in _NAMES:
        is_pseudonym = all(PSEUDONYM.fullmatch(text) for text in texts)
        return None if is_pseudonym else leftover("left_no_pseudonym", where)
    if keyword in profile.DESCRIPTORS:
        is_clean = all(is_clean_description(text) for text in texts)
        return None if is_clean else leftover("left_words", where)
    if keyword == "PatientAge":
        is_age = all(profile.capped_age(text) == text for text in texts)
        return None if is_age else leftover("left_age", where)
    if keyword in _METHOD:
        return None if set(texts) <= profile.OWN_TEXTS | {"YES"} else leftover("left_text", where)
    if keyword in profile.SHIFTED_DATES:
        is_date = len(texts) <= 1 and all(_is_date(kind, text) for text in texts)
        return None if is_date else leftover("left_date", where)
    if int(element.tag) in ACTIONS and keyword not in profile.CHARACTERISTICS:
        return None if _is_dummy(element, texts) else leftover("left_profile", where)
    if kind in NUMBER_KINDS:
        own = identity.numbers if identity else ()
        is_number = is_allowed_number(keyword, written(element.value), own)
        return None if is_number else leftover("left_number", where)
    return _wrong_text(keyword, kind, texts, dataset, where)


def _wrong_text(
    keyword: str, kind: str, texts: list[str], dataset: "Dataset", where: str
) -> Notice | None:
    if kind in ("DA", "DT", "TM"):
        return leftover("left_date", where) if texts else None
    if kind == "CS":
        is_known = all(is_known_code(keyword, text) for text in texts)
        return None if is_known else leftover("left_code", where)
    if keyword in CODE_PARTS:
        meaning = meaning_of(dataset)
        is_same = keyword != "CodeMeaning" or texts in ([meaning], [])
        return None if meaning and is_same else leftover("left_code", where)
    if kind in _TEXT:
        is_known = all(text == profile.DUMMY or is_known_text(keyword, text) for text in texts)
        return None if is_known else leftover("left_text", where)
    return None


def _is_dummy(element: "DataElement", texts: list[str]) -> bool:
    kind, value = element.VR, element.value
    if kind in _TEXT or kind in ("CS", "AS"):
        return not texts or texts == [profile.DUMMY]
    if ACTIONS[int(element.tag)] == "D" and kind in ("DA", "DT", "TM"):
        return len(texts) <= 1 and all(_is_date(kind, text) for text in texts)
    return value is None or value == ""


def _is_date(kind: str, text: str) -> bool:
    form = _FORMS.get(kind)
    return plain_time(text) == text if form is None else form.fullmatch(text) is not None


def _has_original_date(element: "DataElement", identity: Identity) -> bool:
    if element.VR not in ("DA", "DT"):
        return False
    return any((element.keyword, text[:8]) in identity.dates for text in texts_of(element))


def _identifying_word(element: "DataElement", identity: Identity) -> str:
    texts = texts_of(element)
    if element.VR not in _TEXT and element.VR != "CS":
        return ""
    if element.keyword in CODE_PARTS or set(texts) <= profile.OWN_TEXTS:
        return ""  # words of the standard
    return word_in(" ".join(texts), identity.words)


def uids_within(dataset: "Dataset", tag: int) -> list[str]:
    uid_elements = [element for element in elements_within(dataset, tag) if element.VR == "UI"]
    return [text for element in uid_elements for text in texts_of(element)]


def is_allowed_uid(uid: str) -> bool:
    """Whether a UID is registered by the standard, or made here."""
    return NEW_UID.fullmatch(uid) is not None or is_registered(uid)


def _inspect_meta(meta: "Dataset", uids: frozenset[str], memory: Memory) -> Iterator[Notice]:
    def inspect(tag: int, _: HeaderElement) -> list[str]:
        return texts_of(meta[tag])

    for tag, texts in memory.each(elements_of(meta), inspect, "file meta information"):
        named = str(meta[tag].keyword or meta[tag].tag)
        if tag not in ALLOWED_META:
            yield Notice("left_meta", {"name": named})
        elif any(text in uids and not is_registered(text) for text in texts):
            yield Notice("left_meta_uid", {"name": named})
        elif meta[tag].VR == "UI" and not all(is_allowed_uid(text) for text in texts):
            yield Notice("left_meta", {"name": named})


_IMPLICIT = "1.2.840.10008.1.2"
_OTHERWISE_WRITTEN = frozenset({"1.2.840.10008.1.2.2", "1.2.840.10008.1.2.1.99"})
"""Big endian, deflated."""
_DATES = frozenset({"DA", "DT", "TM"})
_DIGITS = re.compile(rb"[0-9.]* ?")
_REMOVED = 0x00120062
_LAST_META = 0x0002FFFF


class Element(NamedTuple):
    """An element of a header."""

    tag: int
    VR: str | None
    value: bytes
    is_raw: bool = True


def elements_in(header: bytes) -> list[Element] | None:
    """The elements of a header in order; None: it is not written in the form that is used here.

    Every byte must be accounted for: an empty preamble, rising tags, and explicit lengths.
    """
    if len(header) < 144 or header[:132] != bytes(128) + b"DICM":
        return None
    try:
        end = 144 + struct.unpack_from("<L", header, 140)[0]
        meta = list(_elements(header, 132, end, is_implicit=False))
        syntax = next(
            str(element.value, "ascii").rstrip("\0")
            for element in meta
            if element.tag == 0x00020010
        )
        if syntax in _OTHERWISE_WRITTEN:
            return None
        body = _elements(header, end, len(header), is_implicit=syntax == _IMPLICIT)
        elements = [*meta, *body]
    except (ValueError, StopIteration, struct.error):
        return None
    rises = all(element.tag < other.tag for element, other in pairwise(elements))
    return elements if rises and meta[-1].tag <= _LAST_META else None


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
    """Whether all elements of a header are known not to identify the patient."""
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
    elements: list[Element] | None, dataset: "Dataset", identity: Identity, memory: Memory
) -> None:
    """Remember that the elements of a header were checked without a finding."""
    if elements is None:
        return
    known = memory.about(*_context(elements, identity))
    for element in elements:
        if element not in known and len(element.value) <= LARGEST_BYTES:
            source = dataset.file_meta if element.tag <= _LAST_META else dataset
            uids = uids_within(source, element.tag)
            known[element] = frozenset(uid for uid in uids if not is_registered(uid))


def _plain(element: Element, identity: Identity) -> frozenset[str] | None:
    """The UIDs of an element that is plainly clean; None: it must be checked."""
    tag, group = element.tag, element.tag >> 16
    keyword = keyword_of(tag)
    if not keyword or group % 2 or (group < 8 and tag not in ALLOWED_META):
        return None
    values = plain_numbers(element) if tag not in ACTIONS else None
    if values is not None:
        return frozenset() if is_allowed_number(keyword, values, identity.numbers) else None
    if element.VR in _DATES and _is_other_date(keyword, element, identity):
        return frozenset()
    uids = plain_uids(element)
    if uids and all(is_allowed_uid(uid) for uid in uids):
        return frozenset(uid for uid in uids if not is_registered(uid))
    return None


def _is_other_date(keyword: str, element: Element, identity: Identity) -> bool:
    """Whether a date or time is allowed, and not the original one."""
    if keyword not in SHIFTED_DATES or not _DIGITS.fullmatch(element.value):
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
