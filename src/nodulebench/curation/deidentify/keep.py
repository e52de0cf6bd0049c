"""What of a CT slice's header stays: what a reader or an algorithm needs, and cannot identify.

Attributes are named by their DICOM keywords. Texts and code strings that stay are those of
``vocabulary``, numbers those of ``numbers``, coded terms those of ``concepts``.
"""

import re

DESCRIPTORS = frozenset(
    {"StudyDescription", "SeriesDescription", "ProtocolName", "ContrastBolusAgent"}
)
"""Clean Descriptors Option: of these, known words stay and everything else goes."""

CHARACTERISTICS = frozenset({"PatientSex", "PatientAge", "PatientSize", "PatientWeight"})
"""Retain Patient Characteristics Option."""

_KEPT_DATES_WORDS = """
    AcquisitionDate AcquisitionDateTime AcquisitionTime ContentDate ContentTime
    ContrastBolusStartTime ContrastBolusStopTime FrameAcquisitionDateTime FrameReferenceDateTime
    InstanceCreationDate InstanceCreationTime SeriesDate SeriesTime StudyDate StudyTime
"""
KEPT_DATES = frozenset(_KEPT_DATES_WORDS.split())
"""Retain Longitudinal Temporal Information with Modified Dates Option: dates of these are shifted,
times of day stay."""

REQUIRED_TEXT = {
    name: frozenset({"1.2.840.10008.5.1.4.1.1.2.1"})
    for name in ("DeviceSerialNumber", "Manufacturer", "ManufacturerModelName", "SoftwareVersions")
}
"""Attributes that a class of objects must have and that may have to go: they get a dummy there."""
DUMMY = "REMOVED"

METHOD = "DICOM PS3.15 basic profile, options 113105 113107 113108"
METHOD_CODES = (
    ("113100", "Basic Application Confidentiality Profile"),
    ("113105", "Clean Descriptors Option"),
    ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    ("113108", "Retain Patient Characteristics Option"),
)
"""What was done, as DICOM PS3.16 CID 7050 codes it."""
NOT_CLAIMED = (
    ("113101", "Clean Pixel Data Option"),
    ("113102", "Clean Recognizable Visual Features Option"),
    ("113103", "Clean Graphics Option"),
    ("113104", "Clean Structured Content Option"),
    ("113106", "Retain Longitudinal Temporal Information Full Dates Option"),
    ("113109", "Retain Device Identity Option"),
    ("113110", "Retain UIDs Option"),
    ("113111", "Retain Safe Private Option"),
    ("113112", "Retain Institution Identity Option"),
)
"""Options of the standard that are not claimed."""
OWN_TEXTS = frozenset({METHOD, DUMMY, *(meaning for _, meaning in METHOD_CODES)})
"""What was written here says nothing of anybody, whatever the patient is called."""

OLDEST_YEARS = 90
"""Higher ages are given as this one, since they are rare enough to identify."""


def capped_age(text: str) -> str:
    """An age as DICOM writes it, at most 90 years; empty where it is none."""
    if not re.fullmatch(r"\d{3}[DWMY]", text):
        return ""
    is_old = text.endswith("Y") and int(text[:3]) > OLDEST_YEARS
    return f"{OLDEST_YEARS:03d}Y" if is_old else text
