"""What of a CT slice's header stays: what a reader or an algorithm needs, and cannot identify.

Attributes are named by their DICOM keywords. Text stays only where it is listed here.
"""

import re
from typing import Any

_TECHNICAL_TEXT_WORDS = """
    ConvolutionKernel FilterType Manufacturer ManufacturerModelName PositionReferenceIndicator
    ReconstructionAlgorithm SoftwareVersions WindowCenterWidthExplanation
    LossyImageCompressionMethod RescaleType SpecificCharacterSet
"""
TECHNICAL_TEXT = frozenset(_TECHNICAL_TEXT_WORDS.split())
"""Text about the scanner and the picture. It stays if it names nobody."""

CODES = frozenset({"CodeValue", "CodingSchemeDesignator", "CodingSchemeVersion", "CodeMeaning"})
STANDARD_SCHEMES = frozenset({"DCM", "SCT", "SRT", "SNM3", "UCUM", "LN", "RADLEX"})
"""Coded terms stay where the scheme is a public one; a hospital's own codes do not."""

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

REQUIRED_TEXT = {"DeviceSerialNumber": "1.2.840.10008.5.1.4.1.1.2.1"}
"""Attributes that a class of objects must have and the profile would remove: they get a dummy."""
DUMMY = "REMOVED"

METHOD = "DICOM PS3.15 basic profile, options 113105 113107 113108"
METHOD_CODES = (
    ("113100", "Basic Application Confidentiality Profile"),
    ("113105", "Clean Descriptors Option"),
    ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    ("113108", "Retain Patient Characteristics Option"),
)
"""What was done, as DICOM PS3.16 CID 7050 codes it."""

OLDEST_YEARS = 90
"""Higher ages are given as this one, since they are rare enough to identify."""

_KNOWN = """
    abd abdomen algorithm angio angiogram angiography apex arterial axial base body bone breath
    cap chest cm contrast contrasted control cor coronal ct cta ctpa delayed detail diagnostic
    dose enhanced exam examination exp expiration expiratory fine first follow followup helical
    high hires hold hr hrct insp inspiration inspiratory iodinated iodine iodixanol iohexol
    iomeprol iopamidol iopromide ioversol iv kernel kv kvp ld ldct legs liver low lower lung lungs
    ma mas mediast mediastin mediastinal mediastinum mip mm mpr native neck no non noncontrast
    nonionic normal omnipaque optiray oral parenchyma pe pelvis phase pitch plain portal post pre
    prone protocol pulm pulmonary recon reconstruction reformat routine sag sagittal scan screen
    screening second series sharp soft spiral staging standard std supine thick thin thk thoracic
    thorax tissue tube ultra ultravist upper venous visipaque vol volume wb with without wo
    xenetix
"""
_WORDS = frozenset(_KNOWN.split())
_KERNEL = re.compile(r"(?:b|bf|bl|br|d|fc|hr|i|qr|t|ub)\d{2}[a-z]?")
_MEASURE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)(mm|cm|ma|mas|kv|kvp)")


def clean_description(text: str) -> str:
    """The words of a description that are known, and measures; all else is left out.

    A number stays with its unit only: ``12/05/99`` and ``555-123`` are made of short numbers too.
    """
    kept = []
    joined = re.sub(r"(?<=\d)\s+(?=(?:mm|cm|mas?|kvp?)\b)", "", text.casefold())
    for part in re.split(r"[\s,;:_/\\()\[\]+&-]+", joined):
        if part in _WORDS or _KERNEL.fullmatch(part) or _MEASURE.fullmatch(part):
            kept.append(part.upper())
    return " ".join(kept)


def is_standard(code: Any) -> bool:
    """Whether a coded term is one of a public scheme."""
    return code.get("CodingSchemeDesignator") in STANDARD_SCHEMES


def is_clean_description(text: str) -> bool:
    """Whether a description holds nothing that would be left out."""
    return clean_description(text) == text


def capped_age(text: str) -> str:
    """An age as DICOM writes it, at most 90 years; empty where it is none."""
    if not re.fullmatch(r"\d{3}[DWMY]", text):
        return ""
    is_old = text.endswith("Y") and int(text[:3]) > OLDEST_YEARS
    return f"{OLDEST_YEARS:03d}Y" if is_old else text
