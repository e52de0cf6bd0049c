"""A coded term -> what the standard itself calls it: only terms that DICOM names stay."""

from functools import cache
from typing import Any

CODE_PARTS = frozenset({"CodeValue", "CodingSchemeDesignator", "CodeMeaning"})
"""What stays of a coded term; its meaning is written anew."""
LONGEST_MEANING = 64
"""Characters that a meaning may have (VR LO)."""


@cache
def _meanings(scheme: str) -> dict[str, str]:
    """Codes of a scheme -> their shortest meanings in pydicom's dictionary of PS3.16."""
    from pydicom.sr._concepts_dict import concepts

    found: dict[str, str] = {}
    held: Any = concepts
    for codes in held.get(scheme, {}).values():
        for code, (meaning, _) in codes.items():
            known = found.get(str(code))
            if known is None or len(meaning) < len(known):
                found[str(code)] = str(meaning)
    return found


@cache
def _successor(code: str) -> str:
    """The SNOMED CT code of an older SNOMED code; empty: none."""
    from pydicom.sr._snomed_dict import mapping

    return str(mapping["SRT"].get(code, ""))


def meaning_of(item: Any) -> str:
    """What the standard calls a coded term; empty: it is none of the standard's.

    Args:
        item: of a code sequence.
    """
    scheme, code = (
        str(item.get(name, "") or "") for name in ("CodingSchemeDesignator", "CodeValue")
    )
    if scheme in ("SRT", "SNM3", "99SDM"):
        scheme, code = "SCT", _successor(code)
    meaning = _meanings(scheme).get(code, "") if scheme in SCHEMES else ""
    return meaning[:LONGEST_MEANING]


SCHEMES = frozenset({"DCM", "LN", "RADLEX", "SCT", "UCUM"})
"""Public schemes; a hospital's own codes go."""
