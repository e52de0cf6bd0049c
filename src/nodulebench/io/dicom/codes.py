"""Coded concepts of DICOM reports: the standard codes of our measurements and ratings.

Codes are those of DICOM PS3.16 (DCM), SNOMED CT (SCT), RadLex and the NCI Thesaurus. LIDC-IDRI's
characteristics are coded as in the published DICOM version of that collection (Fedorov et al.,
Medical Physics 47 (2020) 5953-5965), whose scheme for concepts without a standard code is
99LIDCQIICR. Our own codes have the scheme 99NODULEBENCH.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

from nodulebench.core.json_types import JsonObject

_OURS = "99NODULEBENCH"


class Concept(NamedTuple):
    """A coded concept."""

    value: str
    scheme: str
    meaning: str

    @property
    def key(self) -> str:
        """Its identity, independent of its meaning text."""
        return f"{self.scheme.upper()}:{self.value}"


_TABLES: JsonObject = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _concepts(table: str) -> dict[str, Concept]:
    return {name: Concept(*code) for name, code in _TABLES[table].items()}


MEASUREMENT_GROUP = Concept("125007", "DCM", "Measurement Group")
MEASUREMENTS = Concept("126010", "DCM", "Imaging Measurements")
TRACKING_ID = Concept("112039", "DCM", "Tracking Identifier")
TRACKING_UID = Concept("112040", "DCM", "Tracking Unique Identifier")
FINDING = Concept("121071", "DCM", "Finding")
SEGMENT_NAMES = (
    Concept("121191", "DCM", "Referenced Segment"),
    Concept("121214", "DCM", "Referenced Segmentation Frame"),
)
PURPOSE = Concept("130400", "DCM", "Geometric purpose of region")
PERSON_NAME = Concept("121008", "DCM", "Person Observer Name")
DEVICE_NAME = Concept("121013", "DCM", "Device Observer Name")
DEVICE_UID = Concept("121012", "DCM", "Device Observer UID")
ALGORITHM_NAME = Concept("111001", "DCM", "Algorithm Name")
COMPOSITE_FEATURE = Concept("111015", "DCM", "Composite Feature")
IMAGE_FINDING = Concept("111059", "DCM", "Single Image Finding")
FINDING_MODIFIER = Concept("112024", "DCM", "Single Image Finding Modifier")
FEATURE_MODIFIER = Concept("112023", "DCM", "Composite Feature Modifier")
RENDERING_INTENT = Concept("111056", "DCM", "Rendering Intent")
OPERATING_POINT = Concept("111071", "DCM", "CAD Operating Point")
SUMMARY = Concept("111017", "DCM", "CAD Processing and Findings Summary")
LUNG = Concept("39607008", "SCT", "Lung")
NO_UNITS, MILLIMETRE, CUBIC_MILLIMETRE = (
    Concept("1", "UCUM", "no units"),
    Concept("mm", "UCUM", "millimeter"),
    Concept("mm3", "UCUM", "cubic millimeter"),
)

INTENTS: dict[str, str] = _TABLES["intents"]
KINDS = _concepts("kinds")
"""FINDING_KINDS -> code of the finding in a report."""
KIND_OF_CODE = {concept.key: kind for kind, concept in KINDS.items()}
NODULE = KINDS["nodule"]
NODULE_KEYS = frozenset(_TABLES["nodules"])
"""Codes of findings that count as nodules."""
OPACITY_KEYS = frozenset(_TABLES["opacities"])
"""Abnormal opacity and calcifications: nodules, unless a modifier says otherwise."""

LENGTHS, RATES = _concepts("lengths"), _concepts("rates")
VOLUME = Concept("118565006", "SCT", "Volume")
NUMBERS: dict[str, str] = {
    **{concept.key: name for name, concept in (LENGTHS | RATES).items()},
    **_TABLES["further_numbers"],
}
"""Code of a number in a report -> our column."""
UNIT_FACTORS = {
    "mm": {"mm": 1.0, "cm": 10.0, "um": 1e-3, "m": 1e3},
    "mm3": {"mm3": 1.0, "cm3": 1e3, "ml": 1e3, "mL": 1e3},
    "": {"1": 1.0, "{0:1}": 1.0, "%": 0.01, "{ratio}": 1.0, "{score}": 1.0, "": 1.0},
}

CENTER = Concept("111010", "DCM", "Center")
BOX = Concept("75958009", "SCT", "Bounded by")
OUTLINES = {
    ("boundary", False): Concept("111041", "DCM", "Outline"),
    ("boundary", True): Concept("hole", _OURS, "Hole in the outline"),
    ("outside_pixels", False): Concept("rim", _OURS, "Centers of the first pixels outside"),
    ("outside_pixels", True): Concept("hole_rim", _OURS, "Centers of pixels around a hole"),
}
"""Convention of an outline and whether it is a hole -> geometric purpose of the region."""

TYPE, DENSITY, CATEGORY = (
    Concept("nodule_type", _OURS, "Nodule type"),
    Concept("density", _OURS, "Nodule attenuation"),
    Concept("lung_rads", _OURS, "Lung-RADS category"),
)
TYPES, DENSITY_VALUES = _concepts("types"), _concepts("densities")
CHARACTERISTIC_CODES = _concepts("characteristics")
RATING_CODES = {
    name: tuple(Concept(*code) for code in codes) for name, codes in _TABLES["ratings"].items()
}
"""Characteristic -> codes of its ratings 1, 2, 3, ..."""

TYPE_TEXTS: dict[str, tuple[str, dict[str, str | int]]] = {
    TYPE.key: ("type", {concept.key: name for name, concept in TYPES.items()}),
    DENSITY.key: ("density", {code.key: name for name, code in DENSITY_VALUES.items()}),
    **{
        concept.key: (
            name,
            {code.key: rating for rating, code in enumerate(RATING_CODES[name], start=1)},
        )
        for name, concept in CHARACTERISTIC_CODES.items()
    },
}
"""Code of a qualitative evaluation -> our column, and our value of each coded value."""
