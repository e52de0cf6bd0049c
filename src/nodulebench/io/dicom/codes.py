"""Coded concepts of DICOM reports: the standard codes of our measurements and ratings.

Codes are those of DICOM PS3.16 (DCM), SNOMED CT (SCT), RadLex and the NCI Thesaurus. LIDC-IDRI's
characteristics are coded as in the published DICOM version of that collection (Fedorov et al.,
Medical Physics 47 (2020) 5953-5965), whose scheme for concepts without a standard code is
99LIDCQIICR. Our own codes have the scheme 99NODULEBENCH.
"""

from typing import NamedTuple

from nodulebench.core.readings import CHARACTERISTICS

_OURS, _LIDC = "99NODULEBENCH", "99LIDCQIICR"


class Concept(NamedTuple):
    """A coded concept."""

    value: str
    scheme: str
    meaning: str

    @property
    def key(self) -> str:
        """Its identity, independent of its meaning text."""
        return f"{self.scheme.upper()}:{self.value}"


def _codes(scheme: str, **values: str) -> tuple[Concept, ...]:
    return tuple(Concept(value.strip("_"), scheme, text) for value, text in values.items())


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

INTENTS = {"DCM:111150": "required", "DCM:111151": "optional", "DCM:111152": "hidden"}
"""Rendering intent of a CAD report (CID 6034)."""

NODULE = Concept("786838002", "SCT", "Nodule of lung")
KINDS = {
    "nodule": NODULE,
    "small_nodule": Concept("112122", "DCM", "Micronodule"),
    "non_nodule": Concept("111102", "DCM", "Non-lesion"),
}
"""FINDING_KINDS -> code of the finding in a report."""
KIND_OF_CODE = {concept.key: kind for kind, concept in KINDS.items()}
NODULE_KEYS = frozenset(
    {
        NODULE.key,
        "SCT:27925004",  # nodule
        "SCT:427359005",  # solitary nodule of lung
        "SCT:308689002",  # coin lesion
        "SCT:52988006",  # lesion
        "SCT:4147007",  # mass
        "SCT:108369006",  # neoplasm
        "RADLEX:RID50149",  # pulmonary nodule
        "RADLEX:RID50151",
        "RADLEX:RID50152",
        "RADLEX:RID50153",
        "DCM:112120",  # ground glass opacity
    }
)
"""Codes of findings that count as nodules."""
OPACITY_KEYS = frozenset({"DCM:112033", "DCM:112063"})
"""Abnormal opacity and calcifications: nodules, unless a modifier says otherwise."""

