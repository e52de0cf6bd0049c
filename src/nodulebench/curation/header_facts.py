"""Columns derived from headers: dose, class of kernel, kind of scan and vendor."""

import re
from collections.abc import Sequence
from typing import NamedTuple

CHEST_FACTORS = ((0.5, 0.039), (3.0, 0.026), (7.5, 0.018), (15.0, 0.013))
"""Below this age in years: mSv for 1 mGy cm of a chest (newborn, 1, 5 and 10 years)."""
ADULT_FACTOR = 0.014
"""From 15 years on, and where the age is not known."""
SOURCE = "AAPM Report 96 (2008), table 3, chest"
LOW_MSV, NORMAL_MSV = (1.5, 2.5), (2.5, 5.0)
"""ITU FG-AI4H: low dose up to, normal dose from 2.5 mSv; the upper end belongs to normal."""
TABLE = {
    "chest_factors_below_age": CHEST_FACTORS,
    "adult_factor": ADULT_FACTOR,
    "source": SOURCE,
    "low_msv": LOW_MSV,
    "normal_msv": NORMAL_MSV,
}
"""The complete table, as curation writes it."""


class Dose(NamedTuple):
    """The dose of a scan; None: not known."""

    ctdi_vol_mgy: float | None
    dlp_mgy_cm: float | None
    dlp_source: str | None
    """A dose report ("report"), or CTDIvol times the length of the scan ("header")."""
    dose_factor: float | None
    dose_msv: float | None
    dose_class: str | None


def dose_of(
    ctdi_vol_mgy: float | None,
    length_mm: float | None,
    age: float | None,
    reported_dlp_mgy_cm: float | None = None,
) -> Dose:
    """The dose of a scan of a chest.

    Args:
        ctdi_vol_mgy: mean over its slices.
        length_mm: what its slices cover; the scanner irradiates somewhat more.
        age: in years.
        reported_dlp_mgy_cm: the dose-length product of a dose report.
    """
    dlp, source = reported_dlp_mgy_cm, "report"
    if dlp is None and ctdi_vol_mgy is not None and length_mm is not None:
        dlp, source = ctdi_vol_mgy * length_mm / 10.0, "header"
    if dlp is None:
        return Dose(ctdi_vol_mgy, None, None, None, None, None)
    factor = chest_factor(age)
    return Dose(ctdi_vol_mgy, dlp, source, factor, dlp * factor, dose_class(dlp * factor))


def chest_factor(age: float | None) -> float:
    """Effective dose for a dose-length product of the chest, mSv for 1 mGy cm."""
    younger = (factor for below, factor in CHEST_FACTORS if age is not None and age < below)
    return next(younger, ADULT_FACTOR)


def dose_class(dose_msv: float) -> str:
    """Low, normal, or other: below and above both."""
    if LOW_MSV[0] <= dose_msv < LOW_MSV[1]:
        return "low"
    return "normal" if NORMAL_MSV[0] <= dose_msv <= NORMAL_MSV[1] else "other"


KERNEL_WORDS = {
    "lung": ("lung",),
    "bone": ("bone", "boneplus", "edge", "osteo", "inner ear"),
    "standard": ("standard", "stnd", "std", "soft", "smooth", "detail", "chst", "body", "brain"),
}
"""Class -> words in names of kernels, of any vendor; the first class with a match counts."""
FAMILIES: dict[str, tuple[tuple[str, int, int, str], ...]] = {
    "Siemens": (
        ("bl", 0, 99, "lung"),
        ("b|i|br|qr|bf|bv|q|d|t|sa", 0, 49, "standard"),
        ("b|i|br|qr|bf|bv|q|d|t|sa", 50, 99, "lung"),
        ("s", 80, 99, "bone"),
        ("h|j|hr|hc|hv|hp|c|u|ur", 0, 59, "standard"),
        ("h|j|hr|hc|hv|hp|c|u|ur", 60, 99, "bone"),
    ),
    "Canon": (
        ("fc", 1, 29, "standard"),
        ("fc", 30, 39, "bone"),
        ("fc", 40, 49, "standard"),
        ("fc", 50, 59, "lung"),
        ("fc", 80, 82, "bone"),
        ("fc", 83, 89, "lung"),
    ),
}
"""Vendor -> kernels: letters, lowest and highest number after them, class."""
LETTERS = {
    "Philips": {
        "lung": ("l", "ya", "yb"),
        "bone": ("d", "e", "yc", "yd"),
        "standard": ("a", "b", "c", "ua", "ub", "uc"),
    },
}
"""Vendor -> class -> kernels that consist only of letters."""
KERNEL_TABLE = {"words": KERNEL_WORDS, "families": FAMILIES, "letters": LETTERS}
"""The complete table, as curation writes it."""


