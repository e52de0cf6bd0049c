"""A chest on cubic voxels -> places in its lungs that look like a dot, with scale and strength.

Second derivatives of the smoothed image distinguish dots from lines and planes (Li, Sone and
Doi, Medical Physics 30:2040-2051, 2003); directions of its gradient meet in centres. Both
are taken once per chest for all detectors.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Columns, Float32Array, FloatArray, IntArray
from nodulebench.detection.regions import NEIGHBOURS
from nodulebench.detection.scan import Chest
from nodulebench.imaging.morphology import block_mean

STEP_MM = 1.0
"""Voxel size on which the filters work (ETROCAD: 1 mm)."""
SCALES_MM = (1.0, 1.5, 2.2, 3.2, 4.6, 6.6)
"""Open: standard deviations in steps of about 1.45, for balls of 3.5 to 23 mm diameter."""
COARSE_FROM = 2.0
"""From this scale (in voxels) on, voxels twice as wide are fine enough."""
WEAKEST_DOT_HU = 12.0
"""Open: fainter dots are noise for every detector (an ideal ball: 0.31 of its contrast)."""
HALVING_VARIANCE = 0.25
"""Variance that the mean of two neighbours adds to a blur, in voxels squared."""
DIAMETER_PER_SCALE = 2.0 * np.sqrt(3.0)
"""The output for a ball of diameter d is strongest at the scale d / (2 sqrt 3)."""
REACH = 3.0
"""Standard deviations at which Gaussians are cut off."""
DENSITIES_HU = (-1000.0, 200.0)
"""Denser than soft tissue (bone, calcium, metal) counts as soft tissue."""
OUTSIDE_HU = -850.0
"""Voxels outside the lungs are taken for lung, so that nodules on the pleura are isolated."""


@dataclass(frozen=True, eq=False)
class Peaks(Columns):
    """Local maxima of the filters, one entry of each array per place and scale."""

    index: FloatArray
    """n x 3: voxel on the grid of ``STEP_MM``; half-way between two where the scale is wide."""
    scale: FloatArray
    """Standard deviation of the Gaussian in voxels."""
    dot: FloatArray
    """HU: how much like a ball, |l3|^2 / |l1|, times the scale squared."""
    line: FloatArray
    """HU: how much like a vessel, |l2| (|l2| - |l3|) / |l1|, times the scale squared."""
    center: FloatArray
    """Minus the divergence of the normalised gradient: 3 in the middle of a ball, 2 on the axis
    of a cylinder, 1 in the middle of a plate."""
    is_dot_peak: BoolArray
    """No neighbour has a stronger dot."""
    is_center_peak: BoolArray
    """No neighbour is more of a centre."""


def peaks_of_chest(chest: Chest) -> Peaks:
    """The peaks of the lungs on cubes of ``STEP_MM``, computed once for each chest."""
    cubes = chest.resampled(STEP_MM)
    return chest.shared.get("peaks", lambda: find_peaks(lung_image(cubes), cubes.lungs.mask))


def lung_image(cubes: Chest) -> Float32Array:
    """Densities within the lungs; bones and chest wall are flattened to lung."""
    hu: Float32Array = np.clip(cubes.hu.astype(np.float32, copy=False), *DENSITIES_HU)
    hu[~cubes.lungs.mask] = OUTSIDE_HU
    return hu


def find_peaks(
    image: Float32Array, mask: BoolArray, scales: tuple[float, ...] = SCALES_MM
) -> Peaks:
    """Dots and centres of cubic voxels within a mask, at every scale (in voxels, rising)."""
    levels = []
    smooth, reached, width = image, 0.0, 1
    for scale in scales:
        if scale >= COARSE_FROM and width == 1:
            # blurred enough that voxels twice as wide hold all there is
            before = max(0.75 * scale, reached)
            smooth = halved(smoothed(smooth, np.sqrt(before**2 - reached**2)))
            mask = halved(mask) >= 0.5
            reached, width = np.sqrt(before**2 + HALVING_VARIANCE), 2
        smooth = smoothed(smooth, np.sqrt(scale**2 - reached**2) / width)
        reached = scale
        levels.append(_peaks_at(smooth, mask, scale, width))
    return Peaks.joined(*levels)


def halved(image: npt.NDArray[np.generic]) -> Float32Array:
    return block_mean(image, np.full(3, 2))


def smoothed(image: Float32Array, sigma: float) -> Float32Array:
    from scipy import ndimage

    if sigma < 1e-3:
        return image
    return ndimage.gaussian_filter(image, sigma, mode="nearest", truncate=REACH)


def eigenvalues(hessian: Float32Array | FloatArray) -> Float32Array:
    """Eigenvalues, smallest first, of symmetric 3 x 3 matrices zz, yy, xx, zy, zx, yx (6 x n)."""
    a, b, c, d, e, f = hessian.astype(np.float64)
    mean = (a + b + c) / 3.0
    straight = (a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2
    spread = np.sqrt(straight / 6.0 + (d * d + e * e + f * f) / 3.0)
    safe = np.where(spread > 0, spread, 1.0)
    u, v, w = (a - mean) / safe, (b - mean) / safe, (c - mean) / safe
    p, q, r = d / safe, e / safe, f / safe
    half_determinant = (u * (v * w - r * r) - p * (p * w - r * q) + q * (p * r - v * q)) / 2.0
    angle = np.arccos(np.clip(half_determinant, -1.0, 1.0)) / 3.0
    largest = mean + 2.0 * spread * np.cos(angle)
    smallest = mean + 2.0 * spread * np.cos(angle + 2.0 * np.pi / 3.0)
    values: Float32Array = np.stack([smallest, 3.0 * mean - largest - smallest, largest])
    return values.astype(np.float32)


def dot_strength(values: Float32Array) -> Float32Array:
    """|l3|^2 / |l1| where all three are negative; ``values`` are 3 x n, smallest first."""
    steepest, _, flattest = values
    strength = np.zeros(values.shape[1], np.float32)
    is_dot = flattest < 0
    strength[is_dot] = flattest[is_dot] ** 2 / -steepest[is_dot]
    return strength


def line_strength(values: Float32Array) -> Float32Array:
    """|l2| (|l2| - |l3|) / |l1| where two are negative; ``values`` are 3 x n, smallest first."""
    steepest, middle, flattest = values
    strength = np.zeros(values.shape[1], np.float32)
    is_line = middle < 0
    other = np.minimum(np.abs(flattest[is_line]), np.abs(middle[is_line]))
    strength[is_line] = middle[is_line] * (middle[is_line] + other) / -steepest[is_line]
    return strength


def _peaks_at(smooth: Float32Array, mask: BoolArray, scale: float, width: int) -> Peaks:
    """The peaks of one scale, on voxels of one or two times the width."""
    reach = max(1, round(scale / width))
    grid = Grid(np.pad(smooth, reach + 1, mode="edge"))
    # a dot is at most a third of the Laplacian: voxels with less need no eigenvalues
    laplacian = _laplacian(smooth) * np.float32((scale / width) ** 2)
    candidate = np.argwhere(mask & (laplacian < -3.0 * WEAKEST_DOT_HU)) + reach + 1
    flat = grid.flat(candidate)
    values = eigenvalues(grid.hessian(flat) * np.float32((scale / width) ** 2))
    dot = dot_strength(values)
    is_strong = dot >= WEAKEST_DOT_HU
    flat, dot, line = flat[is_strong], dot[is_strong], line_strength(values[:, is_strong])
    center = grid.convergence(flat, reach)
    is_dot_peak, is_center_peak = grid.is_peak(flat, dot), grid.is_peak(flat, center)
    chosen = is_dot_peak | is_center_peak
    return Peaks(
        (candidate[is_strong][chosen] - reach - 1).astype(np.float64) * width + (width - 1) / 2,
        np.full(int(chosen.sum()), scale),
        dot[chosen].astype(np.float64),
        line[chosen].astype(np.float64),
        center[chosen].astype(np.float64),
        is_dot_peak[chosen],
        is_center_peak[chosen],
    )


def _laplacian(smooth: Float32Array) -> Float32Array:
    """The sum of second differences; at the border the last voxel is repeated."""
    total = np.float32(-6.0) * smooth
    for axis in range(3):
        lead = (slice(None),) * axis
        total[(*lead, slice(1, None))] += smooth[(*lead, slice(None, -1))]
        total[(*lead, slice(None, -1))] += smooth[(*lead, slice(1, None))]
        for end in (0, -1):
            total[(*lead, end)] += smooth[(*lead, end)]
    return total


class Grid:
    """A padded image whose voxels are looked up by their flat index."""

    def __init__(self, padded: Float32Array) -> None:
        self.shape = padded.shape
        self._values = padded.ravel()
        self._strides = (padded.shape[1] * padded.shape[2], padded.shape[2], 1)

    def flat(self, place: IntArray) -> IntArray:
        index: IntArray = (place * np.array(self._strides)).sum(axis=1)
        return index

    def hessian(self, at: IntArray) -> Float32Array:
        """Second differences: 6 x n, in the order zz, yy, xx, zy, zx, yx."""
        value, (z, y, x) = self._values, self._strides
        middle = 2.0 * value[at]
        straight = [value[at + step] + value[at - step] - middle for step in (z, y, x)]
        mixed = [
            (value[at + a + b] + value[at - a - b] - value[at + a - b] - value[at - a + b]) / 4.0
            for a, b in ((z, y), (z, x), (y, x))
        ]
        return np.stack([*straight, *mixed]).astype(np.float32)

    def convergence(self, at: IntArray, reach: int) -> Float32Array:
        """Minus the divergence of the normalised gradient, from differences over ``reach``.

        Computed as the mean over opposite faces, in units that make a unit step of the gradient's
        direction 1, so that it does not depend on the size of voxels.
        """
        total, value = np.zeros(len(at), np.float32), self._values
        for axis, step in enumerate(self._strides):
            for sign in (-1, 1):
                neighbour = at + sign * reach * step
                slopes = [
                    value[neighbour + stride] - value[neighbour - stride]
                    for stride in self._strides
                ]
                slope = np.stack(slopes)
                length = np.sqrt((slope * slope).sum(axis=0))
                total -= sign * slope[axis] / np.maximum(length, np.float32(1e-6)) / 2.0
        return total

    def is_peak(self, at: IntArray, value: Float32Array) -> BoolArray:
        """Which voxels no neighbour exceeds; voxels that are not listed count as 0."""
        dense = np.zeros(int(np.prod(self.shape)), np.float32)
        dense[at] = value
        highest = np.zeros(len(at), np.float32)
        for step in NEIGHBOURS @ np.array(self._strides):
            np.maximum(highest, dense[at + step], out=highest)
        return (value >= highest) & (value > 0)
