"""Coarse image -> which of its air lies in the body, and which around it or at its own edge.

Everything is decided slice by slice on voxels of about 3 mm. Thin paths through the skin (noise,
streaks, a drain) are closed before air is followed in from the edge of the image; what the path is
too wide for is told by its density where the body lies on both sides of it.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.imaging.morphology import block_mean, dilated, eroded
from nodulebench.imaging.volume import AIR_HU

Labels: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""The number of the region that each voxel belongs to, 0 for none."""

AIR_THRESHOLD_HU = -400.0
"""Half-way between lung (about -850 HU) and soft tissue (about 50 HU)."""
LUNG_HU = (-965.0, -500.0)
"""Median HU of lung in coarse voxels; air in bowels, sinuses and below masks is lower."""
LEAK_MM = 9.0
"""Air around the body does not come in through a path that is narrower."""
SMALLEST_PIECE_CM2 = 5.0
"""Less lung on a slice is not told from the air around the body by its density."""
WITHIN_BODY_SHARE = 0.1
"""So much of a lung that the field of view cuts has the body on both sides."""
BODY_PART_SHARE = 0.3
"""Parts of the body on a slice are at least this large beside the largest; tables are thinner."""
LOWEST_AIR_HU = -1100.0
"""What is lower all along the scan is padding."""
EVEN_AIR_HU = -1020.0
"""What is the same all along the scan and lower is padding, not air that is even."""


@dataclass(frozen=True, slots=True)
class Air:
    """The air of an image."""

    inside: BoolArray
    """Air in the body; a voxel beside the air around it does not count."""
    outside: BoolArray
    """Air around the body, and what lies outside the field of view."""
    around: BoolArray
    """Of that, what is air."""
    padding: BoolArray
    """Rows and columns that are the same on every slice, or darker than air."""
    within: BoolArray
    """Everything that has the body on both sides, across or from front to back."""


def see_air(hu: Float32Array, step_mm: FloatArray) -> Air:
    """Part the air in the body from the air around it.

    Args:
        hu: the image in the patient's axes, in voxels of about 3 mm.
        step_mm: their size.
    """
    air = hu < AIR_THRESHOLD_HU
    padding = padded(hu)
    wide = eroded(air, LEAK_MM / 2, step_mm)
    labels, count = slice_labels(wide & ~padding)
    at_edge = np.zeros(count + 1, dtype=np.bool_)
    at_edge[labels[:, edge_of(padding)]] = True
    at_edge[0] = False
    body = within_body(hu)
    cut = _lung_pieces(hu, np.where(at_edge[labels], labels, 0), body, step_mm)
    reached = at_edge[labels] & ~cut
    joined, _ = slice_labels(reached & body)
    reached &= ~_lung_pieces(hu, joined, body, step_mm)
    outside = dilated(reached, LEAK_MM / 2, step_mm) & air & ~padding
    inside = air & ~grown_in_slices(outside) & ~padding
    around = outside | (padding & (hu > EVEN_AIR_HU))
    return Air(inside, outside | padding, around & (hu > LOWEST_AIR_HU), padding, body)


def _lung_pieces(
    hu: Float32Array, labels: Labels, body: BoolArray, step_mm: FloatArray
) -> BoolArray:
    """Which of the pieces on slices are lung: as dark as lung, and between parts of the body.

    All pieces that touch from slice to slice are asked together what lies between parts of the
    body: beside some of them the field of view may leave no wall.
    """
    from scipy import ndimage

    size = np.bincount(labels.ravel())
    is_dark = size * step_mm[1] * step_mm[2] / 100 >= SMALLEST_PIECE_CM2
    is_dark &= _has_lung_density(hu, labels, size)
    if not is_dark.any():
        return np.zeros(hu.shape, dtype=np.bool_)
    regions, count = ndimage.label(is_dark[labels])
    size = np.bincount(regions.ravel(), minlength=count + 1)
    is_lung = np.bincount(regions[body], minlength=count + 1) >= WITHIN_BODY_SHARE * size
    is_lung[0] = False
    pieces: BoolArray = is_lung[regions]
    return pieces


