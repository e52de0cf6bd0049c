"""Which profile and options of DICOM PS3.15 de-identification claims, and how it does each row."""

from collections import Counter
from dataclasses import dataclass

from nodulebench.curation.deidentify.keep import METHOD_CODES, NOT_CLAIMED
from nodulebench.curation.deidentify.profile import ACTIONS, EDITION, OPTIONS


@dataclass(frozen=True, slots=True)
class Claim:
    """A profile or option of the standard."""

    code: str
    """Of PS3.16 CID 7050; it stands in De-identification Method Code Sequence where claimed."""
    name: str
    is_claimed: bool
    rows: int
    """Attributes of table E.1-1 that are done as it says."""


def conformance() -> tuple[str, list[Claim]]:
    """The edition of the standard, and what is claimed of it."""
    rows = Counter(OPTIONS.values())
    rows[METHOD_CODES[0][0]] = len(ACTIONS) - len(OPTIONS)
    claims = [Claim(code, name, True, rows[code]) for code, name in METHOD_CODES]
    return EDITION, claims + [Claim(code, name, False, 0) for code, name in NOT_CLAIMED]
