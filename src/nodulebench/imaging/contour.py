"""Contours: the outline of a nodule on one slice, written 'x y;x y;...' in millimetres."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.model.arrays import FloatArray, IntArray

LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The points of many outlines, one after the other."""

    outline: IntArray
    """Which outline a point belongs to, ascending."""
    x_mm: FloatArray
    y_mm: FloatArray


def read_contours(contours: pl.Series, *, allows_none: bool = True) -> Points:
    """The points that many texts 'x y;x y;...' describe, all at once.

    Args:
        contours: the texts.
        allows_none: whether null or empty text is an outline without points; else it is refused.

    Raises:
        InputError: for each text that is not a list of points.
    """
    texts = contours.rename("contour").to_frame().with_row_index("outline")
    texts = texts.with_columns(pl.col("contour").str.strip_chars(" ;").fill_null(""))
    drawn = texts.filter(pl.col("contour") != "")
    points = (
        drawn.with_columns(pl.col("contour").str.split(";").alias("point"))
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
        empty = texts.filter(pl.col("contour") == "")["outline"]
        wrong = pl.concat([wrong, empty]).sort()
    if len(wrong):
        raise InputError(
            Problem(
                f"outline '{(contours[row] or '')[:LONGEST_SHOWN]}'",
                "is not a list of points.",
                "Write it as 'x y;x y;...' in millimetres.",
            )
            for row in wrong
        )
    return Points(
        points["outline"].cast(pl.Int64).to_numpy(), points["x"].to_numpy(), points["y"].to_numpy()
    )


def parse_contour(text: str, where: str) -> FloatArray:
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
        raise InputError(
            Problem(
                where,
                f"contour '{shown}' is not a list of points.",
                "Write its corners as 'x y;x y;...' in millimetres, or leave it empty.",
            )
        )
    return outline


def box_contour(center_x: float, center_y: float, length: float, width: float) -> FloatArray:
    """A box as an outline of four corners."""
    half = np.array([length, width]) / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return np.array([center_x, center_y]) + signs * half
