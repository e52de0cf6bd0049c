"""Names of developers: which ones count as one developer, because they look alike."""

import unicodedata
from collections.abc import Iterable

from nodulebench.core.errors import InputError
from nodulebench.core.text import shown

_INVISIBLE = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F), (0xFE00, 0xFE0F)),
    *((0x034F, 0x034F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Invisible characters outside categories Cc and Cf (Unicode's Default_Ignorable_Code_Point)."""


_PAIRS = (
    # Cyrillic, capitals and small letters
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ҮY ҺH ԌG ԚQ ԜW ѴV ӀI ԀD "
    "аa вb еe гr ѕs іi јj кk мm нh оo рp сc тt уy хx үy һh ԁd ԍg ԛq ԝw ѵv ӏl "
    # Greek
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϺM "
    "αa βb γy εe ηn ιi κk μu νv οo ρp σo τt υu χx ϳj ωw "
    # Armenian
    "ՏS ՍU ՕO ԼL օo ոn սu ցg հh յj քp զq "
    # Latin in another shape, and signs
    "ıi ɩi ɪi ɑa ɡg ɢg ʀr ʙb ʜh ʟl ɴn ʏy ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ꜱs ꜰf ǀl |l "
    # digits and letters
    "0o 1l"
)


_SIMILAR = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


_COMMON = (
    "ARABIC ARMENIAN BENGALI CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI "
    "HEBREW KANNADA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAANA THAI "
    "TIBETAN"
)
_SCRIPTS = frozenset(_COMMON.split())
"""Scripts in common use (UTS 31), each of which a name can be written in."""


_ASIAN = frozenset(
    ["BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA"]
)
"""Scripts that are written together, also with Latin letters."""


def same_developer(name: str) -> str:
    """Return the normal form of a developer's name; equal forms are the same developer.

    Case, spaces, wide and composed forms of letters (NFKC) and invisible characters are ignored.
    Bytes that are not valid text are taken as the log shows them.
    """
    text = unicodedata.normalize("NFKC", shown(name))
    spaces = {ord(character): " " for character in set(text) if character.isspace()}
    unseen = {ord(character): None for character in set(text) if _is_invisible(character)}
    plain = text.translate({**unseen, **spaces})
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def require_one_developer(name: str) -> None:
    """Require a name in one script in common use."""
    scripts = {
        unicodedata.name(character, "unknown").split(" ")[0]
        for character in same_developer(name)
        if character.isalpha()
    }
    if not (scripts <= {"LATIN", *_ASIAN} or (len(scripts) == 1 and scripts <= _SCRIPTS)):
        raise InputError.at(
            f"developer '{same_developer(name)}'",
            f"is written in letters of {' and '.join(sorted(scripts)).lower()}.",
            "Write it in one script: evaluations are counted per developer, and names that look "
            "alike count as one developer.",
        )


class Names:
    """Map each developer's names to the first one used; similar names map to it too."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first: dict[str, str] = {}
        for name in names:
            self.first(name)

    def first(self, name: str) -> str:
        skeletons = skeletons_of(name)
        known = (self._first[skeleton] for skeleton in skeletons if skeleton in self._first)
        first = next(known, same_developer(name))
        for skeleton in skeletons:
            self._first.setdefault(skeleton, first)
        return first


def similar_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of different names that look alike, each with the first similar name."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        skeletons = skeletons_of(name)
        like = next((first[skeleton] for skeleton in skeletons if skeleton in first), name)
        if same_developer(like) != same_developer(name) and (like, name) not in pairs:
            pairs.append((like, name))
        for skeleton in skeletons:
            first.setdefault(skeleton, name)
    return pairs


def skeletons_of(name: str) -> tuple[str, str]:
    plain = same_developer(name)
    return _skeleton(plain.upper()), _skeleton(plain)


def _skeleton(text: str) -> str:
    like = text.translate(_SIMILAR).casefold().translate(_SIMILAR)
    return like.replace("rn", "m").replace("vv", "w").replace("i", "l")


def _is_invisible(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cf"):
        return True
    return any(low <= ord(character) <= high for low, high in _INVISIBLE)
