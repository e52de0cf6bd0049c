"""Contours: the outline of a nodule on one slice, written 'x y;x y;...' in millimetres."""

import numpy as np

from nodulebench.errors import InputError, Problem
from nodulebench.model.arrays import FloatArray


def parse_contour(text: str, where: str) -> FloatArray:
    """The corners of an outline, one row (x, y) each; the last joins the first.

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
