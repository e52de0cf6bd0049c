"""Chest CT on a coarse grid -> trachea and main bronchi, grown from the trachea's lumen.

A region that grows from the trachea under a rising threshold stays in the airways until it breaks
through a thin wall into the lung; its size then jumps, and the last region before that is kept.
"""

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray

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
