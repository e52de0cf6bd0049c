"""Outlines of nodules on slices: closed polygons, written 'x y;x y;...' in millimetres.

Text to corners and back, areas, and point-in-polygon tests. A point is inside if an odd number of
sides separates it from outside, so a line to a further ring and back encloses nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, unroll
from nodulebench.core.errors import InputError, Problem, raise_problems

LONGEST_SHOWN = 60


@dataclass(frozen=True, eq=False)
class Outlines:
    """Many outlines, with all corners in one array; an outline may have none."""

    corners: IntArray
    """The number of corners of each outline."""
    x: FloatArray
    y: FloatArray

    @cached_property
    def first(self) -> IntArray:
        """The index of each outline's first corner in ``x`` and ``y``."""
        return np.cumsum(self.corners) - self.corners

    @cached_property
    def owner(self) -> IntArray:
        return np.repeat(np.arange(len(self.corners)), self.corners)

    @property
    def is_drawn(self) -> BoolArray:
        return self.corners > 0


def no_outlines(count: int) -> Outlines:
    return Outlines(np.zeros(count, dtype=np.int64), np.empty(0), np.empty(0))


def read_outlines(text: pl.Series, *, allows_none: bool = True) -> Outlines:
    """Parse many texts 'x y;x y;...' at once; with ``allows_none`` empty text has no corners."""
    texts = text.rename("text").to_frame().with_row_index("outline")
    texts = texts.with_columns(pl.col("text").str.strip_chars(" ;").fill_null(""))
    points = (
        texts.filter(pl.col("text") != "")
        .with_columns(pl.col("text").str.split(";").alias("point"))
        .explode("point")
        .with_columns(pl.col("point").str.strip_chars().str.splitn(" ", 2).alias("xy"))
        .unnest("xy")
        .with_columns(
            pl.col("field_0").cast(pl.Float64, strict=False).alias("x"),
            pl.col("field_1").str.strip_chars().cast(pl.Float64, strict=False).alias("y"),
        )
    )
    is_number = pl.col("x").is_finite().fill_null(False) & pl.col("y").is_finite().fill_null(False)
    wrong = points.filter(~is_number)["outline"].unique(maintain_order=True)
    if not allows_none:
        wrong = pl.concat([wrong, texts.filter(pl.col("text") == "")["outline"]]).sort()
    raise_problems(
        Problem(
            f"outline '{(text[row] or '')[:LONGEST_SHOWN]}'",
            "is not a list of points.",
            "Write it as 'x y;x y;...' in millimetres.",
        )
        for row in wrong
    )
    corners = np.bincount(points["outline"].to_numpy(), minlength=len(text)).astype(np.int64)
    return Outlines(corners, points["x"].to_numpy(), points["y"].to_numpy())


def read_outline(text: str, where: str) -> FloatArray:
    """Parse the corners of one outline, one row (x, y) each; the last joins the first.

    One or two corners are allowed; they enclose nothing.
    """
    corners = [corner.split() for corner in text.strip(" ;").split(";")]
    try:
        if any(len(corner) != 2 for corner in corners):
            raise ValueError
        outline = np.array(corners, dtype=np.float64)
    except ValueError:
        outline = np.full((1, 2), np.nan)
    if not np.isfinite(outline).all():
        shown = text if len(text) <= 40 else text[:40] + "..."
        remedy = "Write its corners as 'x y;x y;...' in millimetres, or leave it empty."
        raise InputError.at(where, f"contour '{shown}' is not a list of points.", remedy)
    return outline


def outline_texts(
    outline: IntArray, x_mm: FloatArray, y_mm: FloatArray, *, decimals: int = 4
) -> pl.DataFrame:
    """Corners of many outlines as text, rounded: outline, contour."""
    return (
        pl.DataFrame({"outline": outline, "x": x_mm, "y": y_mm})
        .select("outline", point=pl.concat_str(pl.col("x", "y").round(decimals), separator=" "))
        .group_by("outline", maintain_order=True)
        .agg(pl.col("point").str.join(";").alias("contour"))
    )


def outline_text(corners: Iterable[Iterable[float]], form: str = "") -> str:
    """Corners of one outline as text; ``form`` is the number format, empty for all digits."""
    return ";".join(f"{x:{form}} {y:{form}}" for x, y in corners)


def box_outline(center_x: float, center_y: float, length: float, width: float) -> FloatArray:
    half = np.array([length, width]) / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return np.array([center_x, center_y]) + signs * half


