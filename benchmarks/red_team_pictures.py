"""Styles of burned-in text: a slice -> the same slice with a name drawn on it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]
NAME = "ZACHARIAS 778213"


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How text is drawn."""

    height: int = 16
    """Of its letters, in pixels."""
    text: str = NAME
    is_smooth: bool = False
    """Whether edges fade, as drawing programs do."""
    hu: float | None = None
    """Its value; None: that of the brightest pixel."""
    turned: int = 0
    """Degrees."""
    is_vertical: bool = False
    """Letters below each other."""
    is_underlined: bool = False
    is_inverse: bool = False
    """Dark letters on a bright box."""
    is_over_body: bool = False
    is_outlined: bool = False
    """Only the edges of letters."""


STYLES: dict[str, TextStyle] = {
    **{f"{size} pixels high": TextStyle(size) for size in (6, 8, 10, 14, 20, 28, 48, 64, 110)},
    **{
        f"{size} pixels high, smoothed": TextStyle(size, is_smooth=True)
        for size in (8, 10, 14, 20, 28, 48, 64, 110)
    },
    "inverse": TextStyle(is_inverse=True),
    "inverse, smoothed": TextStyle(is_inverse=True, is_smooth=True),
    "underlined": TextStyle(is_underlined=True),
    "underlined, smoothed": TextStyle(is_underlined=True, is_smooth=True),
    "turned by 30 degrees": TextStyle(turned=30),
    "turned by 90 degrees": TextStyle(turned=90),
    "turned by 180 degrees": TextStyle(turned=180),
    "turned by 90 degrees, smoothed": TextStyle(turned=90, is_smooth=True),
    "turned by 30 degrees, smoothed": TextStyle(20, turned=30, is_smooth=True),
    "vertical": TextStyle(is_vertical=True),
    "vertical, smoothed": TextStyle(is_vertical=True, is_smooth=True),
    "faint": TextStyle(hu=-850),
    "faint, smoothed": TextStyle(20, hu=-750, is_smooth=True),
    "grey": TextStyle(hu=60),
    "grey, smoothed": TextStyle(20, hu=60, is_smooth=True),
    "two letters": TextStyle(text="ZQ"),
    "two letters, small": TextStyle(8, text="ZQ"),
    "two letters, smoothed": TextStyle(28, text="ZQ", is_smooth=True),
    "initials with points": TextStyle(text="Z.Q."),
    "one sign": TextStyle(28, text="\u738b"),
    "only a number": TextStyle(text="778213"),
    "outlined": TextStyle(28, is_outlined=True),
    "over the body": TextStyle(20, is_over_body=True),
    "over the body, grey": TextStyle(20, hu=300, is_over_body=True),
    "over the body, dark": TextStyle(20, hu=-1000, is_over_body=True),
}


def drawn(stored: Pixels, slope: float, intercept: float, style: TextStyle) -> Pixels:
    """A picture with text on it.

    Args:
        stored: rows x columns.
        slope: from stored values to HU.
        intercept: from stored values to HU.
        style: how the text is drawn.
    """
    strength, box = _page(stored.shape, style)
    limits = np.iinfo(stored.dtype)
    value = float(stored.max()) if style.hu is None else (style.hu - intercept) / slope
    value = min(max(value, limits.min), limits.max)
    ground = stored.astype(np.float64)
    if style.is_inverse:
        top, bottom, left, right = box
        ground[top:bottom, left:right] = value
        value = float(np.percentile(stored, 20))
    mixed = ground * (1 - strength) + value * strength
    return np.rint(mixed).astype(stored.dtype)


def _page(shape: tuple[int, ...], style: TextStyle) -> tuple[Pixels, tuple[int, int, int, int]]:
    """How strongly each pixel is drawn, from 0 to 1, and the box of the text."""
    from PIL import Image, ImageDraw, ImageFont

    size = style.height * 1.35
    font = ImageFont.load_default(size=size)
    text = "\n".join(style.text) if style.is_vertical else style.text
    pen = ImageDraw.Draw(Image.new("L", (1, 1)))
    left, top, right, bottom = (
        int(edge) for edge in pen.multiline_textbbox((0, 0), text, font=font)
    )
    page = Image.new("L", (right - left + 8, bottom - top + 8), 0)
    pen = ImageDraw.Draw(page)
    pen.fontmode = "L" if style.is_smooth else "1"
    if style.is_outlined:
        pen.multiline_text(
            (4 - left, 4 - top), text, fill=0, font=font, stroke_width=1, stroke_fill=255
        )
    else:
        pen.multiline_text((4 - left, 4 - top), text, fill=255, font=font)
    if style.is_underlined:
        pen.line((2, page.height - 4, page.width - 3, page.height - 4), fill=255)
    how = Image.Resampling.BICUBIC if style.is_smooth else Image.Resampling.NEAREST
    page = page.rotate(style.turned, how, expand=True)
    whole = Image.new("L", (shape[1], shape[0]), 0)
    place = (6, 6)
    if style.is_over_body:
        place = ((shape[1] - page.width) // 2, (shape[0] - page.height) // 2)
    whole.paste(page, place)
    box = (place[1], place[1] + page.height, place[0], place[0] + page.width)
    return np.asarray(whole, dtype=np.float64) / 255, box
