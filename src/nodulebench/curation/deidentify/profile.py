"""The confidentiality profile of DICOM PS3.15 in ``profile.toml``: attribute -> its action.

Also the terms of the standard that stay, and how old a patient may be.
"""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

_PROFILE = tomllib.loads(files(__package__).joinpath("profile.toml").read_text("utf-8"))
EDITION: str = _PROFILE["edition"]
ACTIONS: dict[int, str] = {
    int(tag, 16): action for action, tags in _PROFILE["actions"].items() for tag in tags.split()
}
OPTIONS: dict[int, str] = {
    int(tag, 16): option for option, tags in _PROFILE["options"].items() for tag in tags.split()
}
"""Attributes that an option treats differently from the basic profile -> its code."""
_KEYWORDS = {name: frozenset(words.split()) for name, words in _PROFILE["keywords"].items()}
DESCRIPTORS = _KEYWORDS["descriptors"]
"""Clean Descriptors Option: of these, known words stay and everything else goes."""
CHARACTERISTICS = _KEYWORDS["characteristics"]
"""Retain Patient Characteristics Option."""
SHIFTED_DATES = _KEYWORDS["shifted_dates"]
"""Retain Longitudinal Temporal Information with Modified Dates Option: dates of these are shifted,
times of day stay."""

REQUIRED_TEXT = {
    name: frozenset({"1.2.840.10008.5.1.4.1.1.2.1"})
    for name in ("DeviceSerialNumber", "Manufacturer", "ManufacturerModelName", "SoftwareVersions")
}
"""Attributes that a class of objects must have: they get a dummy if they must be removed."""
DUMMY = "REMOVED"

METHOD = "DICOM PS3.15 basic profile, options 113105 113107 113108"
METHOD_CODES: tuple[tuple[str, str], ...] = tuple(_PROFILE["claimed"].items())
"""The applied profile and options, as coded by DICOM PS3.16 CID 7050."""
NOT_CLAIMED: tuple[tuple[str, str], ...] = tuple(_PROFILE["not_claimed"].items())
OWN_TEXTS = frozenset({METHOD, DUMMY, *(meaning for _, meaning in METHOD_CODES)})
"""Texts that are written here identify no one, even if they contain a name of the patient."""

OLDEST_YEARS = 90
"""Higher ages are replaced by this one, since they are rare enough to identify."""


def capped_age(text: str) -> str:
    """A DICOM age, at most 90 years; empty where it is not valid."""
    if not re.fullmatch(r"\d{3}[DWMY]", text):
        return ""
    is_old = text.endswith("Y") and int(text[:3]) > OLDEST_YEARS
    return f"{OLDEST_YEARS:03d}Y" if is_old else text


CODE_PARTS = frozenset({"CodeValue", "CodingSchemeDesignator", "CodeMeaning"})
"""The parts of a coded term that stay; its meaning is replaced by the standard's."""
LONGEST_MEANING = 64
"""Characters that a meaning may have (VR LO)."""


@cache
def _meanings(scheme: str) -> dict[str, str]:
    """Codes of a scheme -> their shortest meanings in pydicom's dictionary of PS3.16."""
    from pydicom.sr._concepts_dict import concepts

    meanings: dict[str, str] = {}
    held: Any = concepts
    for codes in held.get(scheme, {}).values():
        for code, (meaning, _) in codes.items():
            known = meanings.get(str(code))
            if known is None or len(meaning) < len(known):
                meanings[str(code)] = str(meaning)
    return meanings


@cache
def _successor(code: str) -> str:
    """The SNOMED CT code of an older SNOMED code; empty: none."""
    from pydicom.sr._snomed_dict import mapping

    return str(mapping["SRT"].get(code, ""))


def meaning_of(item: "Dataset") -> str:
    """The standard's meaning of a coded term; empty: not a term of the standard."""
    scheme, code = (
        str(item.get(name, "") or "") for name in ("CodingSchemeDesignator", "CodeValue")
    )
    if scheme in ("SRT", "SNM3", "99SDM"):
        scheme, code = "SCT", _successor(code)
    meaning = _meanings(scheme).get(code, "") if scheme in SCHEMES else ""
    return meaning[:LONGEST_MEANING]


SCHEMES = frozenset({"DCM", "LN", "RADLEX", "SCT", "UCUM"})
"""Public schemes; private codes of a hospital are removed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A profile or option of the standard."""

    code: str
    """Code of PS3.16 CID 7050; if claimed, it is in De-identification Method Code Sequence."""
    name: str
    is_claimed: bool
    rows: int
    """Number of attributes of table E.1-1 that are treated by it."""


def conformance() -> tuple[str, list[Claim]]:
    """The edition of the standard, and the claimed profile and options."""
    rows = Counter(OPTIONS.values())
    rows[METHOD_CODES[0][0]] = len(ACTIONS) - len(OPTIONS)
    claims = [Claim(code, name, True, rows[code]) for code, name in METHOD_CODES]
    return EDITION, claims + [Claim(code, name, False, 0) for code, name in NOT_CLAIMED]
