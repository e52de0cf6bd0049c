"""report.html: one file, safe, complete, and the same from only the files."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

from builders.evaluation import HOSTILE, algorithm_result, curves_of, evaluation, flips_of
from builders.sentences import sentence
from nodulebench.core.documents.evaluation import evaluation_document, read_evaluation
from nodulebench.core.results import AlgorithmResult, Evaluation, RuleResult
from nodulebench.report.html import Audience, render_html

VOID = {"meta", "link", "br", "path", "rect"}
ALPHA = algorithm_result("Alpha", (90, 66))


def page(evaluated: Evaluation, audience: Audience = "lab") -> str:
    return render_html(
        evaluation_document(evaluated), curves_of(evaluated), flips_of(evaluated), audience=audience
    )


class Outline(HTMLParser):
    """Checks that elements close in order; keeps ids, links, headings and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.attributes += values
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def test_sections_are_in_reading_order() -> None:
    assert outline(page(evaluation())).headings == [
        "Key metrics",
        "Curves and operating points",
        "Where nodules are missed",
        "Details",
        "Rules and counts",
        "Further analyses",
        "All metrics",
        "Methods",
        "Measurement uncertainty and traceability",
        "Reporting checklist",
    ]


def test_contents_lead_to_sections_that_exist() -> None:
    parts = outline(page(evaluation()))
    targets = [link for link in parts.links if link.startswith("#")]
    assert targets == ["#key", "#curves", "#strata", "#details"]
    assert {link[1:] for link in targets} <= set(parts.ids)


def test_page_asks_nothing_of_the_network() -> None:
    html = page(evaluation())
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert {link for link in outline(html).links if not link.startswith("#")} == {"data:,"}
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html


def test_only_our_script_may_run() -> None:
    html = page(evaluation())
    allowed = re.search(r"script-src 'sha256-([^']+)'", html)
    assert allowed
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == allowed[1]
    assert not [name for name in outline(html).attributes if name.startswith("on")]


def test_hostile_names_are_shown_as_text() -> None:
    evaluated = evaluation(
        algorithm_result(HOSTILE, (90, 66)),
        algorithm_result('"><img src=x onerror=alert(1)>', (84, 70)),
        title="</title><script>evil()</script>",
    )
    html = page(evaluated)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<script>evil" not in html
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; Co" in html
    outline(html)


def test_notices_are_below_the_answer_closed_and_shared_ones_once() -> None:
    html = page(evaluation(ALPHA, algorithm_result("Beta", (84, 70))))
    start = html.index('<details class="notices"><summary>What to know before relying on the ')
    assert html.index('<p class="lead">By CPM the highest of 2 algorithms is Alpha') < start
    notices = html[start : html.index('id="curves"')]
    assert "<b>reference:</b> case-007 has two series; the first was taken." in notices
    assert "<b>all algorithms:</b> 3 repeated header rows were dropped." in notices
    assert (
        "<b>all algorithms, center distance:</b> This rule could not be applied: center_distance "
        "needs boxes per slice; the submission is a list of points." in notices
    )


def test_remarks_are_with_the_methods_not_before_the_numbers() -> None:
    html = page(evaluation(ALPHA, algorithm_result("Beta", (84, 70))))
    remark = "The region of a nodule was its contour on 90 slices and its box on 4."
    assert html.count(remark) == 1
    assert html.index(remark) > html.index('id="methods"')
    assert "all algorithms, center hit" in html[: html.index(remark)].rsplit("<tr", 1)[1]


def test_undefined_is_a_dash_with_its_reason_never_a_zero() -> None:
    html = page(evaluation(ALPHA))
    reason = "the reference states a density for no nodule"
    assert f'<td class="number" title="{reason}">–<sup>a</sup></td>' in html
    assert f"<sup>a</sup> {reason}" in html


def test_too_few_replaces_a_rate() -> None:
    html = page(evaluation(ALPHA))
    row = re.search(r'<th class="head" scope="row">calcified</th>.*?</tr>', html)
    assert row
    assert row[0].count("too few<sup>a</sup>") == 2
    assert "0.250" not in row[0]


def test_intervals_are_written_after_their_values() -> None:
    html = page(evaluation(ALPHA))
    assert '0.750 <span class="bounds">(0.720–0.780)</span>' in html


def test_one_algorithm_under_one_rule_has_its_metrics_large() -> None:
    rules = {"center_hit": ALPHA.rules["center_hit"]}
    algorithm = AlgorithmResult("Alpha", "", rules, pl.DataFrame(), flips=ALPHA.flips)
    html = page(evaluation(algorithm))
    assert "<dt>CPM</dt><dd>0.675 <span>0.645–0.705</span></dd>" in html
    assert "nodules hit among all (lesion localisation rate), all marks counted" in html
    assert "Every algorithm under every rule" not in html
    assert "none: not read from a file" in html


