"""Outlines of nodules on slices: closed polygons, written 'x y;x y;...' in millimetres.

Text to corners and back, areas, and whether points lie inside. Inside is what an odd number of
sides separates from outside, so a line that leads to a further ring and back encloses nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, unroll
from nodulebench.core.errors import InputError, Problem, refuse_any

LONGEST_SHOWN = 60


@dataclass(frozen=True, eq=False)
class Outlines:
    """Many outlines, their corners one after the other; an outline may have none."""

    corners: IntArray
    """How many corners each outline has."""
    x: FloatArray
    y: FloatArray

    @cached_property
    def first(self) -> IntArray:
        """Where each outline's corners begin in ``x`` and ``y``."""
        return np.cumsum(self.corners) - self.corners

    @cached_property
    def owner(self) -> IntArray:
        """The outline that each corner belongs to, ascending."""
        return np.repeat(np.arange(len(self.corners)), self.corners)

    @property
    def is_drawn(self) -> BoolArray:
        """Which outlines have corners."""
        return self.corners > 0


def no_outlines(count: int) -> Outlines:
    """As many outlines without corners."""
    return Outlines(np.zeros(count, dtype=np.int64), np.empty(0), np.empty(0))


def read_outlines(text: pl.Series, *, allows_none: bool = True) -> Outlines:
    """The outlines that many texts 'x y;x y;...' describe, all at once.

    Args:
        text: the texts.
        allows_none: whether null or empty text is an outline without corners; else it is refused.

    Raises:
        InputError: for each text that is not a list of points.
    """
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
    refuse_any(
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
    """The corners of one outline, one row (x, y) each; the last joins the first.

    One or two corners are allowed: they enclose nothing.

    Args:
        text: 'x y;x y;...'; ';' at the ends is ignored.
        where: what the outline belongs to, for the message.

    Raises:
        InputError: if a number cannot be read.
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
        raise InputError.at(
            where,
            f"contour '{shown}' is not a list of points.",
            "Write its corners as 'x y;x y;...' in millimetres, or leave it empty.",
        )
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
    """Corners of one outline as text; ``form`` is that of each number, all its digits if empty."""
    return ";".join(f"{x:{form}} {y:{form}}" for x, y in corners)


def box_outline(center_x: float, center_y: float, length: float, width: float) -> FloatArray:
    """A box as an outline of four corners."""
    half = np.array([length, width]) / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return np.array([center_x, center_y]) + signs * half


def one_outline(rings: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rings as one outline that holds the same: a line leads to each further one and back."""
    start = rings[0][:1]
    path = [rings[0]]
    for ring in rings[1:]:
        path += [start, ring, ring[:1]]
    return np.concatenate(path if len(rings) == 1 else [*path, start])


def area_mm2(outline: FloatArray) -> float:
    """The area within one outline of at least one corner."""
    x, y = outline.T
    return float(areas_mm2(Outlines(np.array([len(outline)]), x, y))[0])


def areas_mm2(outlines: Outlines) -> FloatArray:
    """The area within each outline, 0 where there is none.

    Corners are taken from the first one, so that an area far from the origin is as exact.
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
    """Whether each point lies inside an outline or on its edge.

    Args:
        outlines: the polygons.
        which: for each point the outline it is tested against.
        x: the points.
        y: the points.
        edge_mm: a point this near to the edge is on it.
    """
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
    """For each outline asked for its sides: who asked, the corner, the next corner."""
    first, corners = outlines.first[which], outlines.corners[which]
    run, corner = unroll(first, corners)
    is_last = corner == (first + corners - 1)[run]
    return run, corner, np.where(is_last, first[run], corner + 1)


def _is_in_box(
    outlines: Outlines, which: IntArray, x: FloatArray, y: FloatArray, edge_mm: float
) -> BoolArray:
    """Whether each point lies in the box around its outline, so that the exact test is worth it."""
    drawn = np.flatnonzero(outlines.is_drawn)
    inside = outlines.is_drawn[which]
    for corner, point in ((outlines.x, x), (outlines.y, y)):
        low, high = np.full((2, len(outlines.corners)), np.nan)
        low[drawn] = np.minimum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        high[drawn] = np.maximum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        inside &= point >= low[which] - edge_mm
        inside &= point <= high[which] + edge_mm
    return inside
