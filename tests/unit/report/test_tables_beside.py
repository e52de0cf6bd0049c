"""Attachments of a report: published detectors, combinations, readers, CSV."""

from dataclasses import replace

import polars as pl
import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation, flips
from builders.report import comparison, group_document, plan, rule_effects
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.i18n.translator import translator
from nodulebench.report.comparison import combination_tables
from nodulebench.report.content import ReportAttachments
from nodulebench.report.csv_tables import csv_tables
from nodulebench.report.html import render_html
from nodulebench.report.methods import agreement_chart
from nodulebench.report.result_tables import PUBLISHED, literature_table

TRANSLATE = translator()
CANDIDATES = pl.DataFrame(
    {
        "members": ["I", "E", "I+E"],
        "hits": [1016, 1102, 1137],
        "sensitivity": [1016 / 1186, 1102 / 1186, 1137 / 1186],
        "best_single": [None, None, 1102 / 1186],
        "difference": [None, None, 35 / 1186],
        "candidates": [298256, 295686, 524108],
        "candidates_per_case": [298256 / 888, 295686 / 888, 524108 / 888],
    }
)
"""Rows of LUNA16's table 1: ISICAD, ETROCAD and both."""


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def luna16_document(name: str = "luna16"):
    mine = algorithm_result("Mine", (90, 66))
    mine = replace(mine, rules={"luna16": mine.rules["center_hit"]})
    return evaluation_document(evaluation(mine, name=name))


def test_published_rows_are_those_of_the_paper() -> None:
    assert len(PUBLISHED) == 16
    best = PUBLISHED[0]
    assert (best.scans, best.nodules, best.readings) == (888, 1186, ((98.2, 4), (96.9, 1)))
    assert {system.system for system in PUBLISHED if system.scans == 888} == {
        "LUNA16, combined",
        "Dou",
        "Setio",
    }
    assert all(
        0 < value <= 100 and rate > 0 for system in PUBLISHED for value, rate in system.readings
    )


def test_own_row_is_listed_with_published_ones() -> None:
    table = literature_table(luna16_document(), TRANSLATE)
    assert table is not None
    result = luna16_document().algorithms[0].rules["luna16"]
    at = {key: result.value(f"sensitivity_at_fp_rate/{key}") for key in ("1", "4")}
    assert texts(table)[0] == [
        "This test: Mine", "–", "40", "120", "–", "–", "–",
        f"{100 * at['4']:.1f} / 4; {100 * at['1']:.1f} / 1",
    ]  # fmt: skip
    assert texts(table)[2] == [
        "Dou", "2016", "888", "1,186", "≤ 2.5", "≥ 3", "≥ 3", "90.7 / 4; 84.8 / 1",
    ]  # fmt: skip
    assert len(table.rows) == 17


def test_literature_belongs_only_to_luna16() -> None:
    assert literature_table(luna16_document("own"), TRANSLATE) is None
    assert literature_table(group_document(), TRANSLATE) is None


def test_combinations_are_shown_with_their_best_member() -> None:
    (table,) = combination_tables([CANDIDATES], TRANSLATE)
    assert table.caption == "Merged candidate lists: all combinations"
    assert texts(table)[0] == ["■", "", "1,016", "0.857", "–", "–", "298,256", "335.9"]
    assert texts(table)[2] == ["■", "■", "1,137", "0.959", "0.929", "+0.030", "524,108", "590.2"]
    kinds = [row[3].kind for row in table.rows]
    assert kinds == ["number", "number", "number best"]


def test_combined_scores_show_every_operating_point() -> None:
    scores = pl.DataFrame(
        {
            "members": ["a", "b", "a+b"],
            "cpm": [0.8, 0.7, 0.85],
            "best_single": [None, None, 0.8],
            "difference": [None, None, 0.05],
            "sensitivity_at_0.125": [0.5, 0.4, 0.6],
            "sensitivity_at_8": [0.9, 0.9, 0.95],
        }
    )
    (table,) = combination_tables([scores], TRANSLATE)
    assert [cell.text for cell in table.heads] == [
        "a", "b", "1/8", "8", "CPM", "Best single", "Difference",
    ]  # fmt: skip
    assert texts(table)[2] == ["■", "■", "0.600", "0.950", "0.850", "0.800", "+0.050"]


