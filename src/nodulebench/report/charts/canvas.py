"""Shapes and labels -> the parts of a picture; widths of text are estimated, since SVG flows none.

Pictures are drawn at the size at which they are read, also on a phone, so their text keeps its
size and is never scaled up.
"""

import re
from collections.abc import Iterable
from unicodedata import east_asian_width

from markupsafe import Markup

from nodulebench.report.charts.axes import Axis
from nodulebench.report.pages.svg import drawing, label

WIDTH = 460
"""Width of a picture, in pixels at its natural size."""
LETTER, WIDE_LETTER = 8.0, 13.5
"""Estimated width of a Latin and of a Chinese character at the size of labels."""
LINE = 17
"""Height of a line of text."""


def picture(width: float, height: float, parts: Iterable[str], description: str) -> Markup:
    """The parts as one picture."""
    style = "" if width == WIDTH else f' style="max-width:{width / 16:.2f}rem"'
    return drawing("picture", width, height, parts, description=description, attributes=style)


def stroke(kind: str, path: str) -> str:
    """A line."""
    return f'<path class="{kind}" d="{path}"/>'


def text_width(text: str) -> float:
    """About how wide a label is."""
    return sum(WIDE_LETTER if east_asian_width(one) in "WF" else LETTER for one in text)


def shortened(text: str, width: float) -> str:
    """The text, or as much of its beginning as fits into a width."""
    if text_width(text) <= width:
        return text
    kept = ""
    for letter in text:
        if text_width(kept + letter) > width - LETTER:
            break
        kept += letter
    return kept.rstrip() + "…"


def wrapped(text: str, width: float) -> list[str]:
    """The text in lines of at most that width; Chinese may break between any two characters."""
    lines, line = [], ""
    for word in re.findall(
        r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*", text
    ):
        if line and text_width((line + word).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [*lines, line.rstrip()]


def level_ticks(axis: Axis, left: float, right: float, top: float, bottom: float) -> str:
    """Level lines for an upright axis, with their labels to the left."""
    parts = ['<g class="ticks">']
    for value, text in axis.ticks:
        y = bottom - (bottom - top) * axis.place(value)
        parts.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(label(left - 6, y + 4.5, text, "last"))
    return "".join([*parts, "</g>"])


def upright_ticks(axis: Axis, left: float, right: float, top: float, bottom: float) -> str:
    """Upright lines for a level axis, with their labels below and its title below them."""
    parts = ['<g class="ticks">']
    for value, text in axis.ticks:
        x = left + (right - left) * axis.place(value)
        parts.append(f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
        parts.append(label(x, bottom + 17, text))
    parts.append("</g>")
    if axis.title:
        parts.append(label((left + right) / 2, bottom + 38, axis.title, "axis"))
    return "".join(parts)


def whisker_up(x: float, low: float, high: float) -> str:
    """An interval as an upright line with ends."""
    ends = f"M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
    return stroke("whisker", f"M{x:.1f} {low:.1f}V{high:.1f}{ends}")


def whisker_across(y: float, low: float, high: float) -> str:
    """An interval as a level line with ends."""
    ends = f"M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
    return stroke("whisker", f"M{low:.1f} {y:.1f}H{high:.1f}{ends}")
