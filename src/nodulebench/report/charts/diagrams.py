"""Steps with exits -> a flow chart read from the top down."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nodulebench.report.charts.canvas import LINE, WIDTH, picture, stroke, wrapped
from nodulebench.report.pages.svg import label

MAIN, SIDE = 250, 150
"""Widths of the boxes of steps and of exits."""
GAP, PADDING = 30, 9


@dataclass(frozen=True, slots=True)
class Step:
    """A step, what leads on from it, and where else it may lead."""

    text: str
    onward: str = ""
    """What stands beside the arrow to the next step."""
    exit: str = ""
    """Where it leads otherwise."""
    otherwise: str = ""
    """What stands above the arrow to the exit."""


def flow_chart(steps: Sequence[Step], description: str) -> Markup:
    """The steps one below the other, exits to their right."""
    parts: list[str] = []
    top, middle = 4.0, MAIN / 2 + 2
    for number, step in enumerate(steps):
        lines, beside = wrapped(step.text, MAIN - 2 * PADDING), wrapped(step.exit, SIDE - 14)
        height = LINE * max(len(lines), len(beside) if step.exit else 0) + 2 * PADDING
        parts += _box(2, top, MAIN, height, lines)
        if step.exit:
            y = top + height / 2
            start, end = MAIN + 2, WIDTH - SIDE - 2
            parts += _arrow(f"M{start} {y:.1f}H{end}", f"M{end - 6} {y - 4:.1f}l6 4l-6 4")
            parts.append(label((start + end) / 2, y - 6, step.otherwise))
            parts += _box(end, top, SIDE, height, beside)
        if number + 1 < len(steps):
            foot = top + height + GAP
            parts += _arrow(
                f"M{middle} {top + height:.1f}V{foot:.1f}", f"M{middle - 4} {foot - 6:.1f}l4 6l4-6"
            )
            parts.append(label(middle + 8, top + height + 19, step.onward, "first"))
        top += height + GAP
    return picture(WIDTH, top - GAP + 6, parts, description)


def _box(left: float, top: float, width: float, height: float, lines: Sequence[str]) -> list[str]:
    first = top + height / 2 - LINE * (len(lines) - 1) / 2 + 4.5
    return [
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width}" height="{height:.1f}"/>',
        *(
            label(left + width / 2, first + LINE * number, line, "axis")
            for number, line in enumerate(lines)
        ),
    ]


def _arrow(shaft: str, point: str) -> list[str]:
    return [stroke("whisker", shaft), stroke("whisker", point)]
