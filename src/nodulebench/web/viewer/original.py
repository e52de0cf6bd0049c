"""Outlines on the upright grid that is shown -> on the slices of the image as it was acquired."""

import numpy as np

from nodulebench.core.arrays import BoolArray, IntArray
from nodulebench.imaging.geometry import Geometry, is_orthonormal
from nodulebench.imaging.rasters import voxels_of
from nodulebench.web.viewer.drawn import outlines_of
from nodulebench.web.viewer.findings import OutlinedSlice
from nodulebench.web.viewer.tiles import Tiles


def grid_of(tiles: Tiles) -> Geometry:
    """The grid that outlines are handed on: that of the image, where a table of cases can tell it.

    Slices of a tilted gantry, or along the body, cannot be told there: these keep the grid shown.
    """
    original = tiles.original
    is_across = int(np.argmax(np.abs(original.direction[:, 2]))) == 2
    return original if is_across and is_orthonormal(original.direction) else tiles.grid


def on_original(slices: tuple[OutlinedSlice, ...], tiles: Tiles) -> tuple[OutlinedSlice, ...]:
    """The same region on the slices of ``grid_of``, numbered from the feet.

    Where the image was only put in order, outlines stay as they are, and so do their numbers.
    Where it was interpolated, a voxel of the image belongs if its centre does.
    """
    grid = grid_of(tiles)
    if not tiles.is_resampled or grid is tiles.grid:
        return slices
    shown = voxels_of((one.as_drawn for one in slices), tiles.grid)
    low, high = shown.min(axis=0), shown.max(axis=0)
    is_held: BoolArray = np.zeros(high - low + 1, dtype=np.bool_)
    is_held[tuple((shown - low).T)] = True
    candidates = _around(low, high, tiles, grid)
    nearest = np.rint(tiles.grid.to_index(grid.to_world(candidates.astype(np.float64))))
    place = nearest.astype(np.int64) - low
    is_near = np.all((place >= 0) & (place <= high - low), axis=1)
    voxel = candidates[is_near][is_held[tuple(place[is_near].T)]]
    if not len(voxel):  # smaller than a voxel of the image: the nearest one
        middle = tiles.grid.to_world(shown.mean(axis=0, keepdims=True))
        voxel = np.rint(grid.to_index(middle)).astype(np.int64)
    made = outlines_of(voxel, grid)
    return tuple(
        one.model_copy(update={"slice_index": _from_feet(one.slice_index, grid)}) for one in made
    )


def _around(low: IntArray, high: IntArray, tiles: Tiles, grid: Geometry) -> IntArray:
    """Voxels of the image in the box around some voxels that are shown."""
    ends = np.array([low - 1, high + 1], dtype=np.float64)
    corners = np.array([[ends[a, 0], ends[b, 1], ends[c, 2]] for a, b, c in np.ndindex(2, 2, 2)])
    index = grid.to_index(tiles.grid.to_world(corners))
    last = np.array([np.inf] * 3) if grid.size is None else grid.size - 1
    first = np.maximum(np.floor(index.min(axis=0)), 0).astype(np.int64)
    stop = np.minimum(np.ceil(index.max(axis=0)), last).astype(np.int64) + 1
    axes = [np.arange(a, b) for a, b in zip(first, stop, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _from_feet(k: int, grid: Geometry) -> int:
    return round(float(grid.slice_number(np.array([float(k)]))[0]))