def _has_lung_density(hu: Float32Array, labels: Labels, size: IntArray) -> BoolArray:
    """For every region whether at most half of it is darker than lung, and at most half denser."""
    at = (hu >= LUNG_HU[0]) & (labels > 0)
    level, label = hu[at], labels[at]
    darker = size - np.bincount(label, minlength=len(size))
    denser = np.bincount(label[level > LUNG_HU[1]], minlength=len(size))
    is_lung: BoolArray = 2 * np.maximum(darker, denser) <= size
    is_lung[0] = False
    return is_lung


def cut_lung_cm2(hu: Float32Array, step_mm: FloatArray) -> FloatArray:
    """For every slice how much lung reaches the edge of the field of view.

    A region counts that lies within the body's outline, touches the edge and is as dark as lung.
    """
    padding = padded(hu)
    labels, count = slice_labels((hu < AIR_THRESHOLD_HU) & within_body(hu) & ~padding)
    area = np.zeros(len(hu))
    size = np.bincount(labels.ravel(), minlength=count + 1)
    at_edge = np.unique(labels[:, edge_of(padding)])
    cut = at_edge[_has_lung_density(hu, labels, size)[at_edge]]
    ends = np.maximum.accumulate(labels.max(axis=(1, 2)))
    np.add.at(area, np.searchsorted(ends, cut), size[cut] * step_mm[1] * step_mm[2] / 100)
    return area


