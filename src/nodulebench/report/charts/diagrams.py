"""Steps with exits -> a flow chart read from the top down."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nodulebench.report.charts.styles import Dot
from nodulebench.report.charts.svg import CANVAS_WIDTH as WIDTH
from nodulebench.report.charts.svg import LINE, chart, stroke, wrapped
from nodulebench.report.pages.svg import label

MAIN, SIDE = 250, 150
"""Widths of the boxes of steps and of exits."""
GAP, PADDING = 30, 9


@dataclass(frozen=True, slots=True)
class Step:
    """A step, what leads on from it, and where else it may lead."""

    text: str
    onward: str = ""
    """Label of the arrow to the next step."""
    exit: str = ""
    """Where it leads otherwise."""
    otherwise: str = ""
    """Label of the arrow to the exit."""


def flow_chart(steps: Sequence[Step], description: str) -> Markup:
    """The steps one below the other, exits to their right."""
    parts: list[str] = []
    top, middle = 4.0, MAIN / 2 + 2
    for number, step in enumerate(steps):
        boxes = [(2, MAIN, wrapped(step.text, MAIN - 2 * PADDING))]
        start, end = MAIN + 2, WIDTH - SIDE - 2
        if step.exit:
            boxes.append((end, SIDE, wrapped(step.exit, SIDE - 14)))
        height = LINE * max(len(lines) for _, _, lines in boxes) + 2 * PADDING
        y, foot = top + height / 2, top + height + GAP
        for left, width, lines in boxes:
            if left == end:
                parts.append(stroke("whisker", f"M{start} {y:.1f}H{end}"))
                parts.append(stroke("whisker", f"M{end - 6} {y - 4:.1f}l6 4l-6 4"))
                parts.append(label((start + end) / 2, y - 6, step.otherwise))
            parts.append(
                f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width}"'
                f' height="{height:.1f}"/>'
            )
            first = y - LINE * (len(lines) - 1) / 2 + 4.5
            for place, line in enumerate(lines):
                parts.append(label(left + width / 2, first + LINE * place, line, "axis"))
        if number + 1 < len(steps):
            parts.append(stroke("whisker", f"M{middle} {top + height:.1f}V{foot:.1f}"))
            parts.append(stroke("whisker", f"M{middle - 4} {foot - 6:.1f}l4 6l4-6"))
            parts.append(label(middle + 8, top + height + 19, step.onward, "first"))
        top = foot
    return chart(WIDTH, top - GAP + 6, parts, description)


SKETCH_SIZE = (150, 120)
OUTLINE = "M40 62C38 40 58 28 78 32C100 34 114 50 108 70C102 92 78 98 62 92C48 88 41 78 40 62z"
"""A nodule as a reader outlines it."""
CIRCLE = "M{left} {y}C{left} {up} {near} {top} {x} {top}C{far} {top} {right} {up} {right} {y}C{right} {down} {far} {bottom} {x} {bottom}C{near} {bottom} {left} {down} {left} {y}z"  # noqa: E501
KAPPA = 0.5523
"""How far the handles of a Bézier curve reach that draws a quarter of a circle."""


def circle(x: float, y: float, radius: float) -> str:
    reach = KAPPA * radius
    return CIRCLE.format(
        x=x, y=y, left=x - radius, right=x + radius, top=y - radius, bottom=y + radius,
        near=round(x - reach, 1), far=round(x + reach, 1), up=round(y - reach, 1),
        down=round(y + reach, 1),
    )  # fmt: skip


NODULE = stroke("outline c1", OUTLINE)
NODULE_BOX = '<rect class="boxed c1" x="39" y="31" width="71" height="64"/>'
SPHERE = stroke("outline c1", circle(75, 62, 36))
NODULE_CENTRE = Dot(0).marker(75, 62)
SKETCHES = {
    "luna16": (SPHERE, NODULE_CENTRE, stroke("whisker", "M75 62h36"), Dot(1).marker(92, 46)),
    "luna16_clean": (SPHERE, NODULE_CENTRE, stroke("whisker", "M75 62h36"), Dot(1).marker(92, 46)),
    "center_hit": (
        NODULE,
        '<rect class="boxed c2" x="56" y="22" width="76" height="60"/>',
        Dot(1).marker(94, 52),
    ),
    "center_distance": (
        NODULE_BOX,
        stroke("limit", circle(74.5, 63, 34)),
        Dot(0).marker(74.5, 63),
        '<rect class="boxed c2" x="62" y="16" width="70" height="56"/>',
        stroke("whisker", "M74.5 63L97 44"),
        Dot(1).marker(97, 44),
    ),
    "area_overlap": (
        NODULE_BOX,
        '<rect class="boxed c2" x="58" y="16" width="74" height="66"/>',
        '<rect class="heat" x="58" y="31" width="52" height="51" fill-opacity="0.35"/>',
    ),
}
"""The parts of the sketch of each rule: the nodule in the first colour, the mark in the second."""
