"""A slice's header -> the words, UIDs and dates that identify the patient; and pseudonyms."""

import hmac
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from nodulebench.curation.deidentify.allowed_values import digits_of
from nodulebench.curation.deidentify.codec import (
    HeaderElement,
    Memory,
    elements_of,
    keyword_of,
    plain_moment,
    plain_numbers,
    plain_uids,
    reading_of,
)
from nodulebench.io.dicom.header import uid_of_digest

if TYPE_CHECKING:
    from pydicom.dataelem import DataElement
    from pydicom.dataset import Dataset


_NAMING_WORDS = """
    AccessionNumber AdmissionID ClinicalTrialSiteName ClinicalTrialSubjectID DeviceSerialNumber
    FillerOrderNumberImagingServiceRequest InstitutionAddress InstitutionName
    InstitutionalDepartmentName OtherPatientIDs PatientAddress PatientBirthDate PatientID
    PatientTelephoneNumbers PlacerOrderNumberImagingServiceRequest StationName StudyID
"""
NAMING = frozenset(_NAMING_WORDS.split())
"""Attributes whose words identify, in addition to all names (VR PN)."""
FEWEST_LETTERS, FEWEST_IN_NAMES = 4, 3
"""Shorter words occur by chance, in kernels and codes; in other scripts two characters count."""
LONG_WORD = 6
"""Words of this length are searched within others too; shorter ones are parts of common words."""
_PIXELS = frozenset({"OB", "OW"})
_SEPARATORS = re.compile(r"[\W_]+")
_COMMON = """
    anonymized anonymous axial body center centre chest clinic deidentified department derived
    hospital localizer lung medical none original primary radiology removed scan scanner study
    system systems thorax university unknown
"""
HARMLESS = frozenset(_COMMON.split())
"""Words that identify no one, although they occur in names."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a patient in a header."""

    patient: str
    """The patient's number and its issuer; without a number, the study."""
    words: frozenset[str]
    """In lower case."""
    uids: frozenset[str]
    dates: frozenset[tuple[str, str]]
    """Attribute and date."""

    @property
    def numbers(self) -> frozenset[str]:
        return _numbers(self.words)


@lru_cache(maxsize=64)
def _numbers(words: frozenset[str]) -> frozenset[str]:
    return digits_of(words)


@dataclass(frozen=True, slots=True)
class _Identifiers:
    """What identifies a patient in one element."""

    words: frozenset[str] = frozenset()
    uids: frozenset[str] = frozenset()
    dates: frozenset[tuple[str, str]] = frozenset()


_NOTHING = _Identifiers()


def identity_of(
    dataset: "Dataset",
    elements: list[tuple[int, HeaderElement]] | None = None,
    memory: Memory | None = None,
) -> Identity:
    """What identifies the patient in a header, sequences included.

    Elements are as they were read; elements converted since are remembered too.
    """
    number = str(dataset.get("PatientID", "") or "").strip()
    issuer = str(dataset.get("IssuerOfPatientID", "") or "").strip()
    study = str(dataset.get("StudyInstanceUID", "") or "")

    def inspect(tag: int, element: HeaderElement) -> _Identifiers:
        uids = plain_uids(element)
        if uids:
            return _Identifiers(uids=frozenset(uids))
        if element.is_raw and element.VR in _PIXELS:
            return _NOTHING
        moment, keyword = plain_moment(element), keyword_of(tag)
        if not moment or keyword in NAMING:
            return _identifiers_in(dataset, tag)
        is_date = element.VR != "TM" and len(moment) >= 8
        return _Identifiers(dates=frozenset({(keyword, moment[:8])})) if is_date else _NOTHING

    findings = (memory or Memory(0)).each(
        elements or elements_of(dataset), inspect, "identity", reading_of(dataset)
    )
    parts = [part for _, part in findings if part is not _NOTHING]
    return Identity(
        f"{number}\n{issuer}" if number else f"study {study}",
        frozenset().union(*[part.words for part in parts]),
        frozenset().union(*[part.uids for part in parts]),
        frozenset().union(*[part.dates for part in parts]),
    )