def padded(hu: npt.NDArray[np.generic]) -> BoolArray:
    """Rows and columns outside the field of view: the same on every slice, or darker than air."""
    some = hu[[0, len(hu) // 2, -1]].astype(np.float32)
    padding = _is_padding(some)
    padding[padding] = _is_padding(hu[:, padding])
    return padding


def _is_padding(hu: npt.NDArray[Any]) -> BoolArray:
    highest = hu.max(axis=0)
    is_even = (highest - hu.min(axis=0) < 1.0) & (highest < AIR_THRESHOLD_HU)
    is_padding: BoolArray = is_even | (highest < LOWEST_AIR_HU)
    return is_padding


def seen_mean(
    hu: npt.NDArray[np.generic], factors: IntArray, lead: IntArray | None = None
) -> Float32Array:
    """Means over blocks of voxels, of what lies in the field of view where a block has any of it.

    Half a block of padding would make lung beside it as dark as padding, and tissue as dark as air.

    Args:
        hu: the voxels.
        factors: how many voxels of each axis are a block.
        lead: so many voxels of the first block lie before the image.
    """
    padding = padded(hu)
    if not padding.any():
        return block_mean(hu, factors, lead)
    flat = np.array([1, *factors[1:]])
    ahead = None if lead is None else np.array([0, *lead[1:]])
    share = block_mean(~padding[None], flat, ahead)
    unseen = block_mean(hu.max(axis=0)[None], flat, ahead)
    total = block_mean(np.where(padding, hu.dtype.type(0), hu), factors, lead)
    mean: Float32Array = np.where(share > 0, total / np.maximum(share, 1e-6), unseen)
    return mean


def edge_of(padding: BoolArray) -> BoolArray:
    """Rows and columns where the field of view ends."""
    from scipy import ndimage

    edge: BoolArray = ndimage.binary_dilation(padding, iterations=2)
    edge[[0, -1], :] = True
    edge[:, [0, -1]] = True
    return edge


def within_body(hu: Float32Array) -> BoolArray:
    """What has the body on both sides, across or from front to back; the table does not count."""
    labels, count = slice_labels(hu > AIR_THRESHOLD_HU)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    size[0] = 0
    # labels are given slice by slice, so the last label of each slice tells where it ends
    ends = np.maximum.accumulate(labels.max(axis=(1, 2)))
    largest = np.array([part.max(initial=0) for part in np.split(size[1:], ends)[: len(ends)]])
    place = np.minimum(np.searchsorted(ends, np.arange(count + 1)), len(ends) - 1)
    is_body = size >= np.maximum(1, BODY_PART_SHARE * largest[place])
    body = is_body[labels]
    within: BoolArray = np.zeros(hu.shape, dtype=np.bool_)
    for axis in (1, 2):
        before = np.maximum.accumulate(body, axis=axis)
        after = np.flip(np.maximum.accumulate(np.flip(body, axis), axis=axis), axis)
        within |= before & after
    return within


def slice_labels(mask: BoolArray) -> tuple[Labels, int]:
    """Regions whose voxels touch within a slice, numbered slice by slice, and their count."""
    from scipy import ndimage

    shape = np.zeros((3, 3, 3), dtype=np.bool_)
    shape[1] = ndimage.generate_binary_structure(2, 1)
    labels, count = ndimage.label(mask, structure=shape)
    return labels, count


def grown_in_slices(mask: BoolArray) -> BoolArray:
    """A mask with the neighbours of its voxels on the same slice."""
    grown = mask.copy()
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    grown[:, :, 1:] |= mask[:, :, :-1]
    grown[:, :, :-1] |= mask[:, :, 1:]
    return grown


SMALLER_LUNG_SHARE = 0.1
"""A lung may be this small beside the other; less is bowel gas or a bulla."""
VESSELS_HU = 45.0
"""The brightest twentieth of lung lies so far above its median: vessels (at least 100 HU in scans
that were looked at); foam and air have noise alone."""
EMPTY_LUNG_HU, EMPTY_LUNG_VESSELS_HU, EMPTY_LUNG_ML = 15.0, 100.0, 500.0
"""Lung that is all emphysema is darker: at least so far above the air around the body, with clear
vessels, and large."""
WALL_MM = 9.0
"""Lungs lie deeper in the body; the core of a table, a head rest or a cushion does not."""
LARGEST_EXPOSED_SHARE = 0.25
"""So much of a lung's border may lie nearer to the air around the body."""
SMALLEST_REGION_ML = 5.0
"""Smaller regions are not looked at."""


@dataclass(frozen=True, slots=True)
class LungRegions:
    """What is said of every region by its number; the first is what is no region."""

    is_lung: BoolArray
    """It has a lung's density, vessels and wall, and is not small beside the largest."""
    is_other: BoolArray
    """It is as empty as air, or lies open to the air around the body: no lung."""


def classify_regions(
    hu: Float32Array, regions: Labels, count: int, around: BoolArray, step_mm: FloatArray
) -> LungRegions:
    """Tell lung from other air in the body.

    Args:
        hu: the image in voxels of about 3 mm.
        regions: the number of the region that each voxel belongs to, 0 for none.
        count: how many regions there are.
        around: the air around the body.
        step_mm: the size of the voxels.
    """
    from scipy import ndimage

    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    inside = regions > 0
    core = ~grown_in_slices(~inside)
    border = inside & ~core
    air_hu = float(np.median(hu[around])) if around.any() else AIR_HU
    near = near_air(around, step_mm)
    bordering = np.bincount(regions[border], minlength=count + 1)
    exposed = np.bincount(regions[border & near], minlength=count + 1)
    size_ml = size * float(np.prod(step_mm)) / 1000.0
    is_large = size_ml >= SMALLEST_REGION_ML
    is_open = exposed > LARGEST_EXPOSED_SHARE * bordering
    is_lung, is_other = np.zeros_like(is_large), is_large & is_open
    boxes = ndimage.find_objects(regions)
    for number in np.flatnonzero(is_large & ~is_open):
        box = boxes[number - 1]
        region = regions[box] == number
        is_deep = region & core[box]
        middle, bright = np.percentile(hu[box][is_deep if is_deep.any() else region], [50, 95])
        vessels = bright - middle
        is_lung[number] = is_deep.any() and (
            (LUNG_HU[0] <= middle <= LUNG_HU[1] and vessels >= VESSELS_HU)
            or (
                air_hu + EMPTY_LUNG_HU <= middle < LUNG_HU[0]
                and vessels >= EMPTY_LUNG_VESSELS_HU
                and size_ml[number] >= EMPTY_LUNG_ML
            )
        )
        is_other[number] = middle < LUNG_HU[0] and not is_lung[number]
    lung_size = np.where(is_lung, size, 0)
    is_lung &= size >= np.maximum(1, SMALLER_LUNG_SHARE * lung_size.max())
    return LungRegions(is_lung, is_other)


def near_air(around: BoolArray, step_mm: FloatArray) -> BoolArray:
    """What is nearer to the air around the body than a chest wall is thick."""
    near = around
    for _ in range(max(1, round(WALL_MM / float(step_mm[1])))):
        near = grown_in_slices(near)
    return near


LUMEN_THRESHOLDS_HU = tuple(range(-980, -760, 20))
LARGEST_AIRWAYS_ML = 110.0
LARGEST_JUMP = 1.6
"""How much larger a region may get from one threshold to the next without being a leak."""
FREE_JUMP_ML = 10.0
TRACHEA_ML = 40.0
"""From a seed to this much any growth is the trachea's own: its darkest voxels come first."""
TRACHEA_AREA_MM2 = (50.0, 700.0)
TRACHEA_OFF_CENTRE_MM = 45.0
SMALLEST_FILLING = 0.55
"""Share of its box that the trachea's round section fills (a disc: 0.785)."""
LARGEST_ASPECT = 2.2
SEED_SLICES_MM = 15.0
"""The trachea is a section that goes on for at least this long."""
SEED_THRESHOLD_HU = -800.0
REACH_DOWN_MM = np.array([220.0, 90.0, 90.0])
REACH_UP_MM = np.array([120.0, 90.0, 90.0])
"""How far from a place in the trachea its ends and the main bronchi can be: z, y, x."""


def find_airways(hu: Float32Array, spacing_mm: FloatArray) -> BoolArray:
    """The lumen of trachea and main bronchi; empty where no trachea is seen.

    Args:
        hu: the scan, slices from the feet.
        spacing_mm: voxel size along the axes of ``hu``.
    """
    seed = _trachea_seed(hu, spacing_mm)
    kept = np.zeros(hu.shape, dtype=np.bool_)
    if seed is None:
        return kept
    box = _box_below(hu, seed, spacing_mm)
    local = tuple(at - part.start for at, part in zip(seed, box, strict=True))
    kept[box] = _grown(hu[box], local, spacing_mm)
    return kept


def _box_below(
    hu: Float32Array, seed: tuple[int, ...], spacing_mm: FloatArray
) -> tuple[slice, ...]:
    """Where trachea and main bronchi can be, seen from a place in the trachea."""
    low = np.maximum(0, seed - np.ceil(REACH_DOWN_MM / spacing_mm)).astype(int)
    high = np.minimum(hu.shape, seed + np.ceil(REACH_UP_MM / spacing_mm) + 1).astype(int)
    return tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))


