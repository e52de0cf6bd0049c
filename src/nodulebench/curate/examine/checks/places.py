"""Series -> whether its slices follow each other evenly: none missing, none twice."""

from collections import Counter
from pathlib import PurePath

import numpy as np

from nodulebench.curate.examine.reason import Reason, Subject
from nodulebench.formats.dicom.stack import beside_mm, half_pixel_mm
from nodulebench.model.arrays import FloatArray

WIDEST_GAP = 1.5
"""Slices further apart than this many times their thickness leave tissue out."""
SPACING_DISAGREEMENT = 0.05


def duplicate_slice(subject: Subject) -> Reason | None:
    """Two slices lie at one place, are one object, or show the very same pixels."""
    slices = subject.series.slices
    counts = Counter((one.sop_uid or one.path, one.frame) for one in slices)
    twice = [one for one in slices if counts[one.sop_uid or one.path, one.frame] > 1]
    if twice:
        return Reason(f"{_named(twice[0].path)} is there twice", tuple(o.path for o in twice))
    places = subject.series.places_mm
    if places is not None:
        at = np.flatnonzero(np.diff(places) <= subject.limits.spacing_tolerance_mm).tolist()
        if at:
            files = [slices[number + extra].path for number in at for extra in (0, 1)]
            text = f"{_named(files[0])} and {_named(files[1])} lie at {places[at[0]]:.2f} mm"
            return Reason(text, tuple(dict.fromkeys(files)))
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
            return Reason(f"{_named(files[0])} and {_named(files[1])} show the same pixels", files)
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
        first, last = series.slices[at[0]].path, series.slices[at[0] + 1].path
        what = f"{count} slices are missing" if count > 1 else "a slice is missing"
        more = f", in {len(at)} places" if len(at) > 1 else ""
        text = f"{what}{more}: {_named(first)} and {_named(last)} are {gaps[at[0]]:.2f} mm apart"
        files = [series.slices[number + extra].path for number in at for extra in (0, 1)]
        return Reason(f"{text}, others {usual:.2f} mm", tuple(dict.fromkeys(files)))
    thickness = [
        one.thickness_mm for one in series.slices if one.thickness_mm and one.thickness_mm > 0
    ]
    if thickness and usual > WIDEST_GAP * max(thickness):
        return Reason(f"slices {usual:.2f} mm apart are only {max(thickness):g} mm thick")
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
    text = f"{_named(files[0])} and {_named(files[1])} are {gaps[at[0]]:.2f} mm apart"
    return Reason(f"{text}, others {usual:.2f} mm", tuple(dict.fromkeys(files)))


def _beside(subject: Subject) -> Reason | None:
    """A slice that lies beside the line from the first to the last, by half a pixel or more."""
    series = subject.series
    off = beside_mm(series)
    limit = max(subject.limits.spacing_tolerance_mm, half_pixel_mm(series))
    at = np.flatnonzero(off > limit).tolist()
    if not at:
        return None
    files = tuple(series.slices[number].path for number in at)
    return Reason(f"{_named(files[0])} lies {off[at[0]]:.1f} mm beside the others", files)


def contradicting_spacing(subject: Subject) -> Reason | None:
    """The header's slice spacing contradicts the positions."""
    usual = subject.series.spacing_mm
    said = {abs(one.slice_spacing_mm) for one in subject.series.slices if one.slice_spacing_mm}
    if usual is None or not said:
        return None
    worst = max(said, key=lambda value: abs(value - usual))
    if abs(worst - usual) <= SPACING_DISAGREEMENT * usual + subject.limits.spacing_tolerance_mm:
        return None
    return Reason(f"its header says {worst:g} mm between slices, their positions {usual:.2f} mm")


def too_few_slices(subject: Subject) -> Reason | None:
    """Fewer slices than a scan of a chest can have."""
    count = len(subject.series.slices)
    fewest = subject.limits.fewest_slices
    return Reason(f"{count} slices; the limit is {fewest}") if count < fewest else None


def _gaps(subject: Subject) -> FloatArray | None:
    places = subject.series.places_mm
    return None if places is None or len(places) < 3 else np.diff(places)


def _named(path: str) -> str:
    return PurePath(path).name
