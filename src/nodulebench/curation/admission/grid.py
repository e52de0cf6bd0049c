"""Series -> whether its slices belong together: one patient, geometry said, one grid."""

from collections import Counter
from typing import TYPE_CHECKING

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject
from nodulebench.io.dicom.stack import PLACED_BY, differences, is_skew, turned_otherwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from nodulebench.io.dicom.slices import SliceHeader

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
            notice = Notice("slices_name_several", {"count": len(counts), "what": name})
            return Reason(notice, tuple(dict.fromkeys(other)))
    return None


def no_geometry(subject: Subject) -> Reason | None:
    """A slice does not say where it lies: position, orientation or pixel size lack or are none."""
    for name, value in PLACED_BY.items():
        silent = [one.path for one in subject.series.slices if value(one) is None]
        if silent:
            notice = Notice("slices_without", {"count": len(silent), "what": name})
            return Reason(notice, tuple(dict.fromkeys(silent)))
    sizes = [one.pixel_spacing_mm or (0.0,) for one in subject.series.slices]
    if min(map(min, sizes)) <= 0:
        return Reason(Notice("pixels_without_size"))
    skew = [one.path for one in subject.series.slices if is_skew(one)]
    if skew:
        return Reason(Notice("slices_skew", {"count": len(skew)}), tuple(skew))
    return None


def inconsistent_orientation(subject: Subject) -> Reason | None:
    """Slices of one series are turned differently."""
    turned = turned_otherwise(subject.series)
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
    for one in subject.series.slices:
        if one.pixel_spacing_mm is None:
            continue
        rows, columns = one.pixel_spacing_mm
        if abs(rows - columns) > SQUARE_TOLERANCE * max(rows, columns):
            return Reason(Notice("pixels_not_square", {"rows_mm": rows, "columns_mm": columns}))
        if one.field_of_view_mm is None:
            continue
        seen = one.pixel_spacing_mm[1] * one.pixels.columns
        if abs(seen - one.field_of_view_mm) > FIELD_OF_VIEW_TOLERANCE * one.field_of_view_mm:
            values = {
                "columns": one.pixels.columns,
                "pixel_mm": one.pixel_spacing_mm[1],
                "seen_mm": seen,
                "said_mm": one.field_of_view_mm,
            }
            return Reason(Notice("other_field_of_view", values))
    return None
