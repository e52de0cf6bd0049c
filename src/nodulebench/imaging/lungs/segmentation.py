"""Segment the two lungs of a chest CT: air in the body, lung regions, sides, closing.

Which air is lung is decided on voxels of about 3 mm, the shape on voxels of about 1.5 mm; only the
border is decided on the image's own grid. Wider voxels are counted from the middle of the lungs, so
that a scan with another field of view has the same lungs. Vessels, and nodules up to the closing's
width that touch the pleura, belong to the lungs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.lungs.air import (
    AIR_THRESHOLD_HU,
    SMALLER_LUNG_SHARE,
    Air,
    Labels,
    LungRegions,
    classify_regions,
    find_airways,
    padded,
    seen_mean,
    separate_air,
)
from nodulebench.imaging.lungs.quality import MAY_BE, lung_warnings, measure_lungs
from nodulebench.imaging.morphology import (
    Spacing,
    block_mean,
    boxed,
    closing,
    dilated,
    eroded,
    grown_into,
    repeated,
)
from nodulebench.imaging.volume import Volume, VoxelArray, to_patient_axes

LARGEST_SEPARATION_MM = 15.0
"""Lungs that touch are thinned by at most this much until they separate."""
SIDE_BY_SIDE_MM = 50.0
"""Smallest lateral distance of the middles of two lungs; parts of one lung are closer."""
SMALLEST_PIECE_ML = 10.0
"""Smaller separate pieces are ends of bronchi."""


def separate_sides(
    lungs: BoolArray, step_mm: FloatArray, middle: float
) -> tuple[BoolArray, BoolArray]:
    """Right and left lung; lungs that touch are thinned until they separate.

    Args:
        lungs: both lungs.
        step_mm: the size of the voxels.
        middle: the body's middle column: a single lung is to its right or left.
    """
    for thinning_mm in np.arange(0.0, LARGEST_SEPARATION_MM, float(step_mm.max())):
        core = eroded(lungs, float(thinning_mm), step_mm) if thinning_mm else lungs
        pair = _pair(core, float(step_mm[2]))
        if pair is not None:
            smallest = SMALLEST_PIECE_ML * 1000.0 / float(np.prod(step_mm))
            return _grown_back(lungs, *pair, smallest)
    nothing = np.zeros_like(lungs)
    is_right = lungs.any() and _column(lungs) < middle
    return (lungs, nothing) if is_right else (nothing, lungs)


def _column(mask: BoolArray) -> float:
    """The mean column of a mask."""
    along = mask.sum(axis=(0, 1))
    return float(np.average(np.arange(len(along)), weights=along))


def _pair(core: BoolArray, column_mm: float) -> tuple[BoolArray, BoolArray] | None:
    """The largest piece and the largest piece to its side, the right one first."""
    from scipy import ndimage

    labels, count = ndimage.label(core)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    size[0] = 0
    order = np.argsort(-size, kind="stable")
    large = [number for number in order if size[number] >= SMALLER_LUNG_SHARE * size.max() > 0]
    if len(large) < 2:
        return None
    first = labels == large[0]
    for number in large[1:]:
        second = labels == number
        apart_mm = (_column(second) - _column(first)) * column_mm
        if abs(apart_mm) >= SIDE_BY_SIDE_MM:
            return (first, second) if apart_mm > 0 else (second, first)
    return None


def _grown_back(
    lungs: BoolArray, right: BoolArray, left: BoolArray, smallest: float
) -> tuple[BoolArray, BoolArray]:
    """Grow both in turn until they fill the lungs; larger separate pieces go by their position."""
    from scipy import ndimage

    middle = (_column(right) + _column(left)) / 2
    before = 0
    while (filled := int(right.sum()) + int(left.sum())) > before:
        before = filled
        right = grown_into(right, lungs & ~left)
        left = grown_into(left, lungs & ~right)
    labels, count = ndimage.label(lungs & ~right & ~left)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    numbers = [number for number in range(1, count + 1) if size[number] >= smallest]
    for number in numbers:
        piece = labels == number
        side = right if _column(piece) < middle else left
        side |= piece
    return right, left


RIGHT, LEFT = 1, 2
COARSE_MM = 1.5
BODY_MM = 3.0
"""Voxel size for separating air in the body from outside air, and lung from bowel."""
SMALLEST_LUNG_ML = 50.0
CLOSING_MM = 10.0
SLACK_MM = 10.0
"""LUNA16 dropped candidates farther than this outside the lungs."""
AIRWAY_WALL_MM = 2.0

LabelArray = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Lungs:
    """Which voxels belong to the right and the left lung, in the patient's axes."""

    label: LabelArray
    """0 outside, ``RIGHT`` or ``LEFT``; axes slice (from the feet), row, column."""
    geometry: Geometry
    warnings: tuple[Notice, ...] = ()
    """Implausible properties, if they were checked."""

    @property
    def is_plausible(self) -> bool:
        """Whether no warning excludes that these are lungs."""
        return all(warning.code in MAY_BE for warning in self.warnings)

    @property
    def mask(self) -> BoolArray:
        """Both lungs."""
        return self.label > 0

    def with_slack(self, slack_mm: float = SLACK_MM) -> BoolArray:
        """Both lungs and everything at most ``slack_mm`` away from them."""
        spacing = self.geometry.spacing_mm[::-1]
        factors = _factors(spacing, COARSE_MM)
        coarse = block_mean(self.mask, factors) >= 0.5
        wide = dilated(coarse, slack_mm, spacing * factors)
        return repeated(wide, factors, self.label.shape) | self.mask


