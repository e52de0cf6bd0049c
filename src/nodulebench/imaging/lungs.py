"""The lungs of a chest CT: air in the body, lung regions, sides, closing; airways and density.

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
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.imaging.air import (
    AIR_THRESHOLD_HU,
    SMALLER_LUNG_SHARE,
    Air,
    Labels,
    LungRegions,
    classify_regions,
    padded,
    seen_mean,
    separate_air,
)
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.lung_quality import MAY_BE, lung_warnings, measure_lungs
from nodulebench.imaging.morphology import (
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

    ``middle``: the body's middle column: a single lung is to its right or left.
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

    ``closing_mm``: nodules and vessels in gaps of up to twice this width are included.
    """
    upright = to_patient_axes(volume, where)
    factors = _factors(upright.spacing_mm, COARSE_MM)
    step = upright.spacing_mm * factors
    lead = _lead(upright, factors * _factors(step, BODY_MM))
    ahead = lead % factors
    coarse = seen_mean(upright.hu, factors, ahead)
    more = _factors(step, BODY_MM)
    wide, wide_step = seen_mean(coarse, more, lead // factors), step * more
    blocks, air = _Blocks(more, lead // factors), separate_air(wide, wide_step)
    body = _Body(wide, wide_step, blocks, air)
    lungs, warnings = _lungs_in_body(coarse, step, body, where)
    airways = find_airways(coarse, step)
    lungs &= ~dilated(airways, AIRWAY_WALL_MM, step)
    closed = np.zeros(lungs.shape, dtype=np.uint8)
    # the middle column of voxels denser than air, so that the field of view does not matter
    columns = (coarse > AIR_THRESHOLD_HU).sum(axis=(0, 1))
    middle = float(np.average(np.arange(len(columns)), weights=columns))
    for side, lung in zip((RIGHT, LEFT), separate_sides(lungs, step, middle), strict=True):
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
    largest = float(size_ml.max())
    if largest < SMALLEST_LUNG_ML:
        raise InputError.at(
            where,
            f"shows no lung: the largest region of air in the body has {largest:.0f} ml "
            f"(a lung has at least {SMALLEST_LUNG_ML:.0f} ml).",
            "Is it a chest CT in Hounsfield units that holds the whole thorax?",
        )
    is_lung_region = np.zeros(count + 1, dtype=np.bool_)
    if classified.is_lung.any():
        is_lung_region[labels[classified.is_lung[cores]]] = True
        is_lung_region[0] = False
        return is_lung_region[labels], ()
    is_lung_region[np.argsort(-size_ml, kind="stable")[:2]] = True
    is_lung_region &= size_ml >= SMALLER_LUNG_SHARE * size_ml.max()
    return is_lung_region[labels], (Notice("lungs_without_tissue"),)


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
    """
    upright = to_patient_axes(volume, where)
    spacing = upright.spacing_mm
    lung = _lung_regions(upright.hu, float(np.prod(spacing)) / 1000.0, where)
    margin = np.minimum(np.ceil(closing_mm / spacing).astype(np.int64), lung.shape)
    wide = np.pad(lung, [(width, width) for width in margin], mode="symmetric")
    inner = tuple(slice(a, a + length) for a, length in zip(margin, lung.shape, strict=True))
    closed = closing(wide, closing_mm, spacing)[inner]
    return Lungs(closed.astype(np.uint8) * RIGHT, upright.geometry)


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


RIM_MM = 5.0
"""Nearer to the pleura, partial volume changes densities."""
VESSEL_THRESHOLD_HU = -600.0
NOISE_WINDOW = 7
"""Side of the window of a local standard deviation, in pixels."""


@dataclass(frozen=True, slots=True)
class LungDensity:
    """Metrics of one scan's lungs, more than ``RIM_MM`` from the pleura."""

    volume_ml: float
    p5_hu: float
    median_hu: float
    p95_hu: float
    noise_sd_hu: float
    """Median over the lungs of the standard deviation in small windows without vessels."""
    vessel_share: float
    """Share of the volume above ``VESSEL_THRESHOLD_HU``: vessels and bronchial walls."""


def lung_density(hu: VoxelArray, lungs: Lungs) -> LungDensity:
    """Measure the lungs of a scan whose axes are those of the patient."""
    spacing = lungs.geometry.spacing_mm[::-1]
    inner = eroded(lungs.mask, RIM_MM, spacing)
    if not inner.any():
        raise UndefinedError("no_inner_lung", distance_mm=RIM_MM)
    values = hu[inner].astype(np.float64)
    low, middle, high = np.percentile(values, (5, 50, 95))
    return LungDensity(
        volume_ml=float(np.count_nonzero(lungs.mask)) * float(np.prod(spacing)) / 1000.0,
        p5_hu=float(low),
        median_hu=float(middle),
        p95_hu=float(high),
        noise_sd_hu=_noise(hu, inner),
        vessel_share=float(np.mean(values > VESSEL_THRESHOLD_HU)),
    )


def _noise(hu: VoxelArray, inner: BoolArray) -> float:
    parts = [
        _local_deviations(hu[number].astype(np.float64), inner[number])
        for number in np.flatnonzero(inner.any(axis=(1, 2)))
    ]
    deviations = np.concatenate(parts)
    if not len(deviations):
        raise UndefinedError("no_window_in_lungs", window=NOISE_WINDOW)
    return float(np.median(deviations))


def _local_deviations(slice_hu: FloatArray, inner: BoolArray) -> FloatArray:
    is_clear = inner & (slice_hu < VESSEL_THRESHOLD_HU)
    sides = [length // NOISE_WINDOW for length in slice_hu.shape]
    cut = tuple(slice(0, side * NOISE_WINDOW) for side in sides)
    shape = (sides[0], NOISE_WINDOW, sides[1], NOISE_WINDOW)
    blocks = slice_hu[cut].reshape(shape)
    whole = is_clear[cut].reshape(shape).all(axis=(1, 3))
    deviations: FloatArray = blocks.std(axis=(1, 3), ddof=1)[whole]
    return deviations


LUMEN_THRESHOLDS_HU = tuple(range(-980, -760, 20))
LARGEST_AIRWAYS_ML = 110.0
LARGEST_JUMP = 1.6
"""Largest growth factor of a region between thresholds that is not a leak."""
FREE_JUMP_ML = 10.0
TRACHEA_ML = 40.0
"""Up to this volume any growth is the trachea itself: its darkest voxels come first."""
TRACHEA_AREA_MM2 = (50.0, 700.0)
TRACHEA_OFF_CENTRE_MM = 45.0
SMALLEST_FILLING = 0.55
"""Smallest share of its box that the trachea's round section fills (a disc: 0.785)."""
LARGEST_ASPECT = 2.2
SEED_SLICES_MM = 15.0
"""Smallest length over which the section of the trachea continues."""
SEED_THRESHOLD_HU = -800.0
REACH_DOWN_MM = np.array([220.0, 90.0, 90.0])

REACH_UP_MM = np.array([120.0, 90.0, 90.0])
"""Largest distance of the ends and main bronchi from a seed in the trachea: z, y, x."""


def find_airways(hu: Float32Array, spacing_mm: FloatArray) -> BoolArray:
    """The lumen of trachea and main bronchi, slices from the feet; empty if no trachea is found."""
    seed = _trachea_seed(hu, spacing_mm)
    airways = np.zeros(hu.shape, dtype=np.bool_)
    if seed is None:
        return airways
    low = np.maximum(0, seed - np.ceil(REACH_DOWN_MM / spacing_mm)).astype(int)
    high = np.minimum(hu.shape, seed + np.ceil(REACH_UP_MM / spacing_mm) + 1).astype(int)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    local = tuple(at - part.start for at, part in zip(seed, box, strict=True))
    airways[box] = _grown(hu[box], local, spacing_mm)
    return airways


def _grown(hu: Float32Array, seed: tuple[int, ...], spacing_mm: FloatArray) -> BoolArray:
    from scipy import ndimage

    voxel_ml = float(np.prod(spacing_mm)) / 1000.0
    region = np.zeros(hu.shape, dtype=np.bool_)
    for threshold in LUMEN_THRESHOLDS_HU:
        lumen = hu < threshold
        if not lumen[seed]:
            continue
        labels, _ = ndimage.label(lumen)
        grown = labels == labels[seed]
        before, after = (float(np.count_nonzero(mask)) * voxel_ml for mask in (region, grown))
        is_leak = after > max(LARGEST_JUMP * before + FREE_JUMP_ML, TRACHEA_ML)
        if is_leak or after > LARGEST_AIRWAYS_ML:
            break
        region = grown
    return region


def _trachea_seed(hu: Float32Array, spacing_mm: FloatArray) -> tuple[int, ...] | None:
    """The darkest voxel of a round section that continues over slices of the upper two thirds."""
    slices = hu.shape[0]
    needed = max(2, int(np.ceil(SEED_SLICES_MM / spacing_mm[0])))
    columns = np.flatnonzero((hu > -200).any(axis=(0, 1)))
    center = float(columns.mean()) if len(columns) else hu.shape[2] / 2
    tracks: list[list[tuple[int, float, float]]] = []
    for number in range(slices - 1, slices // 3, -1):
        sections = _round_sections(hu[number] < SEED_THRESHOLD_HU, spacing_mm, center)
        ongoing = []
        for row, column in sections:
            track = next(
                (t for t in tracks if _is_near(t[-1], (number + 1, row, column), spacing_mm)), []
            )
            ongoing.append([*track, (number, row, column)])
        for track in ongoing:
            if len(track) >= needed:
                places = [(at, round(down), round(across)) for at, down, across in track]
                return min(places, key=lambda place: float(hu[place]))
        tracks = ongoing
    return None


def _round_sections(
    lumen: BoolArray, spacing_mm: FloatArray, center: float
) -> list[tuple[float, float]]:
    """Centres (row, column) of round air sections of a trachea's size near the midline."""
    from scipy import ndimage

    labels, count = ndimage.label(lumen)
    if not count:
        return []
    areas = np.bincount(labels.ravel())[1:] * spacing_mm[1] * spacing_mm[2]
    sections = []
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        area = areas[number - 1]
        if not TRACHEA_AREA_MM2[0] <= area <= TRACHEA_AREA_MM2[1]:
            continue
        height = (box[0].stop - box[0].start) * spacing_mm[1]
        width = (box[1].stop - box[1].start) * spacing_mm[2]
        row = (box[0].start + box[0].stop - 1) / 2
        column = (box[1].start + box[1].stop - 1) / 2
        is_round = area >= SMALLEST_FILLING * height * width
        is_round = is_round and max(height, width) <= LARGEST_ASPECT * min(height, width)
        if is_round and abs(column - center) * spacing_mm[2] <= TRACHEA_OFF_CENTRE_MM:
            sections.append((row, column))
    return sections


def _is_near(
    last: tuple[int, float, float], here: tuple[int, float, float], spacing_mm: FloatArray
) -> bool:
    shift = np.hypot((last[1] - here[1]) * spacing_mm[1], (last[2] - here[2]) * spacing_mm[2])
    return last[0] == here[0] and bool(shift <= 4.0 + 0.5 * spacing_mm[0])
