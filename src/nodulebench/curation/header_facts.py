"""Columns derived from headers: dose, class of kernel, kind of scan and vendor."""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from nodulebench.core.json_types import JsonObject

DERIVED_BY: JsonObject = tomllib.loads(
    files(__package__).joinpath("header_facts.toml").read_text("utf-8")
)
"""Column -> the table by which it is derived from headers; written to curation.json."""


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
    """The dose of a scan of a chest, from a dose report or from its header.

    ``ctdi_vol_mgy`` is a mean over slices; ``length_mm`` is what these cover: the scanner
    irradiates somewhat more.
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
    factors = DERIVED_BY["dose"]["chest_factors_below_age"]
    younger = (factor for below, factor in factors if age is not None and age < below)
    return float(next(younger, DERIVED_BY["dose"]["adult_factor"]))


def dose_class(dose_msv: float) -> str:
    low, normal = DERIVED_BY["dose"]["low_msv"], DERIVED_BY["dose"]["normal_msv"]
    if low[0] <= dose_msv < low[1]:
        return "low"
    return "normal" if normal[0] <= dose_msv <= normal[1] else "other"


def kernel_class_of(kernel: str | None, vendor: str | None) -> str | None:
    """The class of a kernel: lung, bone or standard; None where the kernel is not known."""
    table = DERIVED_BY["kernel_class"]
    name = (kernel or "").split("\\")[0].strip().casefold()
    words = set(re.findall("[a-z]+", name))
    for kind, known in table["words"].items():
        if any(word in words or (" " in word and word in name) for word in known):
            return str(kind)
    for kind, letters in table["letters"].get(vendor or "", {}).items():
        if name in letters:
            return str(kind)
    parts = re.match(r"([a-z]+)(\d+)", name)
    for prefixes, low, high, kind in table["families"].get(vendor or "", ()) if parts else ():
        if parts and parts[1] in prefixes.split("|") and low <= int(parts[2]) <= high:
            return str(kind)
    return None


def scan_kinds(
    patients: Sequence[str | None], days: Sequence[str | None], descriptions: Sequence[str]
) -> list[str | None]:
    """For each scan "first", "follow_up" or None where it is not known.

    A description that names the kind counts. Otherwise, if a patient has scans of several days
    (texts that sort by time), the earliest day is the first. A patient with scans of only one day
    may have earlier ones elsewhere.
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
    for kind, words in DERIVED_BY["scan_kind"]["words"].items():
        if any(_has(text, word) for word in words):
            return str(kind)
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


def vendor_of(manufacturer: str) -> str:
    """The vendor; an unknown manufacturer is returned unchanged."""
    text = f" {' '.join(re.findall('[a-z]+', manufacturer.casefold()))} "
    for vendor, words in DERIVED_BY["vendor"].items():
        if any(f" {word} " in text for word in words):
            return str(vendor)
    return manufacturer
