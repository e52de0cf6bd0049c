"""The checks of admission by their codes. The first that applies decides where a series fell out.

Each check is a function of the name of its code; its first line says what it means.
"""

from nodulebench.core.registry import Registry
from nodulebench.curation.admission.reasons import Check

CODES_OF_MODULE = {
    "kind": ("not_ct", "localizer", "secondary_capture"),
    "pixels": ("unreadable", "truncated_pixels"),
    "grid": (
        "inconsistent_patient",
        "no_geometry",
        "inconsistent_orientation",
        "inconsistent_pixels",
    ),
    "orientation": ("not_axial", "gantry_tilt"),
    "places": (
        "duplicate_slice",
        "missing_slice",
        "uneven_spacing",
        "contradicting_spacing",
        "too_few_slices",
    ),
    "resolution": ("small_matrix", "thick_slices"),
    "values": ("wrong_rescale", "slice_out_of_place"),
    "chest": ("not_chest", "cut_lungs"),
}
"""The codes by the file that holds them, in the order in which they decide."""

CHECKS: Registry[Check] = Registry(
    "check of admission",
    "admission_checks",
    {
        "not_ct": "nodulebench.curation.admission.kind",
        "localizer": "nodulebench.curation.admission.kind",
        "secondary_capture": "nodulebench.curation.admission.kind",
        "unreadable": "nodulebench.curation.admission.pixels",
        "truncated_pixels": "nodulebench.curation.admission.pixels",
        "inconsistent_patient": "nodulebench.curation.admission.grid",
        "no_geometry": "nodulebench.curation.admission.grid",
        "inconsistent_orientation": "nodulebench.curation.admission.grid",
        "inconsistent_pixels": "nodulebench.curation.admission.grid",
        "not_axial": "nodulebench.curation.admission.orientation",
        "gantry_tilt": "nodulebench.curation.admission.orientation",
        "duplicate_slice": "nodulebench.curation.admission.places",
        "missing_slice": "nodulebench.curation.admission.places",
        "uneven_spacing": "nodulebench.curation.admission.places",
        "contradicting_spacing": "nodulebench.curation.admission.places",
        "too_few_slices": "nodulebench.curation.admission.places",
        "small_matrix": "nodulebench.curation.admission.resolution",
        "thick_slices": "nodulebench.curation.admission.resolution",
        "wrong_rescale": "nodulebench.curation.admission.values",
        "slice_out_of_place": "nodulebench.curation.admission.values",
        "not_chest": "nodulebench.curation.admission.chest",
        "cut_lungs": "nodulebench.curation.admission.chest",
    },
)
