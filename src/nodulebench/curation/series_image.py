"""Series -> its image in coarse voxels, its pixel digest, and the slices that cannot be read.

Slices are read one after the other, so that memory does not grow with their size.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, FloatArray, StoredArray
from nodulebench.core.notices import Notice
from nodulebench.imaging.air import (
    SMALLER_LUNG_SHARE,
    SMALLEST_PIECE_CM2,
    classify_regions,
    cut_lung_cm2,
    separate_air,
    slice_labels,
)
from nodulebench.imaging.lung_quality import SMALLEST_BODY_SHARE, body_share
from nodulebench.io.dicom.pixels import PixelsError, TruncatedPixelsError, stored_values
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.slices import SliceHeader

COARSE_SIDE = 128
"""Coarse voxels along a side, at most."""
LOWEST_HU, HIGHEST_HU = -32768, 32767

CoarseArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fault:
    """A slice whose pixels cannot be used."""

    path: str
    notice: Notice
    is_truncated: bool


@dataclass(frozen=True)
class SeriesImage:
    """A series in coarse voxels, in the patient's axes: z to the head, y to the back, x left."""

    hu: CoarseArray
    """Mean HU; slices that cannot be read are 0."""
    step_mm: FloatArray
    """Size of a coarse voxel along z, y, x."""
    is_read: BoolArray
    pixel_sha256: str
    """Of the HU as little-endian int16, slice by slice in order; empty: some are unreadable."""
    faults: tuple[Fault, ...]


def read_image(series: Series) -> SeriesImage:
    """Read all slices of a series; ``faults`` lists those that cannot be read."""
    digest = hashlib.sha256()
    faults: list[Fault] = []
    shape = coarse_shape(series.slices)
    hu = np.zeros((len(series.slices), *shape), dtype=np.float32)
    is_read = np.zeros(len(series.slices), dtype=np.bool_)
    for number, header in enumerate(series.slices):
        try:
            stored = stored_values(header)
        except PixelsError as error:
            cut = isinstance(error, TruncatedPixelsError)
            faults.append(Fault(header.path, error.notice, cut))
            continue
        digest.update(hounsfield(stored, header).tobytes())
        coarse = block_means(stored) * np.float32(header.slope or 1.0) + np.float32(
            header.intercept or 0.0
        )
        if coarse.shape == shape:
            hu[number] = coarse
            is_read[number] = True
    return SeriesImage(
        hu=in_patient_axes(hu, series),
        step_mm=_step_mm(series),
        is_read=is_read,
        pixel_sha256="" if faults or not is_read.all() else digest.hexdigest(),
        faults=tuple(faults),
    )


def hounsfield(stored: StoredArray, header: SliceHeader) -> npt.NDArray[np.int16]:
    """Stored values in HU, rounded and clipped to 16 bits."""
    slope, intercept = header.slope or 1.0, header.intercept or 0.0
    if slope != 1.0 or not intercept.is_integer():
        scaled = np.rint(stored * slope + intercept)
        return np.clip(scaled, LOWEST_HU, HIGHEST_HU).astype("<i2")
    if stored.itemsize == 2 and _fits(stored, int(intercept)):
        # what fits into 16 bits may be added modulo 2**16
        return (stored.astype("<u2") + np.uint16(int(intercept) % 2**16)).view("<i2")
    return np.clip(stored.astype(np.int64) + int(intercept), LOWEST_HU, HIGHEST_HU).astype("<i2")


def _fits(stored: StoredArray, added: int) -> bool:
    lowest, highest = int(stored.min(initial=0)), int(stored.max(initial=0))
    return lowest + added >= LOWEST_HU and highest + added <= HIGHEST_HU


