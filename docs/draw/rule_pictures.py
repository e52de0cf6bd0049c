"""Mark rules -> one SVG each: the same eight situations, labelled by the rule itself.

``python docs/draw/rule_pictures.py`` redraws ``docs/pictures/rule-*.svg``. Because labels come from
the registered rule, a picture cannot tell another story than the program.
"""

from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

import polars as pl

from nodulebench import RULES, Labels, Reference, RuleChoice, Submission, TestProtocol, label_marks
from nodulebench.core.cohort import LABEL_NAMES
from nodulebench.core.tables import CASES, MARK_SLICES, MARKS, NODULE_SLICES, NODULES

PICTURES = Path(__file__).parents[1] / "pictures"
PANEL, PANEL_HEIGHT, CAPTION = 160, 124, 42
VIEW_MM = 26.0
SCALE = PANEL / VIEW_MM
COLUMNS = 4
OUTLINE_POINTS = 40
COLOURS = {
    "hit": "#00795a",
    "false positive": "#c2410c",
    "duplicate": "#64748b",
    "ignored": "#64748b",
    "missed": "#c2410c",
}


@dataclass(frozen=True)
class Ellipse:
    """A nodule on the slice: centre and full axes in mm."""

    x: float
    y: float
    length: float
    width: float
    is_ignored: bool = False

    @property
    def diameter(self) -> float:
        """The mean diameter, from which LUNA16 takes its radius."""
        return (self.length + self.width) / 2


@dataclass(frozen=True)
class Box:
    """A mark on the slice: centre, size and score."""

    x: float
    y: float
    length: float
    width: float
    score: float = 0.8


@dataclass(frozen=True)
class Situation:
    """One panel: nodules, marks, and the part of the plane that is shown."""

    name: str
    nodules: tuple[Ellipse, ...]
    marks: tuple[Box, ...]
    center: tuple[float, float] = (0.0, 0.0)


SITUATIONS = (
    Situation("near the centre", (Ellipse(0, 0, 13, 12),), (Box(1.5, -1, 12, 11),)),
    Situation(
        "two marks",
        (Ellipse(0, 0, 13, 12),),
        (Box(-3.5, 1.5, 10, 10, 0.9), Box(1.5, -0.5, 11, 11, 0.6)),
    ),
    Situation("next to a long nodule", (Ellipse(0, -1, 17, 6),), (Box(0, 3.2, 9, 8),), (0.0, 0.5)),
    Situation("box too small", (Ellipse(0, 0, 15, 14),), (Box(1, 1, 6, 6),)),
    Situation("box too large", (Ellipse(-6, 0, 8, 8),), (Box(0.5, 0, 21, 17),)),
    Situation(
        "between two nodules",
        (Ellipse(-3.5, 0, 12, 12), Ellipse(3.5, 0, 12, 12)),
        (Box(0, 0, 12, 12),),
    ),
    Situation("on an ignored finding", (Ellipse(0, 0, 10, 10, True),), (Box(1, 1, 9, 9),)),
    Situation("on nothing", (), (Box(0, 0, 9, 9),)),
)


