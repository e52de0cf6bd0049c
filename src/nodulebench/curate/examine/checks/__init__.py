"""The checks of admission by their codes. The first that applies decides where a series fell out.

Each check is a function of the name of its code; its first line says what it means.
"""

from nodulebench.curate.examine.reason import Check
from nodulebench.registry import Registry

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
    {code: f"{__name__}.{module}" for module, codes in CODES_OF_MODULE.items() for code in codes},
)
