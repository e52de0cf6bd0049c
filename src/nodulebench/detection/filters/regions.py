"""Mask -> its connected regions and what is measured of each: size, centre, mean values, spread."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.morphology import boxed

FACES, CORNERS = 1, 3
"""Voxels are connected if they share a face; a face, an edge or a corner."""
NEIGHBOURS: IntArray = np.array([step for step in product((-1, 0, 1), repeat=3) if any(step)])
"""The way to each of the 26 voxels around one."""


@dataclass(frozen=True, eq=False)
class Regions:
    """The voxels of all regions, one after the other as they lie in the image."""

    place: IntArray
    """n x 3: slice, row, column of each voxel."""
    number: IntArray
    """The region of each voxel, from 0."""
    count: int

    @cached_property
    def size(self) -> FloatArray:
        """Voxels of each region."""
        return np.bincount(self.number, minlength=self.count).astype(np.float64)

    @cached_property
    def center(self) -> FloatArray:
        """Centre of mass of each region, in voxels."""
        return np.stack([self.mean(self.place[:, axis]) for axis in range(3)], axis=1)

    @cached_property
    def spread(self) -> FloatArray:
        """Root mean square distance of a region's voxels from its centre, in voxels."""
        apart = self.place - self.center[self.number]
        return np.sqrt(self.mean((apart**2).sum(axis=1)))

    def mean(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """The mean of a value per voxel over each region."""
        total = np.bincount(self.number, values, minlength=self.count)
        return total / np.maximum(self.size, 1.0)

    def highest(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """The largest of a value per voxel in each region."""
        result = np.full(self.count, -np.inf)
        np.maximum.at(result, self.number, values.astype(np.float64))
        return result

    def of(self, image: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """An image's value at each voxel."""
        values: npt.NDArray[np.generic] = image[tuple(self.place.T)]
        return values

    def kept(self, which: BoolArray) -> "Regions":
        """Some of the regions, numbered anew in their order."""
        is_kept = which[self.number]
        renumbered = np.cumsum(which) - 1
        return Regions(
            self.place[is_kept], renumbered[self.number[is_kept]], int(np.count_nonzero(which))
        )

    def united(self, group: IntArray) -> "Regions":
        """Regions with the same group become one; groups count from 0."""
        return Regions(self.place, group[self.number], int(group.max(initial=-1)) + 1)


def find_regions(mask: BoolArray, connectivity: int = FACES) -> Regions:
    """The connected regions of a mask, in the order of their first voxels."""
    from scipy import ndimage

    structure = ndimage.generate_binary_structure(3, connectivity)
    part, box = boxed(mask, np.zeros(3, dtype=np.int64))
    labels, count = ndimage.label(part, structure)
    flat = np.flatnonzero(labels)
    place = np.stack(np.unravel_index(flat, part.shape), axis=1).astype(np.int64)
    place += [side.start for side in box]
    return Regions(place, labels.ravel()[flat].astype(np.int64) - 1, int(count))