def coarse_factor(columns: int) -> int:
    return max(1, -(-columns // COARSE_SIDE))


def coarse_shape(slices: Sequence[SliceHeader]) -> tuple[int, int]:
    """Rows and columns of the coarse image; slices of another size are left out of it."""
    sizes = [(slice_.pixels.rows, slice_.pixels.columns) for slice_ in slices]
    rows, columns = max(set(sizes), key=lambda size: (sizes.count(size), size))
    factor = coarse_factor(max(rows, columns))
    return rows // factor, columns // factor


def block_means(stored: StoredArray) -> CoarseArray:
    """Means over square blocks of pixels; incomplete blocks at the edges are cut off."""
    factor = coarse_factor(max(stored.shape))
    rows, columns = (side // factor * factor for side in stored.shape)
    lines = stored[0:rows:factor].astype(np.int32)
    for number in range(1, factor):
        lines += stored[number:rows:factor]
    sums = lines[:, 0:columns:factor].copy()
    for number in range(1, factor):
        sums += lines[:, number:columns:factor]
    return sums.astype(np.float32) * np.float32(1.0 / factor**2)


def in_patient_axes(hu: CoarseArray, series: Series) -> CoarseArray:
    """Columns to the left and rows to the back, where slices are axial."""
    cosines = series.orientation
    if cosines is None:
        return hu
    down = -1 if cosines[4] < -0.5 else 1
    across = -1 if cosines[0] < -0.5 else 1
    return hu[:, ::down, ::across]


def _step_mm(series: Series) -> FloatArray:
    """Coarse voxel size; usual values where the header has none."""
    spacing = next(
        (slice_.pixel_spacing_mm for slice_ in series.slices if slice_.pixel_spacing_mm), None
    )
    rows, columns = spacing or (0.7, 0.7)
    sides = [max(slice_.pixels.rows, slice_.pixels.columns) for slice_ in series.slices]
    factor = coarse_factor(max(set(sides), key=sides.count))
    between = series.spacing_mm or series.slices[0].thickness_mm or 2.5
    return np.array([between, rows * factor, columns * factor])


STEP_MM = 5.0
"""Approximate distance of the slices that are examined; both ends are among them."""
PADDING_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What an image shows; areas and lengths in the patient."""

    lung_ml: float
    """Lung: air within the body that has a lung's density, vessels and chest wall."""
    widest_cm2: float
    """Lung on the slice that shows most of it."""
    lowest_cm2: float
    """Lung on the slice nearest to the feet."""
    highest_cm2: float
    """Lung on the slice nearest to the head."""
    cut_mm: float
    """Length of the body along which the edge of the field of view cuts the lung."""
    air_hu: float
    """The darker of its two levels."""
    tissue_hu: float


class Levels(NamedTuple):
    """The two levels of an image."""

    air_hu: float
    """Median of what is darker than the threshold."""
    tissue_hu: float
    """Median of what is brighter."""
    threshold_hu: float


def see_anatomy(hu: CoarseArray, step_mm: FloatArray) -> Anatomy:
    image, step = thinned_out(hu, step_mm)
    area = lung_areas_cm2(image, step)
    levels = two_levels(image)
    is_cut = cut_lung_cm2(image, step) >= SMALLEST_PIECE_CM2
    return Anatomy(
        lung_ml=float(area.sum() * step[0] / 10.0),
        widest_cm2=float(area.max()),
        lowest_cm2=float(area[0]),
        highest_cm2=float(area[-1]),
        cut_mm=float(is_cut.sum() * step[0]),
        air_hu=levels.air_hu,
        tissue_hu=levels.tissue_hu,
    )


def thinned_out(hu: CoarseArray, step_mm: FloatArray) -> tuple[CoarseArray, FloatArray]:
    """Slices about STEP_MM apart, including the first and the last."""
    length = (len(hu) - 1) * float(step_mm[0])
    count = min(len(hu), max(2, round(length / STEP_MM) + 1))
    chosen = np.rint(np.linspace(0, len(hu) - 1, count)).astype(np.int64)
    between = length / (count - 1) if count > 1 else float(step_mm[0])
    return hu[chosen], np.array([between, step_mm[1], step_mm[2]])


def enclosed_air(hu: CoarseArray, threshold_hu: float) -> BoolArray:
    """Air that no axial slice connects with the edge of the image, in its largest regions.

    It does not check whether that is lung, because values may not be HU.
    """
    from scipy import ndimage

    air = hu < threshold_hu
    labels, count = slice_labels(air)
    is_outside = np.zeros(count + 1, dtype=np.bool_)
    for edge in (labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1]):
        is_outside[edge] = True
    is_outside[0] = False
    regions, count = ndimage.label(air & ~is_outside[labels])
    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    is_large = (size > 0) & (size >= SMALLER_LUNG_SHARE * size.max())
    enclosed: BoolArray = is_large[regions]
    return enclosed


def lung_areas_cm2(hu: CoarseArray, step_mm: FloatArray) -> FloatArray:
    """Lung on every slice: regions of air within the body that are classified as lung.

    Together they have at least the share of the body's section that lungs have. One lung is enough.
    """
    from scipy import ndimage

    air = separate_air(hu, step_mm)
    regions, count = ndimage.label(air.inside)
    classified = classify_regions(hu, regions, count, air.around, step_mm)
    lungs = classified.is_lung[regions]
    voxels = lungs.sum(axis=(1, 2))
    if body_share(lungs, air.outside) < SMALLEST_BODY_SHARE:
        voxels = np.zeros_like(voxels)
    areas: FloatArray = voxels * float(step_mm[1] * step_mm[2]) / 100.0
    return areas


def best_threshold(values: CoarseArray) -> float:
    """The value that separates others best into two levels (Otsu 1979)."""
    counts, edges = np.histogram(values, bins=256)
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)[:-1]
    sums = np.cumsum(counts * middles)
    total, whole = below[-1] + counts[-1], sums[-1]
    above = total - below
    spread = np.zeros(len(below))
    is_cut = (below > 0) & (above > 0)
    lower, upper = sums[:-1][is_cut] / below[is_cut], (whole - sums[:-1])[is_cut] / above[is_cut]
    spread[is_cut] = below[is_cut] * above[is_cut] * (upper - lower) ** 2.0
    return float(edges[1 + int(spread.argmax())])


def without_padding(hu: CoarseArray) -> CoarseArray:
    """The values without padding outside the field of view, and without metal."""
    lowest = hu.min()
    is_padding = hu <= lowest + 1
    values = hu[~is_padding] if PADDING_SHARE < is_padding.mean() < 1 else hu.ravel()
    low, high = np.percentile(values[::7] if len(values) > 1000 else values, [0.5, 99.5])
    return np.clip(values, low, high)


def two_levels(hu: CoarseArray) -> Levels:
    """The levels of air and of tissue, on any scale; padding does not count."""
    values = without_padding(hu)
    threshold = best_threshold(values)
    is_low = values < threshold
    if is_low.all() or not is_low.any():
        middle = float(np.median(values))
        return Levels(middle, middle, threshold)
    low, high = values[is_low], values[~is_low]
    return Levels(float(np.median(low)), float(np.median(high)), threshold)


WINDOW_HU = (-1250.0, 250.0)
SIDE = 96
"""Pixels along the longer side."""


def thumbnails(image: SeriesImage) -> list[npt.NDArray[np.uint8]]:
    """The axial cut and, with eight slices or more, the coronal one, head upwards."""
    hu, step = image.hu, image.step_mm
    if min(hu.shape) == 0 or not image.is_read.any():
        return []
    read = np.flatnonzero(image.is_read)
    axial = hu[int(read[len(read) // 2])]
    cuts = [_shrunk(axial, step[1:])]
    if len(hu) >= 8:
        cuts.append(_shrunk(hu[::-1, hu.shape[1] // 2, :], step[[0, 2]]))
    return cuts


def _shrunk(hu: CoarseArray, step_mm: FloatArray) -> npt.NDArray[np.uint8]:
    extent = np.array(hu.shape) * step_mm
    pixel = float(extent.max()) / SIDE
    rows, columns = (np.maximum(1, np.rint(extent / pixel))).astype(np.int64).tolist()
    down = np.minimum((np.arange(rows) + 0.5) * len(hu) / rows, len(hu) - 1).astype(np.int64)
    wide = hu.shape[1]
    across = np.minimum((np.arange(columns) + 0.5) * wide / columns, wide - 1).astype(np.int64)
    low, high = WINDOW_HU
    grey = np.clip((hu[np.ix_(down, across)] - low) / (high - low), 0, 1) * 255
    pixels: npt.NDArray[np.uint8] = np.rint(grey).astype(np.uint8)
    return pixels
