"""The findings of a reader: outlines on slices or a point, and its attributes.

Millimetres are LPS. Findings hold no measurements: these are computed from the outlines.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from nodulebench.annotation.observer_study import Call
from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.geometry import FARTHEST_MM, Geometry, is_orthonormal
from nodulebench.imaging.outlines import area_mm2
from nodulebench.imaging.rasters import DrawnOutline, polygon_pixels, trace_outlines, voxels_of
from nodulebench.imaging.region_growing import grow_nodule
from nodulebench.reference.sizes import drawn_slice_sizes, region_sizes
from nodulebench.web.viewer.scans import Tiles

if TYPE_CHECKING:
    import polars as pl

Millimetre = Annotated[FiniteFloat, Field(ge=-FARTHEST_MM, le=FARTHEST_MM)]
Point = tuple[Millimetre, Millimetre]
Position = tuple[Millimetre, Millimetre, Millimetre]
Rating = Annotated[int, Field(ge=1, le=5)]
Colleague = Annotated[str, Field(min_length=1, max_length=64)]
MOST_CORNERS = 2_000
LONGEST_COMMENT = 2_000


class OutlinedSlice(ConfigModel):
    """A closed outline on one slice."""

    slice_index: int = Field(ge=0)
    outline: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    """Corners x, y in mm; the last joins the first."""

    @property
    def as_drawn(self) -> DrawnOutline:
        return DrawnOutline(self.slice_index, np.array(self.outline, dtype=np.float64))


class Ruler(ConfigModel):
    """A long axis and a short one across it, measured by a reader on a slice."""

    slice_index: int = Field(ge=0)
    long: tuple[Point, Point]
    short: tuple[Point, Point] | None = None


class Finding(ConfigModel):
    """The current state of one finding."""

    kind: Call = "nodule"
    position_mm: Position
    """Where the reader clicked; the position of a finding without outlines."""
    slices: tuple[OutlinedSlice, ...] = ()
    ruler: Ruler | None = None
    type: (
        Literal[
            "solid", "part_solid", "pure_ground_glass", "calcified", "pleural", "pleural_calcified"
        ]
        | None
    ) = None
    density: Literal["solid", "part_solid", "ground_glass", "calcified"] | None = None
    malignancy: Rating | None = None
    subtlety: Rating | None = None
    is_near_vessel: bool | None = None
    is_near_cavity: bool | None = None
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] = ""
    answer: Literal["yes", "no"] | None = None
    """A reviewer agrees with a candidate, or an arbitrator decides that it is a nodule."""
    call: Call | None = None
    discussed_with: Annotated[tuple[Colleague, ...], Field(max_length=20)] = ()

    @model_validator(mode="after")
    def _require_one_outline_per_slice(self) -> Self:
        numbers = [slice_.slice_index for slice_ in self.slices]
        if len(set(numbers)) < len(numbers):
            raise ValueError("a slice has two outlines")
        return self

    @property
    def last_slice(self) -> int:
        """The highest slice with an outline or the ruler; -1: none."""
        numbers = [slice_.slice_index for slice_ in self.slices]
        return max([*numbers, *([self.ruler.slice_index] if self.ruler else [])], default=-1)


def measure_finding(finding: Finding, tiles: Tiles) -> JsonObject:
    """Sizes of a finding in mm and its mean in HU; empty without outlines."""
    sizes = sizes_of(finding, tiles.grid)
    return {**sizes, "mean_hu": _mean_hu(finding.slices, tiles)} if sizes else {}


def sizes_of(finding: Finding, grid: Geometry) -> JsonObject:
    """Sizes in mm; empty without outlines. ``slices`` has each outline's box, axes and area."""
    if not finding.slices:
        return {}
    corners = [np.array(slice_.outline, dtype=np.float64) for slice_ in finding.slices]
    on_slices = drawn_slice_sizes(
        np.zeros(len(corners), dtype=np.int64),
        np.array([slice_.slice_index for slice_ in finding.slices], dtype=np.int64),
        np.zeros(len(corners), dtype=np.bool_),
        np.zeros(len(corners), dtype=np.bool_),
        corners,
    )
    spacing_mm = float(grid.spacing_mm[2])
    overall = region_sizes(on_slices, np.array([spacing_mm])).row(0, named=True)
    area = float(on_slices["area_mm2"].sum())
    return {
        "long_mm": overall["long_mm"],
        "short_mm": overall["short_mm"],
        "average_mm": overall["average"],
        "diameter_mm": overall["volume_equivalent"],
        "volume_mm3": area * spacing_mm,
        "slices": [
            {
                **box_of(outline),
                "slice_index": drawn.slice_index,
                "area_mm2": area_mm2(outline),
                "long_mm": row["long_mm"],
                "short_mm": row["short_mm"],
            }
            for drawn, outline, row in zip(
                finding.slices, corners, _rows_of(finding.slices, on_slices), strict=True
            )
        ],
    }


def box_of(outline: FloatArray) -> dict[str, float]:
    low, high = outline.min(axis=0), outline.max(axis=0)
    (x, y), (length, width) = ((low + high) / 2).tolist(), (high - low).tolist()
    return {"center_x_mm": x, "center_y_mm": y, "length_mm": length, "width_mm": width}


def _rows_of(slices: tuple[OutlinedSlice, ...], sizes: "pl.DataFrame") -> list[dict[str, float]]:
    by_slice = {row["slice_index"]: row for row in sizes.iter_rows(named=True)}
    return [by_slice[slice_.slice_index] for slice_ in slices]


