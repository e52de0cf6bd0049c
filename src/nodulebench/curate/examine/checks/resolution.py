"""Series -> whether its resolution is within the limits."""

from nodulebench.curate.examine.reason import Reason, Subject


def small_matrix(subject: Subject) -> Reason | None:
    """Fewer rows or columns than the limit."""
    side = min(min(one.pixels.rows, one.pixels.columns) for one in subject.series.slices)
    limit = subject.limits.smallest_matrix
    first = subject.series.slices[0].pixels
    if side >= limit:
        return None
    return Reason(f"{first.rows} x {first.columns} pixels; the limit is {limit} x {limit}")


def thick_slices(subject: Subject) -> Reason | None:
    """Slices are thicker than the limit, or do not say how thick they are."""
    # rounded, because scanners write 3.0000001
    said = [round(one.thickness_mm or 0.0, 3) for one in subject.series.slices]
    known = [one for one in said if one > 0]
    if not known:
        return Reason("its slices do not say how thick they are")
    limit = subject.limits.largest_thickness_mm
    return Reason(f"{max(known):g} mm; the limit is {limit:g} mm") if max(known) > limit else None