def tables() -> tuple[Reference, Submission]:
    """The situations as a test set and a submission, one case each."""
    nodules, nodule_slices, marks, mark_slices = [], [], [], []
    for number, situation in enumerate(SITUATIONS):
        case = {"case_id": str(number)}
        for order, nodule in enumerate(situation.nodules):
            key = {**case, "nodule_id": f"n{order}"}
            place = {"x_mm": nodule.x, "y_mm": nodule.y, "z_mm": 0.0}
            more = {"diameter_mm": nodule.diameter, "is_ignored": nodule.is_ignored}
            nodules.append({**key, **place, **more})
            outline = ";".join(f"{x:.4f} {y:.4f}" for x, y in _outline(nodule))
            axes = {"long_mm": nodule.length, "short_mm": nodule.width}
            nodule_slices.append({**key, **_box_row(nodule), **axes, "contour": outline})
        for order, mark in enumerate(situation.marks):
            key = {**case, "mark_id": f"m{order}"}
            place = {"x_mm": mark.x, "y_mm": mark.y, "z_mm": 0.0}
            marks.append({**key, **place, "score": mark.score})
            mark_slices.append({**key, **_box_row(mark)})
    cases = pl.DataFrame({"case_id": [str(number) for number in range(len(SITUATIONS))]})
    return (
        Reference(
            "situations",
            CASES.conform(cases, "cases"),
            NODULES.conform(pl.DataFrame(nodules, strict=False), "nodules"),
            NODULE_SLICES.conform(pl.DataFrame(nodule_slices, strict=False), "nodules"),
        ),
        Submission(
            "situations",
            MARKS.conform(pl.DataFrame(marks, strict=False), "marks"),
            MARK_SLICES.conform(pl.DataFrame(mark_slices, strict=False), "marks"),
        ),
    )


def label_situations(rule: str) -> pl.DataFrame:
    """What a rule says: rows of case_id, mark_id, nodule_id, label."""
    reference, submission = tables()
    choice = RuleChoice(name=rule)
    protocol = TestProtocol(name="picture", rules=(choice,), metrics=("recall",))
    labels: Labels = label_marks(reference, submission, protocol, choice)
    return labels.table("", rule, submission, reference)


