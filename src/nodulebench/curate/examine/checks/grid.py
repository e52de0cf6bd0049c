"""Series -> whether its slices belong together: one patient, geometry said, one grid."""

from collections import Counter
from typing import TYPE_CHECKING

from nodulebench.curate.examine.reason import Reason, Subject
from nodulebench.formats.dicom.stack import PLACED_BY, differences, is_skew, turned_otherwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from nodulebench.formats.dicom.slices import SliceHeader

FIELD_OF_VIEW_TOLERANCE = 0.05
"""How far pixel size times columns may be from the reconstruction diameter, as a share."""
SQUARE_TOLERANCE = 0.01
"""By which share the sides of a pixel may differ; scanners reconstruct square ones."""


def inconsistent_patient(subject: Subject) -> Reason | None:
    """Slices of one series name different patients or studies."""
    names: dict[str, Callable[[SliceHeader], str]] = {
        "patients": lambda one: one.patient_id,
        "studies": lambda one: one.study_uid,
    }
    for name, value in names.items():
        counts = Counter(value(one) for one in subject.series.slices)
        if len(counts) > 1:
            usual, _ = counts.most_common(1)[0]
            other = [one.path for one in subject.series.slices if value(one) != usual]
            return Reason(f"its slices name {len(counts)} {name}", tuple(dict.fromkeys(other)))
    return None


def no_geometry(subject: Subject) -> Reason | None:
    """A slice does not say where it lies: position, orientation or pixel size lack or are none."""
    for name, value in PLACED_BY.items():
        silent = [one.path for one in subject.series.slices if value(one) is None]
        if silent:
            return Reason(f"{len(silent)} slices have no {name}", tuple(dict.fromkeys(silent)))
    sizes = [one.pixel_spacing_mm or (0.0,) for one in subject.series.slices]
    if min(map(min, sizes)) <= 0:
        return Reason("its pixels have no size")
    skew = [one.path for one in subject.series.slices if is_skew(one)]
    if skew:
        return Reason(
            f"rows and columns of {len(skew)} slices are not at right angles", tuple(skew)
        )
    return None


def inconsistent_orientation(subject: Subject) -> Reason | None:
    """Slices of one series are turned differently."""
    turned = turned_otherwise(subject.series)
    if not turned:
        return None
    total = len(subject.series.slices)
    return Reason(f"{len(turned)} of {total} slices are turned differently", tuple(turned))


def inconsistent_pixels(subject: Subject) -> Reason | None:
    """Slices differ in rows, columns, bits or pixel size; pixels not square or of another field."""
    for text, files in differences(subject.series):
        return Reason(text, files)
    return _contradiction(subject)


def _contradiction(subject: Subject) -> Reason | None:
    for one in subject.series.slices:
        if one.pixel_spacing_mm is None:
            continue
        rows, columns = one.pixel_spacing_mm
        if abs(rows - columns) > SQUARE_TOLERANCE * max(rows, columns):
            return Reason(f"its pixels are not square: {rows:g} x {columns:g} mm")
        if one.field_of_view_mm is None:
            continue
        seen = one.pixel_spacing_mm[1] * one.pixels.columns
        if abs(seen - one.field_of_view_mm) > FIELD_OF_VIEW_TOLERANCE * one.field_of_view_mm:
            return Reason(
                f"{one.pixels.columns} columns of {one.pixel_spacing_mm[1]:g} mm are "
                f"{seen:.0f} mm, but the image was reconstructed to {one.field_of_view_mm:.0f} mm"
            )
    return None