def joined_outline(rings: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join rings into one outline of the same area: a line leads to each further ring and back."""
    start = rings[0][:1]
    path = [rings[0]]
    for ring in rings[1:]:
        path += [start, ring, ring[:1]]
    return np.concatenate(path if len(rings) == 1 else [*path, start])


def area_mm2(outline: FloatArray) -> float:
    x, y = outline.T
    return float(areas_mm2(Outlines(np.array([len(outline)]), x, y))[0])


def areas_mm2(outlines: Outlines) -> FloatArray:
    """The area of each outline, 0 without corners.

    Corners are relative to the first one, so that areas far from the origin are as exact.
    """
    which, corner, following = _sides(outlines, np.arange(len(outlines.corners)))
    x1, y1, x2, y2 = (
        values[at] - values[outlines.first[which]]
        for at in (corner, following)
        for values in (outlines.x, outlines.y)
    )
    twice = np.bincount(which, weights=x1 * y2 - x2 * y1, minlength=len(outlines.corners))
    return np.abs(twice) / 2.0


def is_inside(
    outlines: Outlines, which: IntArray, x: FloatArray, y: FloatArray, *, edge_mm: float
) -> BoolArray:
    """Whether each point is in its outline ``which``, or at most ``edge_mm`` from its edge."""
    near = np.flatnonzero(_is_in_box(outlines, which, x, y, edge_mm))
    point, corner, following = _sides(outlines, which[near])
    px, py = x[near][point], y[near][point]
    x1, y1 = outlines.x[corner], outlines.y[corner]
    x2, y2 = outlines.x[following], outlines.y[following]
    dx, dy = x2 - x1, y2 - y1
    square = dx * dx + dy * dy
    along = ((px - x1) * dx + (py - y1) * dy) / np.where(square > 0, square, 1.0)
    along = np.clip(along, 0.0, 1.0)
    is_on_edge = np.hypot(px - x1 - along * dx, py - y1 - along * dy) <= edge_mm
    spans = (y1 > py) != (y2 > py)
    crosses = spans & (px < x1 + dx * (py - y1) / np.where(spans, dy, 1.0))
    crossings = np.bincount(point[crosses], minlength=len(near))
    on_edge = np.bincount(point[is_on_edge], minlength=len(near))
    inside = np.zeros(len(which), dtype=np.bool_)
    inside[near] = (crossings % 2 == 1) | (on_edge > 0)
    return inside


def _sides(outlines: Outlines, which: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The sides of the outlines in ``which``: index into ``which``, corner, next corner."""
    first, corners = outlines.first[which], outlines.corners[which]
    run, corner = unroll(first, corners)
    is_last = corner == (first + corners - 1)[run]
    return run, corner, np.where(is_last, first[run], corner + 1)


def _is_in_box(
    outlines: Outlines, which: IntArray, x: FloatArray, y: FloatArray, edge_mm: float
) -> BoolArray:
    """Whether each point is in the box around its outline, so that the exact test is needed."""
    drawn = np.flatnonzero(outlines.is_drawn)
    inside = outlines.is_drawn[which]
    for corner, point in ((outlines.x, x), (outlines.y, y)):
        low, high = np.full((2, len(outlines.corners)), np.nan)
        low[drawn] = np.minimum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        high[drawn] = np.maximum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        inside &= point >= low[which] - edge_mm
        inside &= point <= high[which] + edge_mm
    return inside


def areas_and_overlap_mm2(first: FloatArray, second: FloatArray) -> tuple[float, float, float]:
    """The area of each outline (corners x, y; may be empty) and of their intersection."""
    start = np.concatenate([first, second])
    stop = np.concatenate([np.roll(first, -1, axis=0), np.roll(second, -1, axis=0)])
    is_first = np.arange(len(start)) < len(first)
    if not len(start):
        return 0.0, 0.0, 0.0
    height = np.unique(np.concatenate([start[:, 1], _crossing_heights(start, stop)]))
    strip, side, x = _meetings(start, stop, height)
    step = np.diff(x, append=0.0) * np.diff(height)[strip]
    # every outline is crossed an even number of times per strip, so sums may continue to the next
    in_first = np.cumsum(is_first[side]) % 2 == 1
    in_second = np.cumsum(~is_first[side]) % 2 == 1
    return (
        float(step[in_first].sum()),
        float(step[in_second].sum()),
        float(step[in_first & in_second].sum()),
    )


def crosses_itself(outline: FloatArray) -> bool:
    """Whether two sides of an outline cross; touching is not crossing."""
    return len(_crossing_heights(outline, np.roll(outline, -1, axis=0))) > 0


def _meetings(
    start: FloatArray, stop: FloatArray, height: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Crossings of sides with the middle of strips: strip, side and x, left to right per strip.

    Strip s is between height[s] and height[s + 1]; every side begins and ends at a height.
    """
    low = np.searchsorted(height, np.minimum(start[:, 1], stop[:, 1]))
    length = np.searchsorted(height, np.maximum(start[:, 1], stop[:, 1])) - low
    side = np.repeat(np.arange(len(start)), length)
    strip = np.arange(len(side)) + np.repeat(low - np.cumsum(length) + length, length)
    middle = (height[strip] + height[strip + 1]) / 2
    rise, run = (stop[side] - start[side])[:, ::-1].T
    x = start[side, 0] + (middle - start[side, 1]) / rise * run
    order = np.lexsort((x, strip))
    return strip[order], side[order], x[order]


def _crossing_heights(start: FloatArray, stop: FloatArray) -> FloatArray:
    """The heights at which two sides cross; parallel sides do not."""
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    is_near = np.triu(np.ones((len(start), len(start)), dtype=np.bool_), 1)
    for axis in (0, 1):
        is_near &= low[:, np.newaxis, axis] <= high[:, axis]
        is_near &= high[:, np.newaxis, axis] >= low[:, axis]
    first, second = np.nonzero(is_near)
    along, across = (stop - start)[first], (stop - start)[second]
    apart = start[second] - start[first]
    turn = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
    is_turned = turn != 0
    first, along, across, apart, turn = (
        part[is_turned] for part in (first, along, across, apart, turn)
    )
    on_first = (apart[:, 0] * across[:, 1] - apart[:, 1] * across[:, 0]) / turn
    on_second = (apart[:, 0] * along[:, 1] - apart[:, 1] * along[:, 0]) / turn
    is_crossing = (on_first > 0) & (on_first < 1) & (on_second > 0) & (on_second < 1)
    height: FloatArray = (start[first, 1] + on_first * along[:, 1])[is_crossing]
    return height


_EQUAL = 1 - 1e-9  # axes with a smaller relative difference are equally long


def long_and_short_mm(*rings: FloatArray) -> tuple[float, float]:
    """Long and short axis of the union of closed outlines on one slice, corners x, y each."""
    start = np.concatenate(rings)
    return axes_of_sides(start, np.concatenate([np.roll(ring, -1, axis=0) for ring in rings]))


def axes_of_sides(start: FloatArray, stop: FloatArray) -> tuple[float, float]:
    """Long and short axis of the union of closed outlines, from their sides in any order.

    Of several equally long axes, the axis with the longer perpendicular counts.
    """
    apart = start[:, None, :] - start[None, :, :]
    length = np.hypot(apart[..., 0], apart[..., 1])
    long = float(length.max())
    if long == 0.0:
        return 0.0, 0.0
    first, second = np.nonzero(np.triu(length) >= long * _EQUAL)
    axes = apart[first, second] / length[first, second][:, None]
    return long, max(_longest_across(start, stop, axis) for axis in axes)


def _longest_across(start: FloatArray, stop: FloatArray, axis: FloatArray) -> float:
    """The largest distance of two points of some sides on one line perpendicular to an axis.

    It changes linearly between corners, so the maximum is at a corner.
    """
    perpendicular = np.array([-axis[1], axis[0]])
    along, across = start @ axis, start @ perpendicular
    step = stop @ axis - along
    is_steep = np.abs(step) < 1e-12
    share = (along[:, None] - along) / np.where(is_steep, 1.0, step)
    is_met = (share >= 0) & (share <= 1) & ~is_steep
    height = across + share * (stop @ perpendicular - across)
    top = np.where(is_met, height, -np.inf).max(axis=1)
    bottom = np.where(is_met, height, np.inf).min(axis=1)
    return float(np.max(np.where(np.isfinite(top), top - bottom, 0.0)))


def largest_distance_mm(points: FloatArray) -> float:
    """The largest distance between two points; 0 for a single point."""
    apart = points[:, None, :] - points
    return float(np.hypot(apart[..., 0], apart[..., 1]).max())
