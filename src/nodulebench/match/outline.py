"""Outlines 'x y;x y;...' of many slices -> areas, and whether points lie inside, all at once."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.imaging.contour import read_contours
from nodulebench.match.pairs import unroll
from nodulebench.match.scene import NEGLIGIBLE_MM
from nodulebench.model.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Closed polygons, one per slice; a slice without an outline has no corners."""

    first: IntArray
    """Where each outline's corners begin in ``x`` and ``y``."""
    corners: IntArray
    """How many corners each outline has."""
    x: FloatArray
    y: FloatArray

    @property
    def is_drawn(self) -> BoolArray:
        """Which slices have an outline."""
        return self.corners > 0


def read_outlines(text: pl.Series) -> Outlines:
    """The outlines that texts 'x y;x y;...' describe; null or empty text is no outline.

    Raises:
        InputError: for each text that is not a list of points.
    """
    points = read_contours(text)
    corners = np.bincount(points.outline, minlength=len(text)).astype(np.int64)
    return Outlines(
        first=np.cumsum(corners) - corners, corners=corners, x=points.x_mm, y=points.y_mm
    )


def outline_areas(outlines: Outlines) -> FloatArray:
    """The area within each outline in mm² (0 where there is none)."""
    which, corner, following = _edges(outlines, np.arange(len(outlines.corners)))
    cross = outlines.x[corner] * outlines.y[following] - outlines.x[following] * outlines.y[corner]
    twice = np.bincount(which, weights=cross, minlength=len(outlines.corners))
    return np.abs(twice) / 2.0


def is_inside(outlines: Outlines, which: IntArray, x: FloatArray, y: FloatArray) -> BoolArray:
    """Whether each point lies inside an outline or on its edge.

    Inside is decided by the number of edges to the right of the point (even-odd rule), so holes
    and crossings of the outline are outside where the outline winds twice.

    Args:
        outlines: the polygons.
        which: for each point the outline it is tested against.
        x: the points.
        y: the points.
    """
    near = np.flatnonzero(_is_in_hull(outlines, which, x, y))
    point, corner, following = _edges(outlines, which[near])
    px, py = x[near][point], y[near][point]
    x1, y1, x2, y2 = (
        outlines.x[corner],
        outlines.y[corner],
        outlines.x[following],
        outlines.y[following],
    )
    dx, dy = x2 - x1, y2 - y1
    square = dx * dx + dy * dy
    along = ((px - x1) * dx + (py - y1) * dy) / np.where(square > 0, square, 1.0)
    along = np.clip(along, 0.0, 1.0)
    is_on_edge = np.hypot(px - x1 - along * dx, py - y1 - along * dy) <= NEGLIGIBLE_MM
    spans = (y1 > py) != (y2 > py)
    crosses = spans & (px < x1 + dx * (py - y1) / np.where(spans, dy, 1.0))
    crossings = np.bincount(point[crosses], minlength=len(near))
    on_edge = np.bincount(point[is_on_edge], minlength=len(near))
    inside = np.zeros(len(which), dtype=np.bool_)
    inside[near] = (crossings % 2 == 1) | (on_edge > 0)
    return inside


def _edges(outlines: Outlines, which: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """For each outline asked for its edges: who asked, the corner, the next corner."""
    first, corners = outlines.first[which], outlines.corners[which]
    run, corner = unroll(first, corners)
    is_last = corner == (first + corners - 1)[run]
    return run, corner, np.where(is_last, first[run], corner + 1)


def _is_in_hull(outlines: Outlines, which: IntArray, x: FloatArray, y: FloatArray) -> BoolArray:
    """Whether each point lies in the box around its outline, so that the exact test is worth it."""
    drawn = np.flatnonzero(outlines.is_drawn)
    inside = outlines.is_drawn[which]
    for corner, point in ((outlines.x, x), (outlines.y, y)):
        low, high = np.full((2, len(outlines.corners)), np.nan)
        low[drawn] = np.minimum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        high[drawn] = np.maximum.reduceat(corner, outlines.first[drawn]) if len(drawn) else 0
        inside &= point >= low[which] - NEGLIGIBLE_MM
        inside &= point <= high[which] + NEGLIGIBLE_MM
    return inside