def segment_lungs(
    volume: Volume, where: str = "volume", *, closing_mm: float = CLOSING_MM
) -> Lungs:
    """Find the lungs of a chest CT.

    Args:
        volume: the scan in any axis order; it is first reordered to the patient's axes.
        where: the name of the volume in messages.
        closing_mm: nodules and vessels in gaps of up to twice this width are included.

    Raises:
        InputError: if the image is too oblique or shows no lung.
    """
    upright = to_patient_axes(volume, where)
    factors = _factors(upright.spacing_mm, COARSE_MM)
    step = upright.spacing_mm * factors
    lead = _lead(upright, factors * _factors(step, BODY_MM))
    ahead = lead % factors
    coarse = seen_mean(upright.hu, factors, ahead)
    body = _body_of(coarse, step, lead // factors)
    lungs, warnings = _lungs_in_body(coarse, step, body, where)
    airways = find_airways(coarse, step)
    lungs &= ~dilated(airways, AIRWAY_WALL_MM, step)
    closed = np.zeros(lungs.shape, dtype=np.uint8)
    for side, lung in zip((RIGHT, LEFT), separate_sides(lungs, step, _middle(coarse)), strict=True):
        grown = closing(lung, closing_mm, step) & ~airways
        closed[grown & ((closed == 0) | lung)] = side
    measures = measure_lungs(body.hu, body.picked(closed), body.air, body.step_mm)
    label = _refined(upright.hu, closed, _Blocks(factors, ahead), step)
    label[:, padded(upright.hu)] = 0
    return Lungs(label, upright.geometry, (*warnings, *lung_warnings(measures)))


@dataclass(frozen=True)
class _Blocks:
    """Wider voxels: voxels per block along each axis, and those of the first before the image."""

    factors: IntArray
    lead: IntArray

    def spread(self, mask: BoolArray, shape: tuple[int, ...]) -> BoolArray:
        """Convert a mask of blocks to the voxels of the image."""
        return repeated(mask, self.factors, shape, self.lead)


@dataclass(frozen=True)
class _Body:
    """The image in wider voxels, each a block of coarse voxels."""

    hu: Float32Array
    step_mm: FloatArray
    blocks: _Blocks
    air: Air

    def picked(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One coarse voxel of every wide one."""
        first = (
            np.maximum(0, np.arange(count) * factor - before)
            for count, factor, before in zip(
                self.hu.shape, self.blocks.factors, self.blocks.lead, strict=True
            )
        )
        return values[np.ix_(*first)]


def _body_of(hu: Float32Array, step: FloatArray, lead: IntArray) -> _Body:
    factors = _factors(step, BODY_MM)
    wide, wide_step = seen_mean(hu, factors, lead), step * factors
    return _Body(wide, wide_step, _Blocks(factors, lead), separate_air(wide, wide_step))


def _lead(upright: Volume, factors: IntArray) -> IntArray:
    """Voxels of the first block before the image, if blocks meet in the middle of the lungs."""
    hu, step = seen_mean(upright.hu, factors), upright.spacing_mm * factors
    nothing = np.zeros(3, dtype=np.int64)
    body = _Body(hu, step, _Blocks(np.ones(3, dtype=np.int64), nothing), separate_air(hu, step))
    regions = _regions_in_body(hu, step, body)
    cores = regions.classified.is_lung[regions.cores]
    if not cores.any():
        return nothing
    near = dilated(cores, 2 * float(step.max()), step) & regions.inside
    # weighted by air content, which changes little if blocks begin elsewhere
    place, weight = np.argwhere(near), AIR_THRESHOLD_HU - hu[near]
    middle = factors * (np.average(place, axis=0, weights=weight) + 0.5)
    return -np.rint(middle).astype(np.int64) % factors


def _factors(spacing_mm: FloatArray, wanted_mm: float) -> IntArray:
    return np.maximum(1, np.rint(wanted_mm / spacing_mm)).astype(np.int64)


def _middle(hu: Float32Array) -> float:
    """The middle column of voxels denser than air, so that the field of view does not matter."""
    columns = (hu > AIR_THRESHOLD_HU).sum(axis=(0, 1))
    return float(np.average(np.arange(len(columns)), weights=columns))


@dataclass(frozen=True)
class _Regions:
    """Air in the body, and the classes of its regions."""

    inside: BoolArray
    cores: Labels
    """Region numbers after air is separated at thin parts."""
    classified: LungRegions


def _regions_in_body(hu: Float32Array, step: FloatArray, body: _Body) -> _Regions:
    from scipy import ndimage

    outside, padding = body.air.outside, body.air.padding
    near_outside = grown_into(outside & ~padding, np.ones_like(outside))
    inside = hu < AIR_THRESHOLD_HU
    inside &= ~body.blocks.spread(near_outside | padding, hu.shape)
    inside[:, padded(hu)] = False  # also if the rest of a wide voxel is in the field of view
    cores, count = ndimage.label(eroded(inside, float(step.max()), step))
    classified = classify_regions(body.hu, body.picked(cores), count, body.air.around, body.step_mm)
    return _Regions(inside, cores, classified)


def _lungs_in_body(
    hu: Float32Array, step: FloatArray, body: _Body, where: str
) -> tuple[BoolArray, tuple[Notice, ...]]:
    """The air of the lungs and their airways, and a warning if it does not look like lung.

    Regions of air are separated at thin parts, classified, and merged again without those that
    are bowel, pockets of clothes or air around the body. If none looks like lung, the largest
    are used, with a warning.
    """
    from scipy import ndimage

    regions = _regions_in_body(hu, step, body)
    inside, cores, classified = regions.inside, regions.cores, regions.classified
    if classified.is_lung.any():
        inside &= ~dilated(classified.is_other[cores], 2 * float(step.max()), step)
    labels, count = ndimage.label(inside)
    size_ml = np.bincount(labels.ravel(), minlength=count + 1) * float(np.prod(step)) / 1000.0
    size_ml[0] = 0.0
    _require_enough_lung(float(size_ml.max()), where)
    is_lung_region = np.zeros(count + 1, dtype=np.bool_)
    if classified.is_lung.any():
        is_lung_region[labels[classified.is_lung[cores]]] = True
        is_lung_region[0] = False
        return is_lung_region[labels], ()
    is_lung_region[np.argsort(-size_ml, kind="stable")[:2]] = True
    is_lung_region &= size_ml >= SMALLER_LUNG_SHARE * size_ml.max()
    return is_lung_region[labels], (Notice("lungs_without_tissue"),)


def _require_enough_lung(largest: float, where: str) -> None:
    if largest < SMALLEST_LUNG_ML:
        raise InputError.at(
            where,
            f"shows no lung: the largest region of air in the body has {largest:.0f} ml "
            f"(a lung has at least {SMALLEST_LUNG_ML:.0f} ml).",
            "Is it a chest CT in Hounsfield units that holds the whole thorax?",
        )


def _refined(hu: VoxelArray, closed: LabelArray, blocks: _Blocks, step: FloatArray) -> LabelArray:
    """Decide the border voxel by voxel: only the air of the rim belongs to the lung."""
    reach = float(step.max()) + 1e-6
    _, box = boxed(closed > 0, np.ceil(reach / step).astype(np.int64) + 1)
    first = np.array([along.start for along in box]) * blocks.factors - blocks.lead
    last = np.array([along.stop for along in box]) * blocks.factors - blocks.lead
    near = tuple(slice(max(0, low), high) for low, high in zip(first, last, strict=True))
    part_of = _Blocks(blocks.factors, np.maximum(0, -first))
    fine = np.zeros(hu.shape, dtype=np.uint8)
    part, coarse = fine[near], closed[box]
    air = hu[near] < AIR_THRESHOLD_HU
    for side in (RIGHT, LEFT):
        lung = coarse == side
        if not lung.any():
            continue
        rim = part_of.spread(
            dilated(lung, reach, step) & ~(coarse == RIGHT + LEFT - side), part.shape
        )
        core = part_of.spread(eroded(lung, reach, step), part.shape)
        part[core | (rim & air)] = side
    return fine


SMALLEST_PART_ML = 1.0
"""A smaller pocket of air next to the largest is a bronchus or bowel."""
OPEN_AIR_HU = -950.0
"""A region with a lower median is in the trachea or outside the body, unless it is the only one."""


def segment_part_of_lung(
    volume: Volume, where: str = "volume", *, closing_mm: float = CLOSING_MM
) -> Lungs:
    """Find the lung in a block cut out of a scan; all of it gets the label ``RIGHT``.

    The block is continued by reflection at its faces, so that vessels and nodules there are
    closed like those inside.

    Raises:
        InputError: if the image is too oblique or shows no lung.
    """
    upright = to_patient_axes(volume, where)
    spacing = upright.spacing_mm
    lung = _lung_regions(upright.hu, float(np.prod(spacing)) / 1000.0, where)
    label = _closed(lung, closing_mm, spacing).astype(np.uint8) * RIGHT
    return Lungs(label, upright.geometry)


def _lung_regions(hu: VoxelArray, voxel_ml: float, where: str) -> BoolArray:
    """Regions of air large enough for a lung; of several, those that are not open air."""
    from scipy import ndimage

    labels, count = ndimage.label(hu < AIR_THRESHOLD_HU)
    numbers = np.arange(1, count + 1)
    size_ml = np.bincount(labels.ravel(), minlength=count + 1)[1:] * voxel_ml
    if not count or size_ml.max() < SMALLEST_PART_ML:
        largest = float(size_ml.max()) if count else 0.0
        raise InputError.at(
            where,
            f"shows no lung: the largest region of air has {largest:.1f} ml "
            f"(a part of a lung has at least {SMALLEST_PART_ML:.0f} ml).",
            "Is it a block of a chest CT in Hounsfield units?",
        )
    numbers = numbers[size_ml >= SMALLEST_PART_ML]
    median = ndimage.median(hu, labels, numbers)
    is_lung = median >= OPEN_AIR_HU
    chosen = numbers[is_lung] if is_lung.any() else numbers[[np.argmax(median)]]
    return np.isin(labels, chosen)


def _closed(lung: BoolArray, closing_mm: float, spacing_mm: Spacing) -> BoolArray:
    margin = np.minimum(np.ceil(closing_mm / spacing_mm).astype(np.int64), lung.shape)
    wide = np.pad(lung, [(width, width) for width in margin], mode="symmetric")
    inner = tuple(
        slice(width, width + length) for width, length in zip(margin, lung.shape, strict=True)
    )
    return closing(wide, closing_mm, spacing_mm)[inner]
