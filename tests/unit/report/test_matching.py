"""How marks are matched, drawn: the sketch of a rule shows what the rule itself says."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from builders.evaluation import algorithm_result, evaluation
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.i18n.translator import translator
from nodulebench.report.charts import SKETCHES, SPHERE, VICINITY, Step, flow_chart
from nodulebench.report.methods import matching_chart, rule_sketches
from nodulebench.report.pages.svg import text_width, wrapped

TRANSLATE = translator()


def document(*rules: str) -> dict[str, Any]:
    chosen = tuple({"name": rule} for rule in rules)
    return evaluation_document(evaluation(algorithm_result("Alpha", (90, 66)), rules=chosen))


def points(path: str) -> np.ndarray:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return np.array(numbers).reshape(-1, 2)


def boxes(rule: str) -> dict[str, tuple[float, float, float, float]]:
    """The boxes of a sketch by their colour: left, top, right, bottom."""
    by_text = {}
    for part in SKETCHES[rule]:
        for kind, x, y, width, height in re.findall(
            r'<rect class="boxed (c\d)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" '
            r'height="([\d.]+)"',
            part,
        ):
            left, top = float(x), float(y)
            by_text[kind] = (left, top, left + float(width), top + float(height))
    return by_text


def markers(rule: str) -> list[tuple[float, float]]:
    text = "".join(SKETCHES[rule])
    return [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", text)]


def test_every_rule_of_the_protocol_is_sketched_and_described() -> None:
    charts = rule_sketches(document("center_hit", "area_overlap", "luna16"), TRANSLATE)
    assert [chart.title for chart in charts] == ["center hit", "area overlap", "luna16"]
    assert charts[1].remarks == ("The mark's box covers more than half of the nodule's box.",)
    others = SimpleNamespace(rules=[SimpleNamespace(name="rule_of_others")])
    assert rule_sketches(SimpleNamespace(protocol=others), TRANSLATE) == []


def test_sketch_of_center_hit_has_the_marks_centre_inside_the_outline() -> None:
    (center,) = markers("center_hit")
    left, top, right, bottom = boxes("center_hit")["c2"]
    assert center == pytest.approx(((left + right) / 2, (top + bottom) / 2))
    outline = points(re.search(r'd="([^"]+)"', SKETCHES["center_hit"][0])[1])  # type: ignore[index]
    assert outline[:, 0].min() < center[0] < outline[:, 0].max()
    assert outline[:, 1].min() < center[1] < outline[:, 1].max()


def test_sketch_of_center_distance_has_the_centres_closer_than_the_radius() -> None:
    nodule, mark = markers("center_distance")
    for center, kind in ((nodule, "c1"), (mark, "c2")):
        left, top, right, bottom = boxes("center_distance")[kind]
        assert center == pytest.approx(((left + right) / 2, (top + bottom) / 2))
    left, top, right, bottom = boxes("center_distance")["c1"]
    radius = ((right - left) + (bottom - top)) / 4
    assert np.hypot(mark[0] - nodule[0], mark[1] - nodule[1]) < radius
    assert radius == pytest.approx(34, abs=0.5)  # as the dashed circle is drawn


def test_sketch_of_area_overlap_covers_more_than_half() -> None:
    nodule, mark = boxes("area_overlap")["c1"], boxes("area_overlap")["c2"]
    across = min(nodule[2], mark[2]) - max(nodule[0], mark[0])
    down = min(nodule[3], mark[3]) - max(nodule[1], mark[1])
    assert across * down / ((nodule[2] - nodule[0]) * (nodule[3] - nodule[1])) > 0.5
    shaded = re.search(
        r'class="heat" x="58" y="31" width="(\d+)" height="(\d+)"',
        "".join(SKETCHES["area_overlap"]),
    )
    assert shaded
    assert (float(shaded[1]), float(shaded[2])) == (across, down)


def test_circles_are_round() -> None:
    for middle, radius, circle in (((75, 62), 36, SPHERE), ((74.5, 63), 34, VICINITY)):
        assert np.hypot(*(points(circle)[[0, 3, 6, 9]] - middle).T) == pytest.approx(radius)


def test_flow_chart_belongs_to_rules_that_match_nodule_by_nodule() -> None:
    chart = matching_chart(document("center_hit", "center_distance"), TRANSLATE)
    assert chart is not None
    assert chart.remarks == (
        "Best under center hit: nearest to the nodule's largest slice.",
        "Best under center distance: the shortest distance.",
    )
    assert matching_chart(document("luna16"), TRANSLATE) is None


def test_flow_chart_has_a_box_for_every_step_and_exit() -> None:
    drawn = flow_chart([Step("a"), Step("b?", "yes", "c", "no"), Step("<d>")], "flow")
    assert drawn.count('<rect class="box"') == 4
    assert "&lt;d&gt;" in drawn
    for text in ("yes", "no"):
        assert f">{text}</text>" in drawn


def test_text_is_wrapped_at_words_and_between_chinese_characters() -> None:
    assert wrapped("one two three", text_width("one two")) == ["one two", "three"]
    lines = wrapped("是否有未占用的标记", text_width("是否有未"))
    assert lines == ["是否有未", "占用的标", "记"]
    assert wrapped("", 100) == [""]
