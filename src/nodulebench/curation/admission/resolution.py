"""Series -> whether its resolution is within the limits."""

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject


def small_matrix(subject: Subject) -> Reason | None:
    """Fewer rows or columns than the limit."""
    side = min(min(one.pixels.rows, one.pixels.columns) for one in subject.series.slices)
    limit = subject.limits.smallest_matrix
    first = subject.series.slices[0].pixels
    if side >= limit:
        return None
    values = {"rows": first.rows, "columns": first.columns, "limit": limit}
    return Reason(Notice("few_pixels", values))


def thick_slices(subject: Subject) -> Reason | None:
    """Slices are thicker than the limit, or do not say how thick they are."""
    # rounded, because scanners write 3.0000001
    said = [round(one.thickness_mm or 0.0, 3) for one in subject.series.slices]
    known = [one for one in said if one > 0]
    if not known:
        return Reason(Notice("thickness_unknown"))
    limit = subject.limits.largest_thickness_mm
    values = {"thickness_mm": max(known), "limit_mm": limit}
    return Reason(Notice("too_thick", values)) if max(known) > limit else None
