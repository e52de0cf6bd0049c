"""Error analysis: worst cases, causes of false positives, image patches of nodules."""

from dataclasses import replace

import polars as pl

from builders.evaluation import curves_of, evaluation
from builders.report import group_document
from nodulebench.core.documents.records import RuleSummary, WorstCases
from nodulebench.i18n.translator import translator
from nodulebench.report.content import ReportAttachments
from nodulebench.report.errors import Patch, cause_blocks, galleries, worst_case_tables
from nodulebench.report.html import render_html

TRANSLATE = translator()
PNG = b"\x89PNG\r\n\x1a\n"
CAUSES = pl.DataFrame(
    {
        "algorithm": ["One"] * 4 + ["Two", "Other"],
        "cause": ["vessel", "vessel", "scar", "azygos lobe", "noise", "spine"],
    }
)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def patch(kind: str, name: str, **facts) -> Patch:
    return Patch("One", kind, "case-1", name, (PNG, PNG, PNG), **facts)


def test_worst_cases_have_their_counts() -> None:
    result = group_document().algorithms[0].rules["center_hit"]
    missed, falses = worst_case_tables(result, TRANSLATE)
    assert missed.caption == "Cases with most nodules missed"
    assert texts(missed) == [["case-013", "6", "5", "2"], ["case-007", "4", "4", "0"]]
    assert texts(falses) == [["case-031", "0", "0", "17"]]


def test_result_without_errors_has_no_worst_cases() -> None:
    none: WorstCases = {"missed": [], "false_positive": []}
    assert worst_case_tables(RuleSummary(extras={"worst_cases": none}), TRANSLATE) == []


def test_causes_are_counted_by_algorithm_with_their_share() -> None:
    chart, table = cause_blocks(CAUSES, group_document(), TRANSLATE)
    rows = {row[0]: row[1:] for row in texts(table)}
    assert rows["vessel"] == ["2", "50.0", "0", "0.0"]
    assert rows["noise"] == ["0", "0.0", "1", "100.0"]
    assert rows["azygos lobe"] == ["1", "25.0", "0", "0.0"]  # a cause that is not listed stays
    assert list(rows)[:6] == ["vessel", "scar", "spine", "mediastinum", "motion", "noise"]
    assert [name for name, _ in chart.legend] == ["One", "Two"]


def test_causes_of_unknown_algorithms_are_left_out() -> None:
    assert cause_blocks(CAUSES.filter(algorithm="Other"), group_document(), TRANSLATE) == []


def test_causes_of_many_algorithms_are_drawn_together() -> None:
    document = group_document()
    many = tuple(replace(document.algorithms[0], name=f"A{number}") for number in range(5))
    document = replace(document, algorithms=many)
    causes = pl.DataFrame({"algorithm": [f"A{n}" for n in range(5)], "cause": ["vessel"] * 5})
    chart, table = cause_blocks(causes, document, TRANSLATE)
    assert chart.legend == ()
    assert ">5<" in chart.svg
    assert len(table.heads) == 11


def test_gallery_shows_missed_nodules_first_with_type_and_size() -> None:
    shown = galleries(
        [patch("hit", "n1"), patch("missed", "n2", type="part_solid", diameter_mm=6.04)], TRANSLATE
    )
    assert [gallery.title for gallery in shown] == ["One: nodules missed", "One: nodules hit"]
    html = shown[0].__html__()
    assert html.count("data:image/png;base64,iVBORw0KGgo=") == 3
    assert "part-solid, 6.0 mm, case-1 / n2" in html
    for view in ("axial", "coronal", "sagittal"):
        assert f'alt="{view}"' in html


def test_gallery_says_how_many_are_not_shown() -> None:
    (shown,) = galleries([patch("missed", "n1")], TRANSLATE, {"missed": 14, "false_positive": 3})
    assert "Not shown: 13" in shown.__html__()
    (whole,) = galleries([patch("missed", "n1")], TRANSLATE, {"missed": 1})
    assert "Not shown" not in whole.__html__()


def test_gallery_escapes_names() -> None:
    (shown,) = galleries([patch("missed", '"><script>')], TRANSLATE)
    assert "<script>" not in shown.__html__()


def test_error_analysis_has_its_place_in_the_report() -> None:
    attachments = ReportAttachments(causes=CAUSES, patches=[patch("missed", "n2")])
    html = render_html(group_document(), curves_of(evaluation()), attachments=attachments)
    part = html[html.index('id="errors"') : html.index('id="test-set"')]
    assert part.index("case-013") < part.index("One: nodules missed")
    assert part.index("One: nodules missed") < part.index("Causes of false positives")
