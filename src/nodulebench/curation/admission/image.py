"""Series -> its image in coarse voxels, its pixel digest, and which slices cannot be read.

Slices are read one after the other, so that memory does not grow with their size.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.notices import Notice
from nodulebench.io.dicom.pixels import (
    PixelsError,
    Stored,
    TruncatedPixelsError,
    stored_values,
)
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
    """Which slices could be read."""
    pixel_sha256: str
    """Of the HU as little-endian int16, slice by slice in order; empty: some are unreadable."""
    faults: tuple[Fault, ...]


def read_image(series: Series) -> SeriesImage:
    """Read all slices of a series; what cannot be read is told in ``faults``."""
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


def hounsfield(stored: Stored, header: SliceHeader) -> npt.NDArray[np.int16]:
    """Stored values in HU, rounded and held within 16 bits."""
    slope, intercept = header.slope or 1.0, header.intercept or 0.0
    if slope != 1.0 or not intercept.is_integer():
        scaled = np.rint(stored * slope + intercept)
        return np.clip(scaled, LOWEST_HU, HIGHEST_HU).astype("<i2")
    if stored.itemsize == 2 and _fits(stored, int(intercept)):
        # what fits into 16 bits may be added modulo 2**16
        return (stored.astype("<u2") + np.uint16(int(intercept) % 2**16)).view("<i2")
    return np.clip(stored.astype(np.int64) + int(intercept), LOWEST_HU, HIGHEST_HU).astype("<i2")


def _fits(stored: Stored, added: int) -> bool:
    lowest, highest = int(stored.min(initial=0)), int(stored.max(initial=0))
    return lowest + added >= LOWEST_HU and highest + added <= HIGHEST_HU


def coarse_factor(columns: int) -> int:
    """How many pixels along a side make a coarse voxel."""
    return max(1, -(-columns // COARSE_SIDE))


def coarse_shape(slices: Sequence[SliceHeader]) -> tuple[int, int]:
    """Rows and columns of the coarse image; slices of another size are left out of it."""
    sizes = [(one.pixels.rows, one.pixels.columns) for one in slices]
    rows, columns = max(set(sizes), key=lambda size: (sizes.count(size), size))
    factor = coarse_factor(max(rows, columns))
    return rows // factor, columns // factor


def block_means(stored: Stored) -> CoarseArray:
    """Means over square blocks of pixels; what is left at the edges is cut off."""
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
    """Coarse voxel size; where the header is silent, what is usual."""
    spacing = next((one.pixel_spacing_mm for one in series.slices if one.pixel_spacing_mm), None)
    rows, columns = spacing or (0.7, 0.7)
    sides = [max(one.pixels.rows, one.pixels.columns) for one in series.slices]
    factor = coarse_factor(max(set(sides), key=sides.count))
    between = series.spacing_mm or series.slices[0].thickness_mm or 2.5
    return np.array([between, rows * factor, columns * factor])
