"""Chest: a scan with its lungs, as every candidate detector sees it, on the scan's grid or another.

A detector asks for the voxel size it works on; scans are averaged, not picked, where voxels grow.
On these voxels every lung has the usual density and no more than the usual noise.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nodulebench.core.arrays import Columns, Float32Array, FloatArray
from nodulebench.detection.density_normalisation import standardise_densities
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.lungs import Lungs, segment_lungs
from nodulebench.imaging.morphology import boxed
from nodulebench.imaging.volume import Volume, to_patient_axes

MARGIN_MM = 15.0
"""Margin around the lungs: their slack and the reach of filters."""
REACH_MM = 8.0
"""Margin around the lungs on cubes: the reach of filters."""

Result = TypeVar("Result")


class SharedResults:
    """Results that threads share: each is computed once; other threads wait only for that one."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[Hashable, Lock] = {}
        self._results: dict[Hashable, Any] = {}

    def get(self, what: Hashable, make: Callable[[], Result]) -> Result:
        """The result of a name; computing it may use other results, never itself."""
        with self._guard:
            lock = self._locks.setdefault(what, Lock())
        with lock:
            if what not in self._results:
                self._results[what] = make()
            result: Result = self._results[what]
            return result


@dataclass(frozen=True, eq=False)
class Chest:
    """A scan in the patient's axes (slice from the feet, row, column) and its lungs."""

    volume: Volume
    lungs: Lungs
    scan: Geometry
    """The grid of the whole scan; the volume is the part around the lungs."""
    shared: SharedResults = field(default_factory=SharedResults, init=False, repr=False)
    """Results that several detectors share."""

    @property
    def hu(self) -> npt.NDArray[np.generic]:
        return self.volume.hu

    @property
    def spacing_mm(self) -> FloatArray:
        return self.volume.spacing_mm

    def to_world(self, index: FloatArray) -> FloatArray:
        """Millimetres (x, y, z) of fractional voxel indices [slice, row, column]."""
        return self.volume.geometry.to_world(np.asarray(index, dtype=np.float64)[:, ::-1])

    def to_index(self, point_mm: FloatArray) -> FloatArray:
        """Fractional voxel indices [slice, row, column] of points in millimetres."""
        return self.volume.geometry.to_index(np.asarray(point_mm, dtype=np.float64))[:, ::-1]

    @cached_property
    def middle(self) -> FloatArray:
        """The middle of the lungs (slice, row, column), to an eighth of a voxel.

        Cutting the image, or a little more or less of lung, mostly moves it by nothing.
        """
        mask, center = self.lungs.mask, []
        for axis, length in enumerate(mask.shape):
            others = tuple(other for other in range(mask.ndim) if other != axis)
            center.append(float(np.average(np.arange(length), weights=mask.sum(axis=others))))
        return np.rint(8.0 * np.array(center)) / 8.0

    @property
    def middle_mm(self) -> FloatArray:
        place: FloatArray = self.to_world(self.middle[None])[0]
        return place

    def resampled(self, step_mm: float) -> "Chest":
        """The same chest on cubic voxels, made once for all detectors that ask for it.

        Its densities are standardised (:mod:`~nodulebench.detection.density_normalisation`).
        """
        return self.shared.get(("cubes", step_mm), lambda: _on_cubes(self, step_mm))


def prepare_scan(volume: Volume, where: str = "volume", lungs: Lungs | None = None) -> Chest:
    """Turn a scan into the patient's axes, find its lungs and cut away distant voxels."""
    upright = to_patient_axes(volume, where)
    regions = lungs or segment_lungs(upright, where)
    _, box = boxed(regions.mask, np.ceil(MARGIN_MM / upright.spacing_mm).astype(np.int64))
    near = upright.part(box)
    part = replace(regions, label=regions.label[box], geometry=near.geometry)
    return Chest(near, part, upright.geometry)


