"""Patients, days and descriptions of scans -> whether each is a first scan or a follow-up."""

import re
from collections.abc import Sequence

WORDS = {
    "follow_up": ("follow up", "follow-up", "followup", "f/u", "复查", "随访"),
    "first": ("baseline", "initial", "first scan", "初诊", "首诊", "基线"),
}
"""Kind -> words in the description of a study or series."""
TABLE = {"words": WORDS, "dates": "of several days of a patient the earliest is the first scan"}
"""All that decides, as curation writes it down."""


def scan_kinds(
    patients: Sequence[str | None], days: Sequence[str | None], descriptions: Sequence[str]
) -> list[str | None]:
    """For each scan "first", "follow_up" or None where nothing tells.

    What a description says counts; else, of a patient with scans of several days, the earliest day
    is the first. A patient with scans of one day alone may have been scanned before, elsewhere.

    Args:
        patients: who was scanned.
        days: when, as texts that sort by time.
        descriptions: of study and series, as headers have them.
    """
    known: dict[str, set[str]] = {}
    for patient, day in zip(patients, days, strict=True):
        if patient and day:
            known.setdefault(patient, set()).add(day)
    return [
        _said(description) or _by_day(day, known.get(patient or "", set()))
        for patient, day, description in zip(patients, days, descriptions, strict=True)
    ]


def _said(description: str) -> str | None:
    text = description.casefold()
    for kind, words in WORDS.items():
        if any(_has(text, word) for word in words):
            return kind
    return None


def _has(text: str, word: str) -> bool:
    """Whether a word is in a text; a Latin one stands alone, so that initials are not initial."""
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", text) is not None


def _by_day(day: str | None, days: set[str]) -> str | None:
    if not day or len(days) < 2:
        return None
    return "first" if day == min(days) else "follow_up"
