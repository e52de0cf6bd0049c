"""The checks of admission by their codes, with their limits. The first that applies decides.

Each check is a function with the name of its code; its first line states what the code means.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator

from nodulebench.core.arrays import FloatArray
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import did_you_mean
from nodulebench.core.notices import Notice
from nodulebench.core.registry import Registry
from nodulebench.curation.series_image import Anatomy, CoarseArray, Fault, SeriesImage, see_anatomy
from nodulebench.io.dicom.series import (
    PLACED_BY,
    Series,
    differences,
    differently_turned,
    half_pixel_mm,
    is_localizer,
    is_skew,
    sideways_shift_mm,
    tilt_degrees,
    upward_normal,
)
from nodulebench.io.dicom.slices import CT_CLASSES

if TYPE_CHECKING:
    from nodulebench.io.dicom.slices import SliceHeader


class Limits(ConfigModel):
    """The limits of admission; lengths in mm, areas and volumes of lung in the image."""

    smallest_matrix: int = Field(512, ge=1)
    """Rows and columns that a slice must have at least (ITU FG-AI4H)."""
    largest_thickness_mm: float = Field(3.0, gt=0)
    """Slices may be this thick (LUNA16 leaves out scans above 3 mm)."""
    fewest_slices: int = Field(20, ge=2)
    """Fewest slices of a scan of a chest."""
    spacing_tolerance_mm: float = Field(0.05, ge=0)
    """How far a slice may be from its regular position: headers round to about a hundredth."""
    largest_tilt_degrees: float = Field(1.0, ge=0)
    """How far slices may be tilted against the table."""
    largest_obliquity_degrees: float = Field(20.0, ge=0)
    """How far slices may be rotated from axial."""
    smallest_lung_ml: float = Field(500.0, ge=0)
    """Least lung volume of a chest; one lung is enough."""
    largest_end_share: float = Field(0.1, ge=0, le=1)
    """Largest area of lung on the first or last slice, as a share of its widest cross-section."""
    largest_cut_mm: float = Field(10.0, ge=0)
    """Length of the body along which the field of view may cut the lungs."""
    near_duplicate_similarity: float = Field(0.84, gt=0.5, le=1)
    """Share of equal bits from which two perceptual hashes are those of one scan."""
    waived: tuple[str, ...] = ()
    """Codes that do not exclude a series; they are still reported."""

    @field_validator("waived")
    @classmethod
    def _codes_are_known(cls, waived: tuple[str, ...]) -> tuple[str, ...]:
        from nodulebench.curation.duplicates import DUPLICATE_CODES

        known = [*CHECKS, *DUPLICATE_CODES]
        strange = [code for code in waived if code not in known]
        hints = {code: did_you_mean(code, known) for code in strange}
        wrong = [f"'{code}' is not a code{hint and '.'}{hint}" for code, hint in hints.items()]
        if wrong:
            raise ValueError("; ".join(wrong))
        return waived


@dataclass(frozen=True, slots=True)
class Reason:
    """The finding of a check, and the files that it concerns (none: the whole series)."""

    notice: Notice | str
    """A code with values; a check of another package may give a sentence."""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A series with its image; None where the image cannot be read."""

    series: Series
    image: SeriesImage | None
    limits: Limits

    @cached_property
    def anatomy(self) -> Anatomy | None:
        """What the image shows; None without an image, or where it is too small."""
        image = self.image
        if image is None or len(image.hu) < 2 or min(image.hu.shape) < 2 or not image.is_read.all():
            return None
        return see_anatomy(image.hu, image.step_mm)


Check = Callable[[Subject], Reason | None]
"""``check(subject)``: why the series must be excluded, or None."""