LENGTHS = {
    "diameter_mm": Concept("81827009", "SCT", "Diameter"),
    "long_mm": Concept("103339001", "SCT", "Long axis"),
    "short_mm": Concept("103340004", "SCT", "Short axis"),
}
VOLUME = Concept("118565006", "SCT", "Volume")
RATES = {
    "score": Concept("111012", "DCM", "Certainty of Finding"),
    "malignancy": Concept("111047", "DCM", "Probability of cancer"),
}
NUMBERS = {
    **{concept.key: name for name, concept in (LENGTHS | RATES).items()},
    VOLUME.key: "volume_mm3",
    "SCT:131187009": "long_mm",  # major axis
    "SCT:410668003": "long_mm",  # length, as rulers of viewers call it
    "SCT:131188004": "short_mm",  # minor axis
    "SCT:131189007": "short_mm",  # perpendicular axis
    "DCM:111011": "score",  # certainty of feature
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
_SOLID, _PART_SOLID, _GROUND_GLASS, _CALCIFIED = (
    Concept("RID50151", "RADLEX", "solid pulmonary nodule"),
    Concept("RID50152", "RADLEX", "part-solid pulmonary nodule"),
    Concept("RID50153", "RADLEX", "non-solid pulmonary nodule"),
    Concept("112145", "DCM", "Calcium"),
)
TYPES = {
    "solid": _SOLID,
    "part_solid": _PART_SOLID,
    "pure_ground_glass": _GROUND_GLASS,
    "calcified": _CALCIFIED,
    "pleural": Concept("pleural", _OURS, "Pleural nodule"),
    "pleural_calcified": Concept("pleural_calc", _OURS, "Calcified pleural nodule"),
}
DENSITY_VALUES = {
    "solid": _SOLID,
    "part_solid": _PART_SOLID,
    "ground_glass": _GROUND_GLASS,
    "calcified": _CALCIFIED,
}
_RATINGS = tuple(Concept(f"00{number}", _LIDC, f"{number} out of 5") for number in range(1, 6))
_CHARACTERISTIC_NAMES = (
    Concept("C45992", "NCIt", "Subtlety score"),
    Concept("200", _LIDC, "Internal structure"),
    Concept("C3672", "NCIt", "Calcification"),
    Concept("400", _LIDC, "Sphericity"),
    Concept("C25563", "NCIt", "Margin"),
    Concept("C62175", "NCIt", "Lobular Pattern"),
    Concept("C28749", "NCIt", "Spiculation"),
    Concept("C41144", "NCIt", "Texture"),
    Concept("RID36042", "RadLex", "Malignancy"),
)
CHARACTERISTIC_CODES = dict(zip(CHARACTERISTICS, _CHARACTERISTIC_NAMES, strict=True))


def _ends(first: Concept, last: Concept, middle: Concept = _RATINGS[2]) -> tuple[Concept, ...]:
    """Five ratings whose ends, and perhaps middle, have separate codes."""
    return first, _RATINGS[1], middle, _RATINGS[3], last


RATING_CODES: dict[str, tuple[Concept, ...]] = {
    "subtlety": _codes(
        _LIDC,
        _101="1 out of 5 (Extremely subtle)",
        _102="2 out of 5 (Moderately subtle)",
        _103="3 out of 5 (Fairly subtle)",
        _104="4 out of 5 (Moderately obvious)",
        _105="5 out of 5 (Obvious)",
    ),
    "internal_structure": _codes(
        "NCIt", C12471="Soft tissue", C25278="Fluid", C12472="Adipose tissue", C73434="Air"
    ),
    "calcification": (
        Concept("RID35453", "RadLex", "Popcorn calcification sign"),
        Concept("302", _LIDC, "Laminated appearance"),
        Concept("RID5741", "RadLex", "Solid appearance"),
        Concept("304", _LIDC, "Non-central appearance"),
        Concept("RID5827", "RadLex", "Central calcification"),
        Concept("RID28473", "RadLex", "Absent"),
    ),
    "sphericity": _ends(*_codes("RadLex", RID5811="linear", RID5799="round", RID5800="ovoid")),
    "margin": _ends(*_codes("RadLex", RID5709="Indistinct margin", RID5707="Circumscribed margin")),
    "lobulation": _ends(
        *_codes(_LIDC, _601="1 out of 5 (No lobulation)", _605="5 out of 5 (Marked lobulation)")
    ),
    "spiculation": _ends(
        *_codes(_LIDC, _701="1 out of 5 (No spiculation)", _705="5 out of 5 (Marked spiculation)")
    ),
    "texture": _ends(
        *_codes(
            "RadLex",
            RID50153="non-solid pulmonary nodule",
            RID50151="solid pulmonary nodule",
            RID50152="part-solid pulmonary nodule",
        )
    ),
    "malignancy_rating": _codes(
        _LIDC,
        _901="1 out of 5 (Highly Unlikely for Cancer)",
        _902="2 out of 5 (Moderately Unlikely for Cancer)",
        _903="3 out of 5 (Indeterminate Likelihood)",
        _904="4 out of 5 (Moderately Suspicious for Cancer)",
        _905="5 out of 5 (Highly Suspicious for Cancer)",
    ),
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