def _identifiers_in(dataset: "Dataset", tag: int) -> _Identifiers:
    """What identifies the patient in an element, with the items of a sequence."""
    words: set[str] = set()
    uids: set[str] = set()
    dates: set[tuple[str, str]] = set()
    for element in elements_within(dataset, tag):
        for text in texts_of(element):
            if element.VR == "PN" or element.keyword in NAMING:
                is_name = element.VR == "PN"
                words.update(_words(text, FEWEST_IN_NAMES if is_name else FEWEST_LETTERS))
            elif element.VR == "UI":
                uids.add(text)
            if element.VR in ("DA", "DT") and len(text) >= 8:
                dates.add((element.keyword, text[:8]))
    if not (words or uids or dates):
        return _NOTHING
    return _Identifiers(frozenset(words), frozenset(uids), frozenset(dates))


def elements_within(dataset: "Dataset", tag: int) -> Iterator["DataElement"]:
    """An element that is not a number, and the elements of its items if it is a sequence."""
    if plain_numbers(dataset.get_item(tag)) is not None:
        return
    element = dataset[tag]
    yield element
    if element.VR == "SQ":
        for item in element.value:
            for inner in sorted(item.keys()):
                yield from elements_within(item, inner)


def texts_of(element: "DataElement") -> list[str]:
    """The values of an element that are text, one by one."""
    value = element.value
    if value is None or isinstance(value, bytes | int | float) or element.VR == "SQ":
        return []
    if isinstance(value, str) or not hasattr(value, "__iter__") or element.VR == "PN":
        return [text for text in str(value).split("\\") if text]
    return [str(part) for part in value if str(part)]


def word_in(text: str, words: frozenset[str]) -> str:
    """An identifying word in a text, as a whole word or, if it is long, within another word."""
    lower = unicodedata.normalize("NFKC", text).casefold()
    parts = set(_SEPARATORS.split(lower))
    joined = _SEPARATORS.sub("", lower)
    for word in sorted(words):
        is_long = len(word) >= LONG_WORD or not word.isascii()
        if word in parts or (is_long and (word in lower or word in joined)):
            return word
    return ""


def _words(text: str, fewest_letters: int) -> Iterator[str]:
    for word in _SEPARATORS.split(unicodedata.normalize("NFKC", text).casefold()):
        fewest = fewest_letters if word.isascii() else 2
        if len(word) >= fewest and word not in HARMLESS:
            yield word


MOST_DAYS = 3650
"""Dates are shifted by 1 to this many days to the past, the same for all data of a patient."""
_DATE = re.compile(r"\d{8}")
_DATE_TIME = re.compile(r"(\d{8})(\d{2}(?:\d{2}(?:\d{2}(?:\.\d{1,6})?)?)?)?([+-]\d{4})?")
_TIME = re.compile(r"((?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,3})?)?)?)\d{0,3}")
"""To the millisecond; a fraction of six digits can hold a number."""


def is_registered(uid: str) -> bool:
    """Whether the standard registers a UID (PS3.6 annex A): classes, transfer syntaxes."""
    from pydicom._uid_dict import UID_dictionary

    return uid in UID_dictionary


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """The replacements of identities, derived from one key."""

    key: bytes = field(repr=False)
    prefix: str = "P"

    def uid(self, original: str) -> str:
        """The UID that replaces another; UIDs that the standard registers stay."""
        if not original or is_registered(original):
            return original
        return _uid_of(self.key, original)

    def patient(self, identity: str) -> str:
        """The name and number that replace those of a patient."""
        return f"{self.prefix}-{self._digest('patient', identity)[:5].hex().upper()}"

    def days(self, identity: str) -> int:
        """By how many days the dates of a patient are shifted to the past."""
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
    """A DICOM date, shifted to the past; empty where it is not valid."""
    if not _DATE.fullmatch(text):
        return ""
    try:
        day = date(int(text[:4]), int(text[4:6]), int(text[6:])) - timedelta(days=days)
    except (ValueError, OverflowError):
        return ""
    return f"{day:%Y%m%d}".rjust(8, "0")


def shifted_date_time(text: str, days: int) -> str:
    """A DICOM date and time, shifted to the past, without its zone; empty where it is not valid."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return ""
    day = shifted_date(match[1], days)
    return f"{day}{plain_time(match[2] or '')}" if day else ""


def plain_time(text: str) -> str:
    """A DICOM time to the millisecond; empty where it is not valid."""
    match = _TIME.fullmatch(text)
    return match[1] if match else ""