CODES_OF_GROUP = {
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
"""The codes by group, in the order in which they decide."""

CHECKS: Registry[Check] = Registry(
    "check of admission",
    "admission_checks",
    {code: __name__ for codes in CODES_OF_GROUP.values() for code in codes},
)


def not_chest(subject: Subject) -> Reason | None:
    """The image shows too little lung for a chest: tissue of lung density that contains vessels."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None or seen.lung_ml >= limits.smallest_lung_ml:
        return None
    if seen.cut_mm > limits.largest_cut_mm:  # a chest whose lungs are cut, and excluded for that
        return None
    body_part = subject.series.slices[len(subject.series.slices) // 2].facts.get("body_part")
    values = {"lung_ml": seen.lung_ml, "limit_ml": limits.smallest_lung_ml, "body_part": body_part}
    return Reason(Notice("little_lung", values))


def cut_lungs(subject: Subject) -> Reason | None:
    """The field of view cuts the lungs: at its edge, or at the first or last slice."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None:
        return None
    if seen.cut_mm > limits.largest_cut_mm:
        return Reason(Notice("edge_through_lung", {"cut_mm": seen.cut_mm}))
    if seen.lung_ml < limits.smallest_lung_ml:
        return None
    for end, area in (("feet", seen.lowest_cm2), ("head", seen.highest_cm2)):
        if area > limits.largest_end_share * seen.widest_cm2:
            return Reason(Notice("ends_within_lung", {"end": end, "area_cm2": area}))
    return None


FIELD_OF_VIEW_TOLERANCE = 0.05
"""How far pixel size times columns may be from the reconstruction diameter, as a share."""
SQUARE_TOLERANCE = 0.01
"""By which share the sides of a pixel may differ; scanners reconstruct square ones."""


def inconsistent_patient(subject: Subject) -> Reason | None:
    """Slices of one series name different patients or studies."""
    names: dict[str, Callable[[SliceHeader], str]] = {
        "patients": lambda slice_: slice_.patient_id,
        "studies": lambda slice_: slice_.study_uid,
    }
    for name, value in names.items():
        counts = Counter(value(slice_) for slice_ in subject.series.slices)
        if len(counts) > 1:
            usual, _ = counts.most_common(1)[0]
            other = [slice_.path for slice_ in subject.series.slices if value(slice_) != usual]
            notice = Notice("slices_name_several", {"count": len(counts), "what": name})
            return Reason(notice, tuple(dict.fromkeys(other)))
    return None


def no_geometry(subject: Subject) -> Reason | None:
    """Position, orientation or pixel size of a slice is missing or not valid."""
    for name, value in PLACED_BY.items():
        silent = [slice_.path for slice_ in subject.series.slices if value(slice_) is None]
        if silent:
            notice = Notice("slices_without", {"count": len(silent), "what": name})
            return Reason(notice, tuple(dict.fromkeys(silent)))
    sizes = [slice_.pixel_spacing_mm or (0.0,) for slice_ in subject.series.slices]
    if min(map(min, sizes)) <= 0:
        return Reason(Notice("pixels_without_size"))
    skew = [slice_.path for slice_ in subject.series.slices if is_skew(slice_)]
    if skew:
        return Reason(Notice("slices_skew", {"count": len(skew)}), tuple(skew))
    return None


def inconsistent_orientation(subject: Subject) -> Reason | None:
    """Slices of one series are turned differently."""
    turned = differently_turned(subject.series)
    if not turned:
        return None
    values = {"count": len(turned), "total": len(subject.series.slices)}
    return Reason(Notice("slices_turned", values), tuple(turned))


def inconsistent_pixels(subject: Subject) -> Reason | None:
    """Slices differ in rows, columns, bits or pixel size; pixels not square or of another field."""
    for what, (first, second, *third), files in differences(subject.series):
        values = {"what": what, "first": first, "second": second, "third": "".join(third)}
        return Reason(Notice("slices_differ", values), files)
    return _contradiction(subject)


def _contradiction(subject: Subject) -> Reason | None:
    for slice_ in subject.series.slices:
        if slice_.pixel_spacing_mm is None:
            continue
        rows, columns = slice_.pixel_spacing_mm
        if abs(rows - columns) > SQUARE_TOLERANCE * max(rows, columns):
            return Reason(Notice("pixels_not_square", {"rows_mm": rows, "columns_mm": columns}))
        if slice_.field_of_view_mm is None:
            continue
        seen = slice_.pixel_spacing_mm[1] * slice_.pixels.columns
        if abs(seen - slice_.field_of_view_mm) > FIELD_OF_VIEW_TOLERANCE * slice_.field_of_view_mm:
            values = {
                "columns": slice_.pixels.columns,
                "pixel_mm": slice_.pixel_spacing_mm[1],
                "seen_mm": seen,
                "stated_mm": slice_.field_of_view_mm,
            }
            return Reason(Notice("other_field_of_view", values))
    return None


SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
PROJECTION_WORDS = frozenset(
    {"MIP", "MINIP", "MAX_IP", "MIN_IP", "PROJECTION", "SSD", "VRT", "VOLREN"}
)
"""In an image type: values are maxima, minima or surfaces of many slices."""


def not_ct(subject: Subject) -> Reason | None:
    """The modality is not CT, or the object is not a CT image but a report, a mask or similar."""
    first = subject.series.slices[0]
    if first.modality != "CT":
        return Reason(Notice("other_modality", {"modality": first.modality}))
    if first.sop_class not in CT_CLASSES and not first.sop_class.startswith(SECONDARY_CAPTURE):
        return Reason(Notice("other_sop_class", {"sop_class": first.sop_class}))
    return None


def localizer(subject: Subject) -> Reason | None:
    """An overview image (scout, topogram) taken to plan the scan."""
    first = subject.series.slices[0]
    if not is_localizer(first):
        return None
    return Reason(Notice("localizer_type", {"type": "/".join(first.image_type)}))


def secondary_capture(subject: Subject) -> Reason | None:
    """A capture of images, not a scan: a screen, a dose report, a projection, colours, 8 bits."""
    first = subject.series.slices[0]
    pixels = first.pixels
    if first.modality != "CT" or not pixels.rows:
        return None
    if first.sop_class.startswith(SECONDARY_CAPTURE) or first.has_conversion_type:
        return Reason(Notice("secondary_capture"))
    if not PROJECTION_WORDS.isdisjoint(" ".join(first.image_type).upper().split()):
        return Reason(Notice("projection", {"type": "/".join(first.image_type)}))
    if pixels.samples != 1 or not pixels.photometric.startswith("MONOCHROME"):
        values = {"photometric": pixels.photometric, "samples": pixels.samples}
        return Reason(Notice("colours", values))
    if pixels.bits_allocated < 16:
        return Reason(Notice("few_bits", {"bits": pixels.bits_allocated}))
    return None


def not_axial(subject: Subject) -> Reason | None:
    """Slices are coronal, sagittal or oblique."""
    cosines = subject.series.orientation
    if cosines is None:
        return None
    normal = upward_normal(cosines)
    off = float(np.degrees(np.arccos(np.clip(abs(normal[2]), 0.0, 1.0))))
    if off <= subject.limits.largest_obliquity_degrees:
        return None
    name = ("sagittal", "coronal", "oblique_axial")[int(np.argmax(np.abs(normal)))]
    return Reason(Notice("slices_off_axial", {"plane": name, "degrees": off}))


def gantry_tilt(subject: Subject) -> Reason | None:
    """The gantry was tilted: slices shift sideways from one to the next."""
    limit = subject.limits.largest_tilt_degrees
    tilts = [slice_.tilt_degrees or 0.0 for slice_ in subject.series.slices]
    worst = max(tilts, key=abs)
    if abs(worst) > limit:
        return Reason(Notice("gantry_tilted", {"degrees": worst}))
    if len(subject.series.slices) < 3:
        return None
    angle = tilt_degrees(subject.series)
    return Reason(Notice("slices_shift", {"degrees": angle})) if angle > limit else None


def unreadable(subject: Subject) -> Reason | None:
    """A file cannot be read: its header or its compressed pixels are damaged."""
    return _stated([fault for fault in _faults(subject) if not fault.is_truncated])


def truncated_pixels(subject: Subject) -> Reason | None:
    """A file ends before its pixels do."""
    return _stated([fault for fault in _faults(subject) if fault.is_truncated])


def _faults(subject: Subject) -> Sequence[Fault]:
    return () if subject.image is None else subject.image.faults


def _stated(faults: Sequence[Fault]) -> Reason | None:
    if not faults:
        return None
    files = tuple(dict.fromkeys(fault.path for fault in faults))
    values = {"problem": faults[0].notice, "more": len(faults) - 1 or None}
    return Reason(Notice("slice_unread", values), files)


WIDEST_GAP = 1.5
"""Slices further apart than this many times their thickness miss tissue."""
SPACING_DISAGREEMENT = 0.05


def duplicate_slice(subject: Subject) -> Reason | None:
    """Two slices have one position, are one object, or show the same pixels."""
    slices = subject.series.slices
    counts = Counter((slice_.sop_uid or slice_.path, slice_.frame) for slice_ in slices)
    twice = [slice_ for slice_ in slices if counts[slice_.sop_uid or slice_.path, slice_.frame] > 1]
    if twice:
        notice = Notice("slice_twice", {"file": _named(twice[0].path)})
        return Reason(notice, tuple(slice_.path for slice_ in twice))
    places = subject.series.places_mm
    if places is not None:
        at = np.flatnonzero(np.diff(places) <= subject.limits.spacing_tolerance_mm).tolist()
        if at:
            files = _ends_of(subject.series, at)
            values = {**_pair(*files[:2]), "at_mm": float(places[at[0]])}
            return Reason(Notice("slices_at_one_place", values), tuple(dict.fromkeys(files)))
    return _same_pixels(subject)


def _same_pixels(subject: Subject) -> Reason | None:
    image = subject.image
    if image is None:
        return None
    seen: dict[bytes, int] = {}
    for number in np.flatnonzero(image.is_read).tolist():
        plane = image.hu[number]
        if np.ptp(plane) == 0:
            continue  # an empty slice may repeat
        before = seen.setdefault(plane.tobytes(), number)
        if before != number:
            files = (subject.series.slices[before].path, subject.series.slices[number].path)
            return Reason(Notice("slices_same_pixels", _pair(*files)), files)
    return None


def missing_slice(subject: Subject) -> Reason | None:
    """One or more slices are missing between two neighbouring slices."""
    series = subject.series
    gaps, usual = _gaps(subject), series.spacing_mm
    if gaps is None or usual is None:
        return None
    tolerance = subject.limits.spacing_tolerance_mm
    steps = np.rint(gaps / usual).astype(np.int64)
    is_missing = (steps >= 2) & (np.abs(gaps - steps * usual) <= tolerance * steps)
    at = np.flatnonzero(is_missing).tolist()
    if at:
        count = int((steps[is_missing] - 1).sum())
        files = _ends_of(series, at)
        values = {
            "count": count if count > 1 else None,
            "places": len(at) if len(at) > 1 else None,
            **_pair(*files[:2]),
            "gap_mm": float(gaps[at[0]]),
            "usual_mm": usual,
        }
        return Reason(Notice("slices_missing", values), tuple(dict.fromkeys(files)))
    thickest = max(slice_.thickness_mm or 0.0 for slice_ in series.slices)
    if thickest > 0 and usual > WIDEST_GAP * thickest:
        values = {"usual_mm": usual, "thickness_mm": thickest}
        return Reason(Notice("slices_leave_gaps", values))
    return None


def uneven_spacing(subject: Subject) -> Reason | None:
    """Slices are unevenly spaced, with none missing, or are not on one line."""
    series = subject.series
    gaps, usual = _gaps(subject), series.spacing_mm
    if gaps is None or usual is None:
        return None
    tolerance = subject.limits.spacing_tolerance_mm
    steps = np.maximum(np.rint(gaps / usual), 1)
    is_odd = (np.abs(gaps - steps * usual) > tolerance * steps) & (gaps > tolerance)
    at = np.flatnonzero(is_odd).tolist()
    if not at:
        return _off_line(subject)
    files = _ends_of(series, at)
    values = {**_pair(*files[:2]), "gap_mm": float(gaps[at[0]]), "usual_mm": usual}
    return Reason(Notice("slices_uneven", values), tuple(dict.fromkeys(files)))


def _off_line(subject: Subject) -> Reason | None:
    """A slice that is half a pixel or more off the line from the first slice to the last."""
    series = subject.series
    off = sideways_shift_mm(series)
    limit = max(subject.limits.spacing_tolerance_mm, half_pixel_mm(series))
    at = np.flatnonzero(off > limit).tolist()
    if not at:
        return None
    files = tuple(series.slices[number].path for number in at)
    values = {"file": _named(files[0]), "off_mm": float(off[at[0]])}
    return Reason(Notice("slice_displaced", values), files)


def contradicting_spacing(subject: Subject) -> Reason | None:
    """The header's slice spacing contradicts the positions."""
    usual = subject.series.spacing_mm
    stated = {
        abs(slice_.slice_spacing_mm) for slice_ in subject.series.slices if slice_.slice_spacing_mm
    }
    if usual is None or not stated:
        return None
    worst = max(stated, key=lambda value: abs(value - usual))
    if abs(worst - usual) <= SPACING_DISAGREEMENT * usual + subject.limits.spacing_tolerance_mm:
        return None
    return Reason(Notice("spacing_contradicts", {"stated_mm": worst, "usual_mm": usual}))


def too_few_slices(subject: Subject) -> Reason | None:
    """Fewer slices than a scan of a chest can have."""
    count = len(subject.series.slices)
    fewest = subject.limits.fewest_slices
    values = {"count": count, "limit": fewest}
    return Reason(Notice("few_slices", values)) if count < fewest else None


def _gaps(subject: Subject) -> FloatArray | None:
    places = subject.series.places_mm
    return None if places is None or len(places) < 3 else np.diff(places)


def _ends_of(series: Series, gaps: list[int]) -> list[str]:
    """The files of the slices before and after each gap."""
    return [series.slices[number + extra].path for number in gaps for extra in (0, 1)]


def _pair(first: str, second: str) -> dict[str, str]:
    return {"first": _named(first), "second": _named(second)}


def _named(path: str) -> str:
    return PurePath(path).name


def small_matrix(subject: Subject) -> Reason | None:
    """Fewer rows or columns than the limit."""
    side = min(min(slice_.pixels.rows, slice_.pixels.columns) for slice_ in subject.series.slices)
    limit = subject.limits.smallest_matrix
    first = subject.series.slices[0].pixels
    if side >= limit:
        return None
    values = {"rows": first.rows, "columns": first.columns, "limit": limit}
    return Reason(Notice("few_pixels", values))


def thick_slices(subject: Subject) -> Reason | None:
    """Slices are thicker than the limit, or do not state their thickness."""
    # rounded, because scanners write 3.0000001
    thicknesses = [round(slice_.thickness_mm or 0.0, 3) for slice_ in subject.series.slices]
    known = [thickness for thickness in thicknesses if thickness > 0]
    if not known:
        return Reason(Notice("thickness_unknown"))
    limit = subject.limits.largest_thickness_mm
    values = {"thickness_mm": max(known), "limit_mm": limit}
    return Reason(Notice("too_thick", values)) if max(known) > limit else None


AIR_HU = (-1080.0, -750.0)
"""The range of the level of air and lung in chest CT."""
TISSUE_HU = (-150.0, 150.0)
"""The range of the level of fat, muscle and blood."""
LEAST_CONTRAST_HU = 300.0
"""Levels of air and tissue are further apart than this on any scale that may be HU."""
SHOWN_HU = (-1024, 600)
"""Metal and padding are cut off before slices are compared."""
ODD_SLICE_RATIO = 1.3
"""In good scans a slice is at most 0.75 times as unlike its neighbours as these are each other."""
ODD_SLICE_HU = 2.0
ODD_END_RATIO = 3.0
SWAP_RATIO = 0.9
"""In good scans exchanging neighbours makes their differences at least 1.3 times as large."""


def wrong_rescale(subject: Subject) -> Reason | None:
    """Values are not Hounsfield units: no rescaling, or air and soft tissue at wrong values."""
    for slice_ in subject.series.slices:
        if slice_.slope is None or slice_.intercept is None:
            return Reason(Notice("no_rescale"), (slice_.path,))
        if slice_.slope <= 0:
            return Reason(Notice("bad_slope", {"slope": slice_.slope}), (slice_.path,))
    seen = subject.anatomy
    if seen is None:
        return None
    if seen.tissue_hu - seen.air_hu < LEAST_CONTRAST_HU:
        return Reason(Notice("little_contrast", {"span_hu": seen.tissue_hu - seen.air_hu}))
    air, tissue = round(seen.air_hu), round(seen.tissue_hu)
    if not (AIR_HU[0] <= air <= AIR_HU[1] and TISSUE_HU[0] <= tissue <= TISSUE_HU[1]):
        return Reason(Notice("wrong_levels", {"air_hu": air, "tissue_hu": tissue}))
    return None


def slice_out_of_place(subject: Subject) -> Reason | None:
    """A slice does not fit between its neighbours: swapped, foreign or rescaled differently."""
    image = subject.image
    if image is None or len(image.hu) < 4 or not image.is_read.all():
        return None
    shown = np.clip(image.hu, *SHOWN_HU)
    neighbours, two_apart = _difference_hu(shown, 1), _difference_hu(shown, 2)
    odd = np.flatnonzero(_is_odd(neighbours, two_apart)).tolist()
    if odd:
        files = tuple(subject.series.slices[number].path for number in odd)
        return Reason(Notice("slices_do_not_fit", {"count": len(odd)}), files)
    # where exchanging two neighbours would make the series smoother
    now, exchanged = neighbours[:-2] + neighbours[2:], two_apart[:-1] + two_apart[1:]
    swapped = (np.flatnonzero(exchanged < SWAP_RATIO * now) + 1).tolist()
    if swapped:
        files = tuple(dict.fromkeys(_ends_of(subject.series, swapped)))
        return Reason(Notice("slices_in_wrong_order"), files)
    return None


def _difference_hu(hu: CoarseArray, apart: int) -> FloatArray:
    """Mean difference of slices that are this number of slices apart."""
    pairs = zip(hu[apart:], hu[:-apart], strict=True)
    return np.array([np.abs(first - other).mean(dtype=np.float64) for first, other in pairs])


def _is_odd(neighbours: FloatArray, two_apart: FloatArray) -> np.ndarray:
    """Slices unlike both neighbours, which are like each other; ends have one neighbour."""
    odd = np.zeros(len(neighbours) + 1, dtype=np.bool_)
    nearer = np.minimum(neighbours[:-1], neighbours[1:])
    odd[1:-1] = (nearer > ODD_SLICE_RATIO * two_apart) & (nearer - two_apart > ODD_SLICE_HU)
    for end, here, beyond in (
        (0, neighbours[0], neighbours[1]),
        (-1, neighbours[-1], neighbours[-2]),
    ):
        odd[end] = here > ODD_END_RATIO * beyond + ODD_SLICE_HU
    return odd
