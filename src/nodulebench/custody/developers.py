"""A developer's name -> how it is shown, and which names count as one developer: look-alikes do.

After Unicode's UTS 39, in small: invisible characters go, letters of other scripts that look like
Latin ones become those, and names are compared in capitals and in small letters. Names that mix
scripts are refused, so that only whole words can look alike; the table has their letters.
"""

import unicodedata
from collections.abc import Iterable

from nodulebench.core.errors import InputError
from nodulebench.core.text import shown

_INVISIBLE = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F), (0xFE00, 0xFE0F)),
    *((0x034F, 0x034F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""What shows nothing, beside categories Cc and Cf: of Unicode's Default_Ignorable_Code_Point."""
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
_LOOK_LIKE = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}
_SCRIPTS = frozenset(
    [
        "ARABIC",
        "ARMENIAN",
        "BENGALI",
        "CYRILLIC",
        "DEVANAGARI",
        "ETHIOPIC",
        "GEORGIAN",
        "GREEK",
        "GUJARATI",
        "GURMUKHI",
        "HEBREW",
        "KANNADA",
        "KHMER",
        "LAO",
        "LATIN",
        "MALAYALAM",
        "MYANMAR",
        "ORIYA",
        "SINHALA",
        "TAMIL",
        "TELUGU",
        "THAANA",
        "THAI",
        "TIBETAN",
    ]
)
"""Scripts in common use (UTS 31), each of which a name can be written in."""
_ASIAN = frozenset(
    ["BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA"]
)
"""Those that are written together, also with Latin letters."""


def same_developer(name: str) -> str:
    """A developer's name as it is shown and written down.

    Neither case nor spaces count, nor wide and composed forms of letters (NFKC), nor characters
    that nobody sees. What is no text counts as the log shows it.
    """
    text = unicodedata.normalize("NFKC", shown(name))
    spaces = {ord(one): " " for one in set(text) if one.isspace()}
    unseen = {ord(one): None for one in set(text) if _is_invisible(one)}
    plain = text.translate({**unseen, **spaces})
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def refuse_mixed(name: str) -> None:
    """Refuse a name that mixes scripts, or has letters that no language in common use has.

    Raises:
        InputError: if it does.
    """
    scripts = {_script(one) for one in same_developer(name) if one.isalpha()}
    if not (scripts <= {"LATIN", *_ASIAN} or (len(scripts) == 1 and scripts <= _SCRIPTS)):
        raise InputError.at(
            f"developer '{same_developer(name)}'",
            f"is written in letters of {' and '.join(sorted(scripts)).lower()}.",
            "Write it in one script: looks are counted by developer, and look-alikes are one.",
        )


class Names:
    """Developers by the names that were met, the first of each: look-alikes have that one too."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first: dict[str, str] = {}
        for name in names:
            self.first(name)

    def first(self, name: str) -> str:
        """The first name of the developer who is called so."""
        skeletons = skeletons_of(name)
        known = (self._first[one] for one in skeletons if one in self._first)
        found = next(known, same_developer(name))
        for one in skeletons:
            self._first.setdefault(one, found)
        return found


def look_alikes(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that are not the same and look so, each with the first that it looks like."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        skeletons = skeletons_of(name)
        like = next((first[one] for one in skeletons if one in first), name)
        if same_developer(like) != same_developer(name) and (like, name) not in found:
            found.append((like, name))
        for one in skeletons:
            first.setdefault(one, name)
    return found


def skeletons_of(name: str) -> tuple[str, str]:
    """What a name looks like in capitals and in small letters."""
    plain = same_developer(name)
    return _skeleton(plain.upper()), _skeleton(plain)


def _skeleton(text: str) -> str:
    like = text.translate(_LOOK_LIKE).casefold().translate(_LOOK_LIKE)
    return like.replace("rn", "m").replace("vv", "w").replace("i", "l")


def _script(letter: str) -> str:
    """The script of a letter, as the name of the letter begins."""
    return unicodedata.name(letter, "unknown").split(" ")[0]


def _is_invisible(one: str) -> bool:
    if unicodedata.category(one) in ("Cc", "Cf"):
        return True
    return any(low <= ord(one) <= high for low, high in _INVISIBLE)