def _grown(hu: Float32Array, seed: tuple[int, ...], spacing_mm: FloatArray) -> BoolArray:
    """The largest region around the seed before it leaks into the lung."""
    from scipy import ndimage

    voxel_ml = float(np.prod(spacing_mm)) / 1000.0
    kept = np.zeros(hu.shape, dtype=np.bool_)
    for threshold in LUMEN_THRESHOLDS_HU:
        lumen = hu < threshold
        if not lumen[seed]:
            continue
        labels, _ = ndimage.label(lumen)
        grown = labels == labels[seed]
        before, after = (float(np.count_nonzero(one)) * voxel_ml for one in (kept, grown))
        is_leak = after > max(LARGEST_JUMP * before + FREE_JUMP_ML, TRACHEA_ML)
        if is_leak or after > LARGEST_AIRWAYS_ML:
            break
        kept = grown
    return kept


def _trachea_seed(hu: Float32Array, spacing_mm: FloatArray) -> tuple[int, ...] | None:
    """The darkest voxel of a round section that goes on over slices in the upper half."""
    slices = hu.shape[0]
    needed = max(2, int(np.ceil(SEED_SLICES_MM / spacing_mm[0])))
    center = _body_center(hu)
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
                return _darkest(hu, track)
        tracks = ongoing
    return None


def _body_center(hu: Float32Array) -> float:
    """The middle column of everything denser than fat."""
    columns = np.flatnonzero((hu > -200).any(axis=(0, 1)))
    return float(columns.mean()) if len(columns) else hu.shape[2] / 2


def _round_sections(
    lumen: BoolArray, spacing_mm: FloatArray, center: float
) -> list[tuple[float, float]]:
    """Centres (row, column) of round air sections of a trachea's size near the midline."""
    from scipy import ndimage

    labels, found = ndimage.label(lumen)
    if not found:
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
    """Whether a section continues a track on the slice above."""
    shift = np.hypot((last[1] - here[1]) * spacing_mm[1], (last[2] - here[2]) * spacing_mm[2])
    return last[0] == here[0] and bool(shift <= 4.0 + 0.5 * spacing_mm[0])


def _darkest(hu: Float32Array, track: list[tuple[int, float, float]]) -> tuple[int, ...]:
    places = [(number, round(row), round(column)) for number, row, column in track]
    return min(places, key=lambda place: float(hu[place]))