def draw_rule(rule: str) -> str:
    """The picture of a rule."""
    labels = label_situations(rule)
    rows = -(-len(SITUATIONS) // COLUMNS)
    width, height = COLUMNS * PANEL, rows * (PANEL_HEIGHT + CAPTION)
    panels = [
        _panel(rule, situation, labels.filter(pl.col("case_id") == str(number)), number)
        for number, situation in enumerate(SITUATIONS)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'role="img" font-family="system-ui, sans-serif" font-size="12">',
            f"<title>The mark rule {rule} in eight situations</title>",
            f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(rule: str, situation: Situation, labels: pl.DataFrame, number: int) -> str:
    left, top = number % COLUMNS * PANEL, number // COLUMNS * (PANEL_HEIGHT + CAPTION)
    hit_nodules = set(labels.filter(pl.col("label") == "hit")["nodule_id"])
    of_mark = {
        f"m{order}": _label_of_mark(labels, f"m{order}") for order in range(len(situation.marks))
    }
    drawn = [
        _nodule(one, f"n{order}" in hit_nodules) for order, one in enumerate(situation.nodules)
    ]
    if rule == "area_overlap":
        drawn += [_common(nodule, mark) for nodule in situation.nodules for mark in situation.marks]
    drawn += [_reach(rule, nodule) for nodule in situation.nodules]
    drawn += [
        _mark(one, of_mark[f"m{order}"], has_box=not rule.startswith("luna16"))
        for order, one in enumerate(situation.marks)
    ]
    stated = list(of_mark.values())
    hit_twice = labels.filter(pl.col("label") == "hit").height > 1
    missed = sum(
        f"n{order}" not in hit_nodules and not nodule.is_ignored
        for order, nodule in enumerate(situation.nodules)
    )
    stated = ["two hits" if hit_twice else label for label in stated] + ["missed"] * missed
    middle_x, middle_y = situation.center
    shift_x = left + PANEL / 2 - middle_x * SCALE
    shift_y = top + PANEL_HEIGHT / 2 - middle_y * SCALE
    verdict = " · ".join(
        f'<tspan fill="{COLOURS.get(word, COLOURS["hit"])}">{word}</tspan>' for word in stated
    )
    return "\n".join(
        [
            f'<g transform="translate({shift_x:.1f} {shift_y:.1f}) scale({SCALE:.3f})">',
            *drawn,
            "</g>",
            f'<text x="{left + PANEL / 2:g}" y="{top + PANEL_HEIGHT + 10}" text-anchor="middle" '
            f'fill="#334155">{situation.name}</text>',
            f'<text x="{left + PANEL / 2:g}" y="{top + PANEL_HEIGHT + 26}" text-anchor="middle" '
            f'font-weight="600">{verdict}</text>',
        ]
    )


def _label_of_mark(labels: pl.DataFrame, mark_id: str) -> str:
    stated = set(labels.filter(pl.col("mark_id") == mark_id)["label"])
    return next(name for name in LABEL_NAMES if name in stated).replace("_", " ")


def _nodule(nodule: Ellipse, is_found: bool) -> str:
    fill = "#e2e8f0" if nodule.is_ignored else "#a7d8c6" if is_found else "#f3c3ab"
    line = "#94a3b8" if nodule.is_ignored else "#475569"
    return (
        f'<ellipse cx="{nodule.x:g}" cy="{nodule.y:g}" rx="{nodule.length / 2:g}" '
        f'ry="{nodule.width / 2:g}" fill="{fill}" fill-opacity="0.75" stroke="{line}" '
        'stroke-width="0.25"/>'
    )


def _reach(rule: str, nodule: Ellipse) -> str:
    """What a mark has to meet: the radius, the outline or the box."""
    dashed = 'fill="none" stroke="#334155" stroke-width="0.25" stroke-dasharray="0.9 0.6"'
    if rule.startswith("luna16") or rule == "center_distance":
        return f'<circle cx="{nodule.x:g}" cy="{nodule.y:g}" r="{nodule.diameter / 2:g}" {dashed}/>'
    if rule == "area_overlap":
        return _rectangle(nodule, dashed)
    return (
        f'<ellipse cx="{nodule.x:g}" cy="{nodule.y:g}" rx="{nodule.length / 2:g}" '
        f'ry="{nodule.width / 2:g}" {dashed}/>'
    )


def _mark(mark: Box, label: str, *, has_box: bool) -> str:
    colour = COLOURS[label]
    box = _rectangle(mark, f'fill="none" stroke="{colour}" stroke-width="0.35"')
    cross = (
        f'<path d="M{mark.x - 0.8:g} {mark.y:g}h1.6M{mark.x:g} {mark.y - 0.8:g}v1.6" '
        f'stroke="{colour}" stroke-width="0.5"/>'
    )
    return f"{box}{cross}" if has_box else cross


def _common(nodule: Ellipse, mark: Box) -> str:
    """The area that the two boxes share."""
    left = max(nodule.x - nodule.length / 2, mark.x - mark.length / 2)
    right = min(nodule.x + nodule.length / 2, mark.x + mark.length / 2)
    top = max(nodule.y - nodule.width / 2, mark.y - mark.width / 2)
    bottom = min(nodule.y + nodule.width / 2, mark.y + mark.width / 2)
    shared = Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
    return _rectangle(shared, 'fill="#2563eb" fill-opacity="0.16"')


def _rectangle(box: Ellipse | Box, style: str) -> str:
    return (
        f'<rect x="{box.x - box.length / 2:g}" y="{box.y - box.width / 2:g}" '
        f'width="{box.length:g}" height="{box.width:g}" {style}/>'
    )


def _box_row(box: Ellipse | Box) -> dict[str, float]:
    return {
        "slice_index": 0,
        "z_mm": 0.0,
        "center_x_mm": box.x,
        "center_y_mm": box.y,
        "length_mm": box.length,
        "width_mm": box.width,
    }


def _outline(nodule: Ellipse) -> list[tuple[float, float]]:
    angles = [2 * pi * step / OUTLINE_POINTS for step in range(OUTLINE_POINTS)]
    return [
        (nodule.x + nodule.length / 2 * cos(angle), nodule.y + nodule.width / 2 * sin(angle))
        for angle in angles
    ]


def picture_of(rule: str) -> Path:
    """The file of a rule's picture."""
    return PICTURES / f"rule-{rule}.svg"


if __name__ == "__main__":
    for name in RULES:
        picture_of(name).write_text(draw_rule(name), encoding="utf-8")
