"""A header that shall hold no identities -> every element of it that could still identify.

Written apart from what cleans: it says what may be there, and everything else is a leftover.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from nodulebench.deidentify import keep
from nodulebench.deidentify.actions import ACTIONS
from nodulebench.deidentify.identity import LONG_WORD, Identity, elements_within, texts_of, word_in
from nodulebench.deidentify.memory import Memory, elements_of, reading_of
from nodulebench.deidentify.plain import is_known_tag, is_plain_number, plain_uids

PSEUDONYM = re.compile(r"[A-Z0-9]{1,16}-[0-9A-F]{10}")
OWN_TEXTS = frozenset({keep.METHOD, *(meaning for _, meaning in keep.METHOD_CODES)})
"""What was written here says nothing of anybody, whatever the patient is called."""
_STANDARD_UID = re.compile(r"1\.2\.840\.10008(?:\.\d+)+")
_NEW_UID = re.compile(r"2\.25\.\d{1,39}")
_NAMES = frozenset({"PatientName", "PatientID"})
_METHOD = frozenset({"DeidentificationMethod", "PatientIdentityRemoved"})
_TEXT = frozenset({"AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})
_BYTES = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "UN"})
_PIXELS = frozenset({"PixelData", "FloatPixelData", "DoubleFloatPixelData"})
ALLOWED_META = frozenset({0x00020000, 0x00020001, 0x00020002, 0x00020003}) | frozenset(
    {0x00020010, 0x00020012, 0x00020013}
)
_Seen = tuple[tuple[str, ...], frozenset[str]]
"""What is wrong with an element, and the UIDs in it that are not the standard's own."""


def leftovers(
    dataset: Any, identity: Identity | None = None, memory: Memory | None = None
) -> list[str]:
    """What could still identify, one sentence each; none: the header is clean.

    Args:
        dataset: a header as it was read back, with its file meta information.
        identity: what identified the patient before; its words, UIDs and dates must be gone.
        memory: of slices before.
    """
    memory = memory or Memory(0)
    context = (identity.words, identity.dates) if identity else None
    uids = identity.uids if identity else frozenset()
    found: list[str] = []

    def look(tag: int, element: Any) -> _Seen:
        within = plain_uids(element) or uids_within(dataset, tag)
        own = frozenset(uid for uid in within if not is_standard_uid(uid))
        return tuple(_look(dataset, tag, "", identity)), own

    seen = memory.each(elements_of(dataset), look, "check", reading_of(dataset), context)
    for tag, (sentences, own) in seen:
        found += sentences
        if not own.isdisjoint(uids):
            found.append(f"{_place(tag)} holds a UID of the original")
    if str(dataset.get("PatientIdentityRemoved", "")) != "YES":
        found.append("PatientIdentityRemoved is not YES")
    meta = getattr(dataset, "file_meta", None)
    if meta is not None:
        found += _look_at_meta(meta, uids, memory)
    if bytes(getattr(dataset, "preamble", None) or b"").strip(b"\0"):
        found.append("the preamble of the file is not empty")
    return found


def words_in(content: bytes, identity: Identity) -> list[str]:
    """Identifying words that stand in the bytes of a header, wherever that is.

    Numbers alone are left to ``leftovers``: in UIDs they appear by chance.
    """
    lower = content.lower()
    for own in OWN_TEXTS:
        lower = lower.replace(own.lower().encode(), b"\0")
    found = []
    for word in sorted(identity.words):
        if not word.isascii():
            if any(needle in content for needle in _encoded(word)):
                found.append(f"the bytes of the header hold the word '{word}'")
            continue
        edge = b"" if len(word) >= LONG_WORD else rb"[^a-z0-9]"
        if not word.isdigit() and re.search(edge + re.escape(word.encode()) + edge, lower):
            found.append(f"the bytes of the header hold the word '{word}'")
    return found


def _encoded(word: str) -> set[bytes]:
    """A word of another script in the encodings that headers have, in small and capital letters."""
    found = set()
    for encoding in ("utf-8", "gb18030", "latin-1", "shift_jis", "euc_kr"):
        for form in (word, word.upper(), word.title()):
            with suppress(UnicodeEncodeError):
                found.add(form.encode(encoding))
    return found