def _mean_hu(slices: tuple[OutlinedSlice, ...], tiles: Tiles) -> float | None:
    voxel: IntArray = voxels_of((slice_.as_drawn for slice_ in slices), tiles.grid)
    if not len(voxel):
        return None
    i, j, k = voxel.T
    return float(tiles.volume.hu[k, j, i].mean())


DIGITS = 4


def propose_outlines(tiles: Tiles, position_mm: Position, level: int) -> tuple[OutlinedSlice, ...]:
    region = grow_nodule(tiles.volume, np.array(position_mm, dtype=np.float64), level)
    return outlines_of(region.voxel, tiles.grid)


def outlines_of(voxel: IntArray, grid: Geometry) -> tuple[OutlinedSlice, ...]:
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


def join_stroke(
    tiles: Tiles, drawn: OutlinedSlice | None, stroke: Sequence[Point], number: int, *, adds: bool
) -> OutlinedSlice | None:
    """Add the area of a stroke to an outline, or erase it; None: nothing is left.

    Outline and stroke are taken as the pixels whose centres they contain. The new outline runs
    along the edges of the resulting pixels.
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


def fill_gaps(tiles: Tiles, slices: Iterable[OutlinedSlice]) -> tuple[OutlinedSlice, ...]:
    """The outlines with those between them, for slices that have none.

    The signed distance from the edge is interpolated linearly between two outlines (Raya and Udupa,
    IEEE Transactions on Medical Imaging 9:32-42, 1990).
    """
    drawn = sorted(slices, key=lambda slice_: slice_.slice_index)
    filled: list[OutlinedSlice] = []
    for below, above in pairwise(drawn):
        filled.append(below)
        if above.slice_index - below.slice_index > 1:
            filled += _between(tiles.grid, below, above)
    return (*filled, *drawn[-1:])


def _between(grid: Geometry, below: OutlinedSlice, above: OutlinedSlice) -> list[OutlinedSlice]:
    ends = [voxels_of([end.as_drawn], grid) for end in (below, above)]
    if not all(len(end) for end in ends):
        return []
    pixel = np.concatenate(ends)[:, :2]
    low, size = pixel.min(axis=0) - 1, np.ptp(pixel, axis=0) + 3
    first, last = (_signed_mm(end[:, :2] - low, size, grid.spacing_mm) for end in ends)
    count = above.slice_index - below.slice_index
    outlines: list[OutlinedSlice] = []
    for step in range(1, count):
        inside = first * (1 - step / count) + last * (step / count) > 0
        if inside.any():
            row, column = np.nonzero(inside)
            number = np.full(len(row), below.slice_index + step, dtype=np.int64)
            voxel = np.column_stack([column + low[0], row + low[1], number])
            outlines += outlines_of(voxel, grid)
    return outlines


def _signed_mm(pixel: IntArray, size: IntArray, spacing_mm: FloatArray) -> FloatArray:
    """The distance of every pixel from the edge in mm; negative outside."""
    from scipy import ndimage

    mask: BoolArray = np.zeros((size[1], size[0]), dtype=np.bool_)
    mask[pixel[:, 1], pixel[:, 0]] = True
    step = spacing_mm[1::-1]
    inner = ndimage.distance_transform_edt(mask, sampling=step)
    outer = ndimage.distance_transform_edt(~mask, sampling=step)
    signed: FloatArray = inner - outer
    return signed


def grid_of(tiles: Tiles) -> Geometry:
    """The grid of exported outlines: that of the image if a table of cases can describe it.

    It cannot describe slices of a tilted gantry or along the body: for these it is the grid shown.
    """
    original = tiles.original
    is_across = int(np.argmax(np.abs(original.direction[:, 2]))) == 2
    return original if is_across and is_orthonormal(original.direction) else tiles.grid


def on_original(slices: tuple[OutlinedSlice, ...], tiles: Tiles) -> tuple[OutlinedSlice, ...]:
    """The same region on the slices of ``grid_of``, numbered from the feet.

    If the axes of the image were only reordered, outlines and their numbers stay the same. If it
    was interpolated, a voxel of the image belongs to the region if its centre is inside.
    """
    grid = grid_of(tiles)
    if not tiles.is_resampled or grid is tiles.grid:
        return slices
    shown = voxels_of((slice_.as_drawn for slice_ in slices), tiles.grid)
    low, high = shown.min(axis=0), shown.max(axis=0)
    is_held: BoolArray = np.zeros(high - low + 1, dtype=np.bool_)
    is_held[tuple((shown - low).T)] = True
    candidates = _around(low, high, tiles, grid)
    nearest = np.rint(tiles.grid.to_index(grid.to_world(candidates.astype(np.float64))))
    offset = nearest.astype(np.int64) - low
    is_near = np.all((offset >= 0) & (offset <= high - low), axis=1)
    voxel = candidates[is_near][is_held[tuple(offset[is_near].T)]]
    if not len(voxel):  # smaller than a voxel of the image: the nearest one
        middle = tiles.grid.to_world(shown.mean(axis=0, keepdims=True))
        voxel = np.rint(grid.to_index(middle)).astype(np.int64)
    outlines = outlines_of(voxel, grid)
    return tuple(
        slice_.model_copy(update={"slice_index": _from_feet(slice_.slice_index, grid)})
        for slice_ in outlines
    )


def _around(low: IntArray, high: IntArray, tiles: Tiles, grid: Geometry) -> IntArray:
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