def kernel_class_of(kernel: str | None, vendor: str | None) -> str | None:
    """The class of a kernel: lung, bone or standard; None where the kernel is not known.

    Args:
        kernel: as in the header; of several values the first counts.
        vendor: as returned by ``vendor_of``.
    """
    name = (kernel or "").split("\\")[0].strip().casefold()
    words = set(re.findall("[a-z]+", name))
    for kind, known in KERNEL_WORDS.items():
        if any(word in words or (" " in word and word in name) for word in known):
            return kind
    for kind, letters in LETTERS.get(vendor or "", {}).items():
        if name in letters:
            return kind
    parts = re.match(r"([a-z]+)(\d+)", name)
    for prefixes, low, high, kind in FAMILIES.get(vendor or "", ()) if parts else ():
        if parts and parts[1] in prefixes.split("|") and low <= int(parts[2]) <= high:
            return kind
    return None


SCAN_KIND_WORDS = {
    "follow_up": ("follow up", "follow-up", "followup", "f/u", "复查", "随访"),
    "first": ("baseline", "initial", "first scan", "初诊", "首诊", "基线"),
}
"""Kind -> words in the description of a study or series."""
SCAN_KIND_TABLE = {
    "words": SCAN_KIND_WORDS,
    "dates": "of several days of a patient the earliest is the first scan",
}
"""The complete table, as curation writes it."""


def scan_kinds(
    patients: Sequence[str | None], days: Sequence[str | None], descriptions: Sequence[str]
) -> list[str | None]:
    """For each scan "first", "follow_up" or None where it is not known.

    A description that names the kind counts. Otherwise, if a patient has scans of several days, the
    earliest day is the first. A patient with scans of only one day may have earlier ones elsewhere.

    Args:
        patients: who was scanned.
        days: the days of the scans, as texts that sort by time.
        descriptions: of study and series, as in headers.
    """
    known: dict[str, set[str]] = {}
    for patient, day in zip(patients, days, strict=True):
        if patient and day:
            known.setdefault(patient, set()).add(day)
    return [
        _stated_kind(description) or _by_day(day, known.get(patient or "", set()))
        for patient, day, description in zip(patients, days, descriptions, strict=True)
    ]


def _stated_kind(description: str) -> str | None:
    text = description.casefold()
    for kind, words in SCAN_KIND_WORDS.items():
        if any(_has(text, word) for word in words):
            return kind
    return None


def _has(text: str, word: str) -> bool:
    """Whether a text has a word; Latin words match as a whole: "initials" is not "initial"."""
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", text) is not None


def _by_day(day: str | None, days: set[str]) -> str | None:
    if not day or len(days) < 2:
        return None
    return "first" if day == min(days) else "follow_up"


VENDORS = {
    "GE": ("ge", "gehc", "general electric"),
    "Siemens": ("siemens",),
    "Philips": ("philips",),
    "Canon": ("canon", "toshiba"),
    "United Imaging": ("united imaging", "uih"),
}
"""Vendor -> names in headers; Toshiba's scanners became Canon's."""


def vendor_of(manufacturer: str) -> str:
    """The vendor; an unknown manufacturer is returned unchanged."""
    text = f" {' '.join(re.findall('[a-z]+', manufacturer.casefold()))} "
    known = (
        vendor for vendor, words in VENDORS.items() if any(f" {word} " in text for word in words)
    )
    return next(known, manufacturer)
