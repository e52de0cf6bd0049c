"""A reading and, where known, the image and its lungs -> warnings about unusual findings.

Nothing is refused here: a warning names what is unusual, and the reader or reviewer decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import Field

from nodulebench.annotation.batch import State
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.readings import DrawnFinding, Reading
from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError, Problem, collect_problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.tables import PULMONARY_TYPES
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import crosses_itself, long_and_short_mm
from nodulebench.imaging.rasters import voxels_of
from nodulebench.imaging.volume import Volume, VoxelArray, to_patient_axes
from nodulebench.io.images.case_images import image_reader


class WarningLimits(ConfigModel):
    """The limits beyond which a finding is unusual."""

    longest_mm: float = Field(default=30, gt=0)
    """A longer diameter is a mass, not a nodule."""
    calcified_hu: float = 100
    """The mean HU of a calcified nodule is above this."""
    thin_slice_mm: float = Field(default=2.5, gt=0)
    """On slices up to this spacing a nodule is seen on more than one."""
    least_in_lung: float = Field(default=0.5, ge=0, le=1)
    """Least share of a finding's pixels in the lungs, or near them if it is pleural."""


@dataclass(frozen=True, slots=True)
class ReadingWarning:
    """A finding that is unusual in one respect."""

    case_id: str
    reader_id: str
    finding_id: str
    notice: Notice
    """Its code is long_diameter, calcified_density, outside_lung, crossing_outline or
    single_slice."""

    @property
    def where(self) -> str:
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
    """What is unusual about a reading; without an input its checks are left out.

    Images have the axes slice, row, column; ``near_lung`` has a border that holds pleural nodules.
    """
    return [
        ReadingWarning(reading.case_id, reading.reader_id, finding.finding_id, notice)
        for finding in reading.findings
        for notice in (
            *_shape(finding, place, limits),
            *(
                ()
                if place is None
                else _pixels(
                    finding, place, hu, near_lung if _is_pleural(finding) else lung, limits
                )
            ),
        )
    ]


def _shape(
    finding: DrawnFinding, place: Geometry | None, limits: WarningLimits
) -> Iterator[Notice]:
    for drawn in finding.slices:
        long = max(drawn.length_mm, drawn.width_mm)
        if drawn.outline:
            long, _ = long_and_short_mm(drawn.corners)
        if long > limits.longest_mm:
            values = {"long_mm": long, "slice": drawn.slice_index, "longest_mm": limits.longest_mm}
            yield Notice("long_diameter", values)
        if crosses_itself(drawn.corners):
            yield Notice("crossing_outline", {"slice": drawn.slice_index})
    if place is not None and len({drawn.slice_index for drawn in finding.slices}) == 1:
        spacing = float(place.spacing_mm[2])
        if spacing <= limits.thin_slice_mm:
            yield Notice("single_slice", {"spacing_mm": spacing})


def _is_pleural(finding: DrawnFinding) -> bool:
    """Whether it is at the pleura, which is next to the lungs and not in them."""
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


BLIND_STATES: tuple[State, ...] = ("reading", "checking", "typing")
SPACING_TOLERANCE = 1e-3
"""How far the voxel size of a table may be from that of the image: tables round it."""


def warn_of(
    readings: Sequence[Reading],
    cases: pl.DataFrame,
    images: Path | None = None,
    *,
    limits: WarningLimits = _LIMITS,
) -> list[ReadingWarning]:
    places = geometries(cases)
    warnings: list[ReadingWarning] = []
    problems: list[Problem] = []
    for case_id in cases["case_id"]:
        own = [reading for reading in readings if reading.case_id == case_id and reading.findings]
        if images is None or not own:
            warnings += [
                warning
                for reading in own
                for warning in warn(reading, places.get(case_id), limits=limits)
            ]
            continue
        with collect_problems(problems):
            warnings += _warn_with_image(own, case_id, places.get(case_id), images, limits)
    raise_problems(problems)
    return warnings


def warn_of_batch(
    handle: ProjectHandle, batch_id: str, images: Path | None = None
) -> list[ReadingWarning]:
    """What is unusual in a batch with its types; blind, so refused, before the review."""
    batch = handle.batch(batch_id)
    if batch.state in BLIND_STATES:
        what = f"is in the state '{batch.state}'; its readings are blind until the review."
        raise InputError.at(f"batch '{batch_id}'", what)
    order = batch.order.case_ids
    cases = handle.workflow.cases.filter(pl.col("case_id").is_in(order))
    return warn_of(batch.typed, cases, images)


def _warn_with_image(
    readings: Sequence[Reading],
    case_id: str,
    place: Geometry | None,
    images: Path,
    limits: WarningLimits,
) -> list[ReadingWarning]:
    from nodulebench.imaging.lungs import segment_lungs

    where = f"image of case '{case_id}'"
    volume = to_patient_axes(image_reader(images)(case_id), where)
    if place is not None:
        _require_same_grid(volume, place, where)
    lungs = segment_lungs(volume, where)
    return [
        warning
        for reading in readings
        for warning in warn(
            reading,
            volume.geometry,
            hu=volume.hu,
            lung=lungs.mask,
            near_lung=lungs.with_slack(),
            limits=limits,
        )
    ]


def _require_same_grid(volume: Volume, place: Geometry, where: str) -> None:
    image_grid, table_grid = _grid(volume.geometry), _grid(place)
    is_same = np.allclose(image_grid[0], table_grid[0], rtol=SPACING_TOLERANCE, atol=0)
    if is_same and place.size is not None:
        is_near = (np.abs(image_grid[2] - table_grid[2]) <= image_grid[0] / 2).all()
        is_same = bool(is_near) and np.array_equal(image_grid[1], table_grid[1])
    if not is_same:
        what = f"has {_shown(volume.geometry)}; the table of cases has {_shown(place)}."
        raise InputError.at(where, what, "Check whether it is the image of another series.")


def _grid(place: Geometry) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Voxel size, number and middle along x, y, z; an unknown number is 0."""
    size = np.zeros((1, 3)) if place.size is None else place.size[None].astype(np.float64)
    step = place.extent_to_world(np.ones((1, 3)))[0]
    number = np.rint(place.extent_to_world(size)[0] / step)
    return step, number, place.to_world((size - 1) / 2)[0]


def _shown(place: Geometry) -> str:
    step, number, middle = _grid(place)
    voxels = " x ".join(f"{value:.4g}" for value in step)
    if place.size is None:
        return f"voxels of {voxels} mm"
    count = " x ".join(f"{value:.0f}" for value in number)
    around = ", ".join(f"{value:.1f}" for value in middle)
    return f"{count} voxels of {voxels} mm around ({around})"