def _on_cubes(chest: Chest, step_mm: float) -> Chest:
    _, box = boxed(chest.lungs.mask, np.ceil(REACH_MM / chest.spacing_mm).astype(np.int64))
    near = chest.volume.part(box)
    middle = chest.middle - [side.start for side in box]
    places = [
        positions_around(float(at), length, float(size), step_mm)
        for at, length, size in zip(middle, near.hu.shape, near.spacing_mm, strict=True)
    ]
    hu = resample(near.hu, near.spacing_mm, step_mm, places)
    first = np.array([axis[0] for axis in places])
    geometry = Geometry(
        spacing_mm=np.full(3, step_mm),
        origin_mm=near.geometry.to_world(first[None, ::-1])[0],
        direction=near.geometry.direction,
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    label = chest.lungs.label[box][np.ix_(*(np.rint(axis).astype(np.int64) for axis in places))]
    below = [int(np.count_nonzero(axis < at)) for axis, at in zip(places, middle, strict=True)]
    usual = standardise_densities(hu, label > 0, step_mm, below)
    return Chest(Volume(usual, geometry), Lungs(label, geometry), chest.scan)


def positions_around(middle: float, count: int, spacing_mm: float, step_mm: float) -> FloatArray:
    """Indices along an axis of ``count`` voxels where the new voxels of ``step_mm`` lie.

    As many as fit lie to either side of the middle, in pairs: of a mirror image, or of an image
    that was cut elsewhere, the same voxels are made, and the same pairs of them.
    """
    step = step_mm / spacing_mm
    lengths = (middle / step, (count - 1 - middle) / step)
    below, above = (2 * int((length + 0.5 + 1e-6) // 2) for length in lengths)
    if not below + above:
        return np.array([middle])
    places: FloatArray = middle + (np.arange(-below, above, dtype=np.float64) + 0.5) * step
    return np.clip(places, 0.0, count - 1.0)  # rounding may put some outside


def resample(
    values: npt.NDArray[np.generic],
    spacing_mm: FloatArray,
    step_mm: float,
    places: Sequence[FloatArray],
) -> Float32Array:
    """Values on cubic voxels that lie at ``places`` along each axis.

    Each axis is weighed by a triangle as wide as the larger of both voxel sizes: linear
    interpolation where voxels become smaller, an average where they grow. One new slice is made at
    a time, so that all that it needs is at hand.
    """
    slices, rows, columns = (
        _weights(place, length, float(size), step_mm)
        for place, length, size in zip(places, values.shape, spacing_mm, strict=True)
    )
    result = np.empty([len(place) for place in places], np.float32)
    for number in range(len(result)):
        weights = slices[[number]]
        near = slice(weights.indices.min(), weights.indices.max() + 1)
        old = values[near].astype(np.float32)
        plane = (weights[:, near] @ old.reshape(len(old), -1)).reshape(old.shape[1:])
        result[number] = (columns @ (rows @ plane).T).T
    return result


def _weights(place: FloatArray, count: int, spacing_mm: float, step_mm: float) -> sparse.csr_array:
    """Row: a new voxel; column: an old one. Every row sums to one."""
    reach = max(spacing_mm, step_mm)
    offsets = np.arange(-int(np.ceil(reach / spacing_mm)) - 1, int(np.ceil(reach / spacing_mm)) + 2)
    column = np.rint(place).astype(np.int64)[:, None] + offsets
    height = 1.0 - np.abs(column - place[:, None]) * spacing_mm / reach
    height[(column < 0) | (column >= count)] = 0.0
    row, offset = np.nonzero(height > 1e-9)
    values = height[row, offset]
    total = np.bincount(row, values, minlength=len(place))
    return sparse.csr_array(
        ((values / total[row]).astype(np.float32), (row, column[row, offset])),
        shape=(len(place), count),
    )


@dataclass(frozen=True, eq=False)
class Candidates(Columns):
    """One entry of each array per candidate; boxes and density are measured on the scan later."""

    center_mm: FloatArray
    """n x 3: x, y, z in LPS millimetres."""
    score: FloatArray
    """Higher: more like a nodule. Comparable within a detector only."""
    diameter_mm: FloatArray
    """The detector's own estimate."""

    def best(self, count: int) -> "Candidates":
        """The highest scores, at most ``count``, highest first; ties keep their order."""
        return self.chosen(np.argsort(-self.score, kind="stable")[:count])


def no_candidates() -> Candidates:
    return Candidates(np.empty((0, 3)), np.empty(0), np.empty(0))


class Detector(Protocol):
    """A candidate detector; its module's ``Settings`` hold every parameter with its origin."""

    def __call__(self, chest: Chest) -> Candidates: ...
