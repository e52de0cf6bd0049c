"""A reading and, where known, the image and its lungs -> what a second look should be taken at.

Nothing here is refused: a warning says what is unusual, and the reader or reviewer decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from nodulebench.annotation.readings.reading import DrawnFinding, Reading
from nodulebench.core.arrays import BoolArray
from nodulebench.core.config_model import Written
from nodulebench.core.notices import Notice
from nodulebench.core.tables import PULMONARY_TYPES
from nodulebench.imaging.diameters import long_and_short_mm
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.overlap import crosses_itself
from nodulebench.imaging.rasters import voxels_of
from nodulebench.imaging.volume import VoxelArray


class WarningLimits(Written):
    """Where the usual ends."""

    longest_mm: float = Field(default=30, gt=0)
    """A longer diameter is a mass, not a nodule."""
    calcified_hu: float = 100
    """The mean of a calcified nodule lies above this."""
    thin_slice_mm: float = Field(default=2.5, gt=0)
    """On slices up to this spacing a nodule is seen on more than one."""
    least_in_lung: float = Field(default=0.5, ge=0, le=1)
    """The share of a finding's pixels that lie in the lungs, or near them if it is pleural."""


@dataclass(frozen=True, slots=True)
class ReadingWarning:
    """One unusual thing."""

    case_id: str
    reader_id: str
    finding_id: str
    notice: Notice
    """By its code: long_diameter, calcified_density, outside_lung, crossing_outline or
    single_slice."""

    @property
    def where(self) -> str:
        """The case, the reader and the finding."""
        return f"{self.case_id} {self.reader_id} {self.finding_id}"


_LIMITS = WarningLimits()


def warn(
    reading: Reading,
    place: Geometry | None = None,
    *,
    hu: VoxelArray | None = None,
    lung: BoolArray | None = None,
    near_lung: BoolArray | None = None,
    limits: WarningLimits = _LIMITS,
) -> list[ReadingWarning]:
    """What is unusual about a reading.

    Args:
        reading: what was drawn.
        place: the geometry of the image; without it, slices and pixels are not looked at.
        hu: the image, axes slice, row, column.
        lung: whether each voxel is in the lungs, same axes.
        near_lung: the lungs with a border that holds pleural nodules; without it, these are not
            looked for.
        limits: where the usual ends.
    """
    return [
        ReadingWarning(reading.case_id, reading.reader_id, one.finding_id, notice)
        for one in reading.findings
        for notice in (
            *_shape(one, place, limits),
            *(
                ()
                if place is None
                else _pixels(one, place, hu, near_lung if _is_pleural(one) else lung, limits)
            ),
        )
    ]


def _shape(
    finding: DrawnFinding, place: Geometry | None, limits: WarningLimits
) -> Iterator[Notice]:
    for drawn in finding.slices:
        long = max(drawn.length_mm, drawn.width_mm)
        if drawn.contour:
            long, _ = long_and_short_mm(drawn.outline)
        if long > limits.longest_mm:
            values = {"long_mm": long, "slice": drawn.slice_index, "longest_mm": limits.longest_mm}
            yield Notice("long_diameter", values)
        if crosses_itself(drawn.outline):
            yield Notice("crossing_outline", {"slice": drawn.slice_index})
    if place is not None and len({drawn.slice_index for drawn in finding.slices}) == 1:
        spacing = float(place.spacing_mm[2])
        if spacing <= limits.thin_slice_mm:
            yield Notice("single_slice", {"spacing_mm": spacing})


def _is_pleural(finding: DrawnFinding) -> bool:
    """Whether it comes from the pleura, which lies at the lungs and not in them."""
    return finding.type is not None and finding.type not in PULMONARY_TYPES


def _pixels(
    finding: DrawnFinding,
    place: Geometry,
    hu: VoxelArray | None,
    lung: BoolArray | None,
    limits: WarningLimits,
) -> Iterator[Notice]:
    voxel = np.concatenate([voxels_of([drawn.as_drawn], place) for drawn in finding.slices])
    if not len(voxel):
        return
    column, row, level = voxel.T
    if hu is not None and finding.type in ("calcified", "pleural_calcified"):
        mean = float(hu[level, row, column].mean())
        if mean <= limits.calcified_hu:
            values = {"type": finding.type, "mean_hu": mean, "least_hu": limits.calcified_hu}
            yield Notice("calcified_density", values)
    if lung is not None:
        share = float(lung[level, row, column].mean())
        if share < limits.least_in_lung:
            yield Notice("outside_lung", {"share": 1 - share})
