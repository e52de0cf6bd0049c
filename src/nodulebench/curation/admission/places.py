"""Series -> whether its slices follow each other evenly: none missing, none twice."""

from collections import Counter
from pathlib import PurePath

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject
from nodulebench.io.dicom.stack import beside_mm, half_pixel_mm

WIDEST_GAP = 1.5
"""Slices further apart than this many times their thickness leave tissue out."""
SPACING_DISAGREEMENT = 0.05


def duplicate_slice(subject: Subject) -> Reason | None:
    """Two slices lie at one place, are one object, or show the very same pixels."""
    slices = subject.series.slices
    counts = Counter((one.sop_uid or one.path, one.frame) for one in slices)
    twice = [one for one in slices if counts[one.sop_uid or one.path, one.frame] > 1]
    if twice:
        notice = Notice("slice_twice", {"file": _named(twice[0].path)})
        return Reason(notice, tuple(one.path for one in twice))
    places = subject.series.places_mm
    if places is not None:
        at = np.flatnonzero(np.diff(places) <= subject.limits.spacing_tolerance_mm).tolist()
        if at:
            files = [slices[number + extra].path for number in at for extra in (0, 1)]
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
    """The distance of two neighbouring slices leaves room for one or more that are not there."""
    series = subject.series
    gaps, usual = _gaps(subject), series.spacing_mm
    if gaps is None or usual is None:
        return None
    tolerance = subject.limits.spacing_tolerance_mm
    room = np.rint(gaps / usual).astype(np.int64)
    is_missing = (room >= 2) & (np.abs(gaps - room * usual) <= tolerance * room)
    at = np.flatnonzero(is_missing).tolist()
    if at:
        count = int((room[is_missing] - 1).sum())
        files = [series.slices[number + extra].path for number in at for extra in (0, 1)]
        values = {
            "count": count if count > 1 else None,
            "places": len(at) if len(at) > 1 else None,
            **_pair(*files[:2]),
            "gap_mm": float(gaps[at[0]]),
            "usual_mm": usual,
        }
        return Reason(Notice("slices_missing", values), tuple(dict.fromkeys(files)))
    thickness = [
        one.thickness_mm for one in series.slices if one.thickness_mm and one.thickness_mm > 0
    ]
    if thickness and usual > WIDEST_GAP * max(thickness):
        values = {"usual_mm": usual, "thickness_mm": max(thickness)}
        return Reason(Notice("slices_leave_gaps", values))
    return None


def uneven_spacing(subject: Subject) -> Reason | None:
    """Slices are not the same distance apart, with none missing, or do not lie in one line."""
    series = subject.series
    gaps, usual = _gaps(subject), series.spacing_mm
    if gaps is None or usual is None:
        return None
    tolerance = subject.limits.spacing_tolerance_mm
    room = np.maximum(np.rint(gaps / usual), 1)
    is_odd = (np.abs(gaps - room * usual) > tolerance * room) & (gaps > tolerance)
    at = np.flatnonzero(is_odd).tolist()
    if not at:
        return _beside(subject)
    files = [series.slices[number + extra].path for number in at for extra in (0, 1)]
    values = {**_pair(*files[:2]), "gap_mm": float(gaps[at[0]]), "usual_mm": usual}
    return Reason(Notice("slices_uneven", values), tuple(dict.fromkeys(files)))


def _beside(subject: Subject) -> Reason | None:
    """A slice that lies beside the line from the first to the last, by half a pixel or more."""
    series = subject.series
    off = beside_mm(series)
    limit = max(subject.limits.spacing_tolerance_mm, half_pixel_mm(series))
    at = np.flatnonzero(off > limit).tolist()
    if not at:
        return None
    files = tuple(series.slices[number].path for number in at)
    values = {"file": _named(files[0]), "off_mm": float(off[at[0]])}
    return Reason(Notice("slice_beside", values), files)


def contradicting_spacing(subject: Subject) -> Reason | None:
    """The header's slice spacing contradicts the positions."""
    usual = subject.series.spacing_mm
    said = {abs(one.slice_spacing_mm) for one in subject.series.slices if one.slice_spacing_mm}
    if usual is None or not said:
        return None
    worst = max(said, key=lambda value: abs(value - usual))
    if abs(worst - usual) <= SPACING_DISAGREEMENT * usual + subject.limits.spacing_tolerance_mm:
        return None
    return Reason(Notice("spacing_contradicts", {"said_mm": worst, "usual_mm": usual}))


def too_few_slices(subject: Subject) -> Reason | None:
    """Fewer slices than a scan of a chest can have."""
    count = len(subject.series.slices)
    fewest = subject.limits.fewest_slices
    values = {"count": count, "limit": fewest}
    return Reason(Notice("few_slices", values)) if count < fewest else None


def _gaps(subject: Subject) -> FloatArray | None:
    places = subject.series.places_mm
    return None if places is None or len(places) < 3 else np.diff(places)


def _pair(first: str, second: str) -> dict[str, str]:
    return {"first": _named(first), "second": _named(second)}


def _named(path: str) -> str:
    return PurePath(path).name