def test_methods_state_all_that_changes_a_number() -> None:
    html = page(evaluation(ALPHA))
    methods = html[html.index('id="methods"') :]
    for stated in (
        "A test under three rules",
        "center hit",
        "guarded Bayesian bootstrap (with one added pseudo-patient, at worst and at best) over "
        "patients, 2,000 "
        "replicates; further: Wilson",
        "nodules of every type",
        "nodules of 4 mm or more, tolerance 0 mm for size error, reading &#39;table&#39;",
        "4, 6, 10 mm, half-open",
        "10 nodules",
        '<td class="words">7</td>',
        "1/8, 1/4, 1/2, 1, 2, 4, 8 false positives per case",
        "sha256:" + "ab" * 32,
        evaluation(ALPHA).digests["protocol"],
        "solid, part-solid",
    ):
        assert stated in methods, stated


@pytest.mark.parametrize(
    ("fields", "stated"),
    [
        (
            {"scope": {"types": ("solid",), "uses_declaration": True}},
            "nodules of type solid, limited to the types that each algorithm is declared for; "
            "other findings are ignored",
        ),
        ({"mark_cap": 100, "ties": "drop"}, "the best 100 of each case; marks tied across"),
        ({"interval": {"bootstraps": 0}}, "none (no bootstrap replicates)"),
        ({"interval": {"method": "jackknife"}}, "jackknife with normal bounds over patients"),
        ({"score_threshold": 0.5}, "0.5"),
        (
            {"size_limit": {"minimum_mm": 3.5, "tolerance_mm": float("inf")}},
            "nodules of 3.5 mm or more, tolerance ∞ mm",
        ),
        ({"size_limit": None}, "Smallest subgroup with a rate"),
        (
            {"rules": [{"name": "area_overlap", "parameters": {"threshold": 0.3}}]},
            "threshold = 0.3",
        ),
    ],
)
def test_methods_follow_the_protocol(fields: dict[str, Any], stated: str) -> None:
    html = page(evaluation(ALPHA, **fields))
    assert stated in html[html.index('id="methods"') :]


def test_rules_are_recommended_by_use_only_where_there_is_a_choice() -> None:
    assert "robot-assisted surgery" in page(evaluation(ALPHA))
    single = evaluation(ALPHA, rules=({"name": "center_distance"},))
    assert "robot-assisted surgery" not in page(single)


def test_patients_are_stated_only_if_they_are_not_the_cases() -> None:
    assert "<dt>Patients</dt><dd>38</dd>" in page(evaluation(ALPHA))
    document = evaluation_document(evaluation(ALPHA))
    document = replace(document, reference=replace(document.reference, patients=40))
    assert "<dt>Patients" not in render_html(document, curves_of(evaluation(ALPHA)))


def test_developers_copy_reveals_nothing_of_the_reference() -> None:
    lab, developer = (page(evaluation(ALPHA), audience) for audience in ("lab", "developer"))
    for secret in ("case-000", "case-007"):
        assert secret in lab
        assert secret not in developer
    assert "developer&#39;s copy" in developer
    assert "0.750" in developer


def test_page_is_the_same_from_only_the_files() -> None:
    evaluated = evaluation()
    content = json.loads(json.dumps(evaluation_document(evaluated).to_json(), allow_nan=False))
    document = read_evaluation(content, "evaluation.json")
    assert render_html(document, curves_of(evaluated), flips_of(evaluated)) == page(evaluated)


def test_page_is_the_same_every_time() -> None:
    assert page(evaluation()) == page(evaluation())


def test_algorithm_that_no_rule_fits_still_has_a_report() -> None:
    why = sentence("the marks are points")
    rules = {"center_hit": RuleResult("center_hit", {}, {}, {}, undefined=why)}
    evaluated = evaluation(AlgorithmResult("Alpha", "", rules, pl.DataFrame()))
    html = render_html(evaluation_document(evaluated), curves_of(evaluated))
    assert "–  not applicable: the marks are points" in html
    assert "Where nodules are missed" not in outline(html).headings


def test_details_start_closed_for_many_algorithms() -> None:
    few, many = (
        page(evaluation(*(algorithm_result(f"A{number}", (90, 66)) for number in range(count))))
        for count in (2, 5)
    )
    assert "<details open><summary>A1" in few
    assert "<details open><summary>A1" not in many
    assert "<details><summary>A1" in many
