"""What a reader does on slices -> outlines: proposed, added to, erased, filled between."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.rasters import polygon_pixels, voxels_of
from nodulebench.imaging.region_growing import grown_at
from nodulebench.imaging.trace import trace_outlines
from nodulebench.web.viewer.findings import OutlinedSlice, Place, Point
from nodulebench.web.viewer.tiles import Tiles

DIGITS = 4
"""After the point: a ten-thousandth of a millimetre."""


def proposed(tiles: Tiles, place_mm: Place, level: int) -> tuple[OutlinedSlice, ...]:
    """Outlines of the nodule at a place, on every slice that it touches."""
    found = grown_at(tiles.volume, np.array(place_mm, dtype=np.float64), level)
    return outlines_of(found.voxel, tiles.grid)


def outlines_of(voxel: IntArray, grid: Geometry) -> tuple[OutlinedSlice, ...]:
    """Outlines along the edges of voxels (column, row, slice), one a slice, from the feet on."""
    voxel = voxel[np.lexsort((voxel[:, 0], voxel[:, 1], voxel[:, 2]))]
    slices, owner = np.unique(voxel[:, 2], return_inverse=True)
    which, corner = trace_outlines(owner.astype(np.int64), voxel[:, 0], voxel[:, 1])
    level = slices[which].astype(np.float64)
    corner_mm = grid.to_world(np.column_stack([corner, level]))[:, :2].round(DIGITS)
    return tuple(
        OutlinedSlice(
            slice_index=number, outline=tuple(map(tuple, corner_mm[which == at].tolist()))
        )
        for at, number in enumerate(slices.tolist())
    )


def joined(
    tiles: Tiles, drawn: OutlinedSlice | None, stroke: Sequence[Point], number: int, *, adds: bool
) -> OutlinedSlice | None:
    """An outline with what a stroke encloses added or erased; None: nothing is left.

    Both are taken as the pixels whose centres they hold, and the outline runs along their edges.
    """
    own = _pixels(tiles.grid, [] if drawn is None else drawn.outline, number)
    other = _pixels(tiles.grid, stroke, number)
    left = own | other if adds else own - other
    if not left:
        return None
    flat = np.array(sorted(left), dtype=np.int64)
    voxel = np.column_stack([flat, np.full(len(flat), number, dtype=np.int64)])
    return outlines_of(voxel, tiles.grid)[0]


def _pixels(grid: Geometry, outline: Sequence[Point], number: int) -> set[tuple[int, int]]:
    if not outline:
        return set()
    corner = np.array(outline, dtype=np.float64)
    height = grid.height_on(np.full(len(corner), float(number)), corner)
    i, j = polygon_pixels(grid.to_index(np.column_stack([corner, height]))[:, :2])
    return set(zip(i.tolist(), j.tolist(), strict=True))


def filled_between(tiles: Tiles, slices: Iterable[OutlinedSlice]) -> tuple[OutlinedSlice, ...]:
    """The outlines, and one on every slice between two of them that has none.

    Between two outlines the distance from their edges changes evenly (Raya and Udupa, IEEE
    Transactions on Medical Imaging 9:32-42, 1990).
    """
    given = sorted(slices, key=lambda one: one.slice_index)
    made: list[OutlinedSlice] = []
    for below, above in pairwise(given):
        made.append(below)
        if above.slice_index - below.slice_index > 1:
            made += _between(tiles.grid, below, above)
    return (*made, *given[-1:])


def _between(grid: Geometry, below: OutlinedSlice, above: OutlinedSlice) -> list[OutlinedSlice]:
    ends = [voxels_of([one.as_drawn], grid) for one in (below, above)]
    if not all(len(one) for one in ends):
        return []
    pixel = np.concatenate(ends)[:, :2]
    low, size = pixel.min(axis=0) - 1, np.ptp(pixel, axis=0) + 3
    first, last = (_signed_mm(one[:, :2] - low, size, grid.spacing_mm) for one in ends)
    count = above.slice_index - below.slice_index
    made: list[OutlinedSlice] = []
    for step in range(1, count):
        inside = first * (1 - step / count) + last * (step / count) > 0
        if inside.any():
            row, column = np.nonzero(inside)
            number = np.full(len(row), below.slice_index + step, dtype=np.int64)
            voxel = np.column_stack([column + low[0], row + low[1], number])
            made += outlines_of(voxel, grid)
    return made


def _signed_mm(pixel: IntArray, size: IntArray, spacing_mm: FloatArray) -> FloatArray:
    """How far every pixel lies inside of an edge; below 0: outside."""
    from scipy import ndimage

    mask: BoolArray = np.zeros((size[1], size[0]), dtype=np.bool_)
    mask[pixel[:, 1], pixel[:, 0]] = True
    step = spacing_mm[1::-1]
    inner = ndimage.distance_transform_edt(mask, sampling=step)
    outer = ndimage.distance_transform_edt(~mask, sampling=step)
    signed: FloatArray = inner - outer
    return signed