def _look(dataset: Any, tag: int, path: str, identity: Identity | None) -> Iterator[str]:
    """What is wrong with an element, and with those of its items; UIDs of the original apart."""
    where, group = f"{path}{_place(tag)}", tag >> 16
    if group % 2:
        yield f"{where} is private"
        return
    if group & 0xFF00 in (0x5000, 0x6000):
        yield f"{where} is a curve or an overlay"
        return
    if tag not in ACTIONS and is_plain_number(dataset.get_item(tag)) and is_known_tag(tag):
        return
    uids = plain_uids(dataset.get_item(tag))
    if uids and is_known_tag(tag) and all(is_allowed_uid(uid) for uid in uids):
        return
    element = dataset[tag]
    named = f"{where} {element.keyword}".rstrip()
    if element.VR == "SQ":
        if element.value and tag in ACTIONS and ACTIONS[tag] != "X/Z/U*":
            yield f"{named} is a sequence that the profile removes"
        for number, item in enumerate(element.value, start=1):
            for inner in sorted(item.keys()):
                yield from _look(item, int(inner), f"{named} item {number} ", identity)
    else:
        wrong = _wrong_with(element, dataset) or _names_somebody(element, identity)
        if wrong:
            yield f"{named} {wrong}"


def _place(tag: int) -> str:
    return f"({tag >> 16:04X},{tag & 0xFFFF:04X})"


def _wrong_with(element: Any, dataset: Any) -> str:
    keyword, kind, texts = element.keyword, element.VR, texts_of(element)
    if kind in _BYTES:
        return "" if keyword in _PIXELS else "holds bytes of unknown meaning"
    if not keyword:
        return "is unknown to the standard"
    if kind == "UI":
        return "" if all(is_allowed_uid(text) for text in texts) else "is a UID of its maker"
    if keyword in _NAMES:
        return "" if all(PSEUDONYM.fullmatch(text) for text in texts) else "is no pseudonym"
    if keyword in keep.DESCRIPTORS:
        clean = all(keep.is_clean_description(text) for text in texts)
        return "" if clean else "holds words that are not known to be harmless"
    if keyword == "PatientAge" and any(
        int(text[:3]) > keep.OLDEST_YEARS for text in texts if text[3:] == "Y"
    ):
        return f"is above {keep.OLDEST_YEARS} years"
    if keyword in keep.KEPT_DATES | keep.CHARACTERISTICS | _METHOD:
        return ""
    if int(element.tag) in ACTIONS:
        is_dummy = texts == [keep.DUMMY] or (
            ACTIONS[int(element.tag)] == "D" and kind in ("DA", "DT", "TM")
        )
        return "" if is_dummy or not texts else "is removed or emptied by the profile"
    if kind in _TEXT and keyword not in keep.TECHNICAL_TEXT:
        is_code = keyword in keep.CODES and keep.is_standard(dataset)
        return "" if is_code or not texts else "is text that nobody has looked at"
    return ""


def _names_somebody(element: Any, identity: Identity | None) -> str:
    if identity is None:
        return ""
    texts = texts_of(element)
    if element.VR in ("DA", "DT"):
        is_same = any((element.keyword, text[:8]) in identity.dates for text in texts)
        return "holds the date of the original" if is_same else ""
    if element.VR in _TEXT or element.VR == "CS":
        word = "" if set(texts) <= OWN_TEXTS else word_in(" ".join(texts), identity.words)
        return f"holds the word '{word}'" if word else ""
    return ""


def uids_within(dataset: Any, tag: int) -> list[str]:
    """The UIDs in an element, with the items of a sequence."""
    found = [one for one in elements_within(dataset, tag) if one.VR == "UI"]
    return [text for one in found for text in texts_of(one)]


def is_allowed_uid(uid: str) -> bool:
    """Whether a UID is one of the standard, or made here."""
    return is_standard_uid(uid) or _NEW_UID.fullmatch(uid) is not None


def is_standard_uid(uid: str) -> bool:
    """Whether the standard itself gives a UID."""
    return _STANDARD_UID.fullmatch(uid) is not None


def _look_at_meta(meta: Any, uids: frozenset[str], memory: Memory) -> Iterator[str]:
    def look(tag: int, _: Any) -> list[str]:
        return texts_of(meta[tag])

    for tag, texts in memory.each(elements_of(meta), look, "file meta information"):
        if tag not in ALLOWED_META:
            yield f"file meta information holds {meta[tag].keyword or meta[tag].tag}"
        elif any(text in uids and not is_standard_uid(text) for text in texts):
            yield f"file meta information {meta[tag].keyword} is the UID of the original"
