"""Name of a mark rule -> a sketch of what it compares: nodule, mark, and the measure between."""

from markupsafe import Markup

from nodulebench.report.charts.canvas import picture, stroke
from nodulebench.report.charts.styles import Dot

WIDTH, HEIGHT = 150, 120
OUTLINE = "M40 62C38 40 58 28 78 32C100 34 114 50 108 70C102 92 78 98 62 92C48 88 41 78 40 62z"
"""A nodule as a reader outlines it."""
CIRCLE = "M{left} {y}C{left} {up} {near} {top} {x} {top}C{far} {top} {right} {up} {right} {y}C{right} {down} {far} {bottom} {x} {bottom}C{near} {bottom} {left} {down} {left} {y}z"  # noqa: E501
KAPPA = 0.5523
"""How far the handles of a Bézier curve reach that draws a quarter of a circle."""


def scheme(rule: str, description: str) -> Markup | None:
    """The sketch of a rule; None for rules of others."""
    if rule not in SCHEMES:
        return None
    return picture(WIDTH, HEIGHT, SCHEMES[rule], description)


def circle(x: float, y: float, radius: float) -> str:
    """A circle as a path."""
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
SCHEMES = {
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
"""What each sketch is made of: the nodule in the first colour, the mark in the second."""
