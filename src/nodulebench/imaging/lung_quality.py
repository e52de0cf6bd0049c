"""Check that segmented lungs are plausible, after the idea of van Rikxoort 2009.

A segmentation is measured and compared with normal lungs; each measure outside its range gives a
warning. One line adds a measure.

van Rikxoort et al., Automatic lung segmentation from thoracic computed tomography scans using a
hybrid approach with error detection. Medical Physics 36:2934-2947, 2009.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray
from nodulebench.core.notices import Notice
from nodulebench.imaging.air import LUNG_HU, WALL_MM, Air, grown_in_slices, near_air
from nodulebench.imaging.morphology import dilated

SMALLEST_BODY_SHARE = 0.08
"""Smallest share of the lungs in the body's widest section; a bowel has less."""


@dataclass(frozen=True, slots=True)
class LungMeasures:
    """Measures of segmented lungs."""

    volume_ml: float
    """Both lungs with their vessels."""
    height_mm: float
    """From the lowest slice with lung to the highest."""
    median_hu: float
    """Without their border."""
    body_share: float
    """Share of the body's section where they are widest."""
    exposed_share: float
    """Share of their border nearer to outside air than the thickness of a chest wall."""
    left_out_share: float
    """Air in the body as dark as lung but not part of them, as a share of their volume."""
    smaller_share: float
    """The smaller lung as a share of the larger."""


class Range(NamedTuple):
    """The plausible range of a measure."""

    measure: str
    low: float
    high: float


RANGES = (
    Range("volume_ml", 500.0, 12_000.0),
    Range("height_mm", 80.0, 450.0),
    Range("median_hu", -985.0, -500.0),
    Range("body_share", SMALLEST_BODY_SHARE, 0.85),
    Range("exposed_share", 0.0, 0.35),
    Range("left_out_share", 0.0, 0.4),
)
SMALLEST_OTHER_SHARE = 0.1
"""A smaller lung, as a share of the other, gives a warning."""
MAY_BE = frozenset({"one_lung"})
"""Warnings that can be true: the other lung was removed, or has collapsed."""


def body_share(lungs: BoolArray, outside: BoolArray) -> float:
    """The lungs' share of the body's section on the slice with the largest lung area."""
    area = lungs.sum(axis=(1, 2))
    widest = int(area.argmax())
    body = int(np.count_nonzero(~outside[widest]))
    return float(area[widest]) / max(1, body)


def measure_lungs(
    hu: Float32Array, label: npt.NDArray[np.uint8], air: Air, step_mm: FloatArray
) -> LungMeasures:
    """Measure segmented lungs, each with its own number in ``label``, in voxels of about 3 mm."""
    lungs = label > 0
    core = ~grown_in_slices(~lungs)
    border = lungs & ~core
    size = np.sort(np.bincount(label.ravel(), minlength=3)[1:])
    slices = np.flatnonzero(lungs.any(axis=(1, 2)))
    is_lung_dark = air.within & (hu > LUNG_HU[0]) & (hu < LUNG_HU[1])
    is_lung_dark &= ~dilated(lungs, WALL_MM, step_mm)
    values = hu[core] if core.any() else hu[lungs]
    return LungMeasures(
        volume_ml=float(size.sum() * np.prod(step_mm) / 1000.0),
        height_mm=float((slices[-1] - slices[0] + 1) * step_mm[0]),
        median_hu=float(np.median(values)),
        body_share=body_share(lungs, air.outside),
        exposed_share=float(
            np.count_nonzero(border & near_air(air.around, step_mm)) / np.count_nonzero(border)
        ),
        left_out_share=float(np.count_nonzero(is_lung_dark) / size.sum()),
        smaller_share=float(size[-2] / size[-1]),
    )


def lung_warnings(measures: LungMeasures) -> tuple[Notice, ...]:
    """A warning for every measure outside its range, and for a single lung."""
    values = ((getattr(measures, range_.measure), range_) for range_ in RANGES)
    warnings = [
        Notice("lungs_unlike", {**range_._asdict(), "value": value})
        for value, range_ in values
        if not range_.low <= value <= range_.high
    ]
    if measures.smaller_share < SMALLEST_OTHER_SHARE:
        warnings.append(Notice("one_lung", {"smaller_share": measures.smaller_share}))
    return tuple(warnings)
