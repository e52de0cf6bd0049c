"""Key + what identifies -> what stands in its place: the same for the same, and nothing else.

Everything follows from the key by HMAC-SHA-256, so that files can be worked on in any order, by
several processes, today and next year, and one patient's scans still belong together.
"""

import hmac
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from nodulebench.io.dicom.header import uid_of_digest

MOST_DAYS = 3650
"""Dates go back by 1 to this many days, the same for everything of one patient."""
_DATE = re.compile(r"\d{8}")
_DATE_TIME = re.compile(r"(\d{8})(\d{2}(?:\d{2}(?:\d{2}(?:\.\d{1,6})?)?)?)?([+-]\d{4})?")
_TIME = re.compile(r"((?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,3})?)?)?)\d{0,3}")
"""To the millisecond; a fraction of six digits can hold a number."""


def is_registered(uid: str) -> bool:
    """Whether the standard itself gives a UID (PS3.6 annex A): classes, transfer syntaxes."""
    from pydicom._uid_dict import UID_dictionary

    return uid in UID_dictionary


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """What stands in the place of identities, under one key."""

    key: bytes = field(repr=False)
    prefix: str = "P"

    def uid(self, original: str) -> str:
        """The UID that stands for another; those that the standard has registered stay."""
        if not original or is_registered(original):
            return original
        return _uid_of(self.key, original)

    def patient(self, identity: str) -> str:
        """The name and number that stand for a patient."""
        return f"{self.prefix}-{self._digest('patient', identity)[:5].hex().upper()}"

    def days(self, identity: str) -> int:
        """How many days the dates of a patient go back."""
        return int.from_bytes(self._digest("days", identity)[:8], "big") % MOST_DAYS + 1

    def _digest(self, purpose: str, words: str) -> bytes:
        return _digest(self.key, purpose, words)


def _digest(key: bytes, purpose: str, words: str) -> bytes:
    return hmac.digest(key, f"{purpose}\n{words}".encode(), "sha256")


@lru_cache(maxsize=64)  # a slice and those after it name the same ones several times
def _uid_of(key: bytes, original: str) -> str:
    return uid_of_digest(_digest(key, "uid", original))


@lru_cache(maxsize=64)
def shifted_date(text: str, days: int) -> str:
    """A DICOM date so many days earlier; empty where it is none."""
    if not _DATE.fullmatch(text):
        return ""
    try:
        day = date(int(text[:4]), int(text[4:6]), int(text[6:])) - timedelta(days=days)
    except (ValueError, OverflowError):
        return ""
    return f"{day:%Y%m%d}".rjust(8, "0")


def shifted_date_time(text: str, days: int) -> str:
    """A DICOM date and time so many days earlier, without its zone; empty where it is none."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return ""
    day = shifted_date(found[1], days)
    return f"{day}{plain_time(found[2] or '')}" if day else ""


def plain_time(text: str) -> str:
    """A DICOM time to the millisecond; empty where it is none."""
    found = _TIME.fullmatch(text)
    return found[1] if found else ""