def test_reader_agreement_is_drawn_with_intervals() -> None:
    chart = agreement_chart(
        [
            {"name": "1 and 2", "value": 0.71, "low": 0.62, "high": 0.8},
            {"name": "1 and 3", "value": None, "reason": "no subject was rated by both"},
        ],
        TRANSLATE,
    )
    assert chart is not None
    assert ">0.710<" in chart.svg
    assert "1 and 3" not in chart.svg
    assert agreement_chart([], TRANSLATE) is None


def test_negative_agreement_widens_the_axis() -> None:
    chart = agreement_chart([{"name": "a", "value": -0.2, "low": -0.4, "high": 0.0}], TRANSLATE)
    assert chart is not None
    assert ">−0.4<" in chart.svg


def test_attachments_have_their_place_in_the_report() -> None:
    attachments = ReportAttachments(
        combinations=[CANDIDATES], agreement=[{"name": "1 and 2", "value": 0.7}]
    )
    html = render_html(group_document(), curves_of(evaluation()), attachments=attachments)
    assert "Merged candidate lists" in html[html.index('id="compared"') :]
    assert "Agreement of the readers" in html[html.index('id="test-set"') :]


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    compared = [comparison(rule_effects=rule_effects())]
    document = group_document(comparisons=compared, plan=plan())
    return csv_tables(document, flips("One", 3))


def test_every_metric_is_a_row_with_its_interval(tables: dict[str, pl.DataFrame]) -> None:
    row = tables["metrics"].filter(algorithm="One", rule="center_hit", metric="recall")
    assert row.select("point", "value", "low", "high", "level").row(0) == (
        None, 0.75, 0.72, 0.78, 0.95,
    )  # fmt: skip
    reading = tables["metrics"].filter(
        algorithm="One", rule="center_hit", metric="sensitivity_at_fp_rate", point="0.125"
    )
    assert reading.height == 1


def test_undefined_is_empty_with_its_reason(tables: dict[str, pl.DataFrame]) -> None:
    row = tables["metrics"].filter(algorithm="One", rule="center_distance")
    assert row.select("value", "reason").row(0) == (
        None,
        "center_distance needs boxes per slice; the submission is a list of points",
    )


def test_strata_counts_flips_and_rules_are_rows(tables: dict[str, pl.DataFrame]) -> None:
    solid = tables["strata"].filter(algorithm="One", rule="center_hit", stratum="solid")
    assert solid.select("nodules", "missed").row(0) == (70, 20)
    few = tables["strata"].filter(stratum="calcified")
    assert few["miss_rate"].null_count() == few.height
    assert tables["flips"].row(0, named=True) == {
        "algorithm": "One",
        "base_rule": "center_hit",
        "rule": "area_overlap",
        "kind": "nodule",
        "base_label": "hit",
        "label": "missed",
        "count": 3,
    }
    assert tables["rule_differences"].filter(algorithm="Three")["relative_difference"][0] == 0.0
    assert tables["counts"].filter(algorithm="One", rule="center_hit")["hit"][0] == 90
    assert tables["misses_by_type_and_size"].height == 18


def test_comparisons_are_rows(tables: dict[str, pl.DataFrame]) -> None:
    two = tables["differences"].filter(algorithm="Two", rule="center_hit").row(0, named=True)
    assert two["difference"] == -0.045
    assert two["p_holm"] == pytest.approx(0.0008)
    assert two["is_non_inferior"] is False
    missing = tables["differences"].filter(rule="area_overlap").row(0, named=True)
    assert (missing["difference"], missing["reason"]) == (
        None,
        "the marks have no scores, so there is one operating point, no curve",
    )
    assert tables["rankings"]["best_rank"].to_list() == [1, 1, 3]
    assert tables["rule_effects"].row(0, named=True)["p_unpaired_t"] == 0.0075
    assert tables["criteria"]["met"].to_list() == [True, False, True]


def test_tables_without_rows_are_not_made() -> None:
    assert set(csv_tables(evaluation_document(evaluation(algorithm_result("A", (90, 66)))))) == {
        "metrics",
        "counts",
        "strata",
        "rule_differences",
    }
