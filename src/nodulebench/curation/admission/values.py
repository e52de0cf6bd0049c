"""Series -> whether its values are Hounsfield units, and each slice fits between its neighbours."""

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.notices import Notice
from nodulebench.curation.admission.image import CoarseArray
from nodulebench.curation.admission.reasons import Reason, Subject

AIR_HU = (-1080.0, -750.0)
"""Where the level of air and lung lies in chest CT."""
TISSUE_HU = (-150.0, 150.0)
"""Where the level of fat, muscle and blood lies."""
LEAST_CONTRAST_HU = 300.0
"""Levels of air and tissue are further apart than this on any scale that may be HU."""
SHOWN_HU = (-1024, 600)
"""Metal and padding are cut off before slices are compared."""
ODD_SLICE_RATIO = 1.3
"""In good scans a slice is at most 0.75 times as unlike its neighbours as these are each other."""
ODD_SLICE_HU = 2.0
ODD_END_RATIO = 3.0
SWAP_RATIO = 0.9
"""In good scans exchanging neighbours makes them at least 1.3 times as unlike."""


def wrong_rescale(subject: Subject) -> Reason | None:
    """Values are not Hounsfield units: no rescaling, or air and soft tissue at wrong values."""
    for one in subject.series.slices:
        if one.slope is None or one.intercept is None:
            return Reason(Notice("no_rescale"), (one.path,))
        if one.slope <= 0:
            return Reason(Notice("bad_slope", {"slope": one.slope}), (one.path,))
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
    one_apart, two_apart = _difference_hu(shown, 1), _difference_hu(shown, 2)
    odd = np.flatnonzero(_is_odd(one_apart, two_apart)).tolist()
    if odd:
        files = tuple(subject.series.slices[number].path for number in odd)
        return Reason(Notice("slices_do_not_fit", {"count": len(odd)}), files)
    swapped = _swapped(one_apart, two_apart)
    if swapped:
        files = tuple(subject.series.slices[n + extra].path for n in swapped for extra in (0, 1))
        return Reason(Notice("slices_in_wrong_order"), tuple(dict.fromkeys(files)))
    return None


def _difference_hu(hu: CoarseArray, apart: int) -> FloatArray:
    """Mean difference of slices so far apart."""
    pairs = zip(hu[apart:], hu[:-apart], strict=True)
    return np.array([np.abs(one - other).mean(dtype=np.float64) for one, other in pairs])


def _is_odd(one_apart: FloatArray, two_apart: FloatArray) -> np.ndarray:
    """Slices unlike both neighbours, while these are like each other; ends have one neighbour."""
    odd = np.zeros(len(one_apart) + 1, dtype=np.bool_)
    nearer = np.minimum(one_apart[:-1], one_apart[1:])
    odd[1:-1] = (nearer > ODD_SLICE_RATIO * two_apart) & (nearer - two_apart > ODD_SLICE_HU)
    for end, here, beyond in ((0, one_apart[0], one_apart[1]), (-1, one_apart[-1], one_apart[-2])):
        odd[end] = here > ODD_END_RATIO * beyond + ODD_SLICE_HU
    return odd


def _swapped(one_apart: FloatArray, two_apart: FloatArray) -> list[int]:
    """Where exchanging two neighbours would make the series smoother."""
    now = one_apart[:-2] + one_apart[2:]
    exchanged = two_apart[:-1] + two_apart[1:]
    return (np.flatnonzero(exchanged < SWAP_RATIO * now) + 1).tolist()
