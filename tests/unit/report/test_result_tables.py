"""Tables of results: the content of each cell."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from builders.evaluation import (
    HOSTILE,
    algorithm_result,
    curves_of,
    difference,
    evaluation,
    flips,
)
from builders.report import typed
from builders.sentences import sentence
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.notices import Notice
from nodulebench.core.results import AlgorithmResult, Estimate, RuleResult
from nodulebench.i18n.translator import translator
from nodulebench.report.blocks import Fold, Notes, Side, Table, any_cell, estimate, tables_of
from nodulebench.report.content import report_content
from nodulebench.report.result_tables import (
    MOST_LEADING,
    counts_table,
    key_names,
    key_table,
    leading_rules,
    metrics_table,
    readings_table,
    strata_tables,
)
from nodulebench.report.rules import difference_table, flip_table

TRANSLATE = translator()


def texts(table: Table) -> list[list[str]]:
    """What the cells of a table say, intervals in brackets, notes after a caret."""
    return [
        [
            cell.text
            + (f" ({cell.bounds})" if cell.bounds else "")
            + (f"^{cell.note}" if cell.note else "")
            for cell in row
        ]
        for row in table.rows
    ]


def document(*algorithms: AlgorithmResult, **fields: Any) -> Document:
    return evaluation_document(evaluation(*algorithms, **fields))


def with_metrics(algorithm: AlgorithmResult, rule: str, **metrics: Any) -> AlgorithmResult:
    """The algorithm with these metrics under a rule; None leaves one out."""
    every = {**algorithm.rules[rule].metrics, **metrics}
    defined = {name: metric for name, metric in every.items() if metric is not None}
    return replace(
        algorithm, rules={**algorithm.rules, rule: replace(algorithm.rules[rule], metrics=defined)}
    )


def test_key_table_has_a_row_for_every_algorithm_and_rule() -> None:
    table = key_table(document(), TRANSLATE)
    assert [cell.text for cell in table.heads] == [
        "Algorithm",
        "Rule",
        "Nodules hit",
        "CPM",
        "Sensitivity at 1 FP",
        "Recall",
        "Precision",
        "FP per case",
    ]
    rows = texts(table)
    assert len(rows) == 6
    assert rows[0][:4] == ["Alpha", "center hit", "90 / 120", "0.675 (0.645–0.705)"]
    assert rows[0][5:] == ["0.750 (0.720–0.780)", "0.474 (0.444–0.504)", "2.500 (2.470–2.530)"]
    assert rows[1] == [
        "center distance",
        "–  not applicable: center_distance needs boxes per slice; the submission is a list of "
        "points",
    ]
    assert rows[3][0] == HOSTILE


def test_one_algorithm_is_named_by_the_page_not_in_every_row() -> None:
    table = key_table(document(algorithm_result("Alpha", (90, 66))), TRANSLATE)
    assert next(cell.text for cell in table.heads) == "Rule"
    assert texts(table)[0][:2] == ["center hit", "90 / 120"]


def test_without_scores_the_curve_does_not_lead_and_its_metrics_say_why() -> None:
    shown = document(algorithm_result("Alpha", (90, 66), has_scores=False))
    assert key_names(shown) == ["recall", "precision", "f1", "fp_per_case"]
    readings = readings_table(shown, "sensitivity_at_fp_rate", TRANSLATE)
    assert readings is not None
    assert texts(readings)[0] == ["center hit", *["–^a"] * 7]
    assert readings.notes == [
        ("a", "the marks have no scores, so there is one operating point, no curve")
    ]


def test_key_metric_follows_the_protocols_beta() -> None:
    result = algorithm_result("Alpha", (90, 66), has_scores=False)
    shown = document(with_metrics(result, "center_hit", f2=Estimate(0.6)), beta=2.0)
    assert key_names(shown) == ["recall", "precision", "f2", "fp_per_case"]


def test_metric_that_only_some_rules_have_is_a_dash_elsewhere() -> None:
    alpha = algorithm_result("Alpha", (90, 66))
    shown = document(with_metrics(alpha, "area_overlap", precision=None))
    table = key_table(shown, TRANSLATE)
    assert texts(table)[2][5] == "–^a"
    assert table.notes == [("a", "not computed under this rule")]


def test_readings_are_under_their_rates() -> None:
    table = readings_table(document(), "sensitivity_at_fp_rate", TRANSLATE)
    assert table is not None
    assert [cell.text for cell in table.heads][2:] == ["1/8", "1/4", "1/2", "1", "2", "4", "8"]
    # Alpha, center hit: 0.75 * (8 / 10) ** 0.2 = 0.7173
    assert texts(table)[0][-1].startswith("0.717 (")
    assert readings_table(document(), "pcl_at_fpf", TRANSLATE) is None


def test_fractions_of_normal_cases_stay_decimal() -> None:
    readings = {"0.05": Estimate(0.7), "0.2": Estimate(0.8)}
    alpha = algorithm_result("Alpha", (90, 66))
    shown = document(with_metrics(alpha, "center_hit", pcl_at_fpf=readings))
    table = readings_table(shown, "pcl_at_fpf", TRANSLATE)
    assert table is not None
    assert table.caption == "Correct localisation by false positive fraction"
    assert [cell.text for cell in table.heads] == ["Rule", "0.05", "0.2"]


def test_thresholds_are_scores_of_any_size_without_interval() -> None:
    readings = {
        "1": Estimate(-12.345678),
        "2": Estimate(None, reason=Notice("rate_too_low")),
    }
    alpha = algorithm_result("Alpha", (90, 66))
    shown = document(with_metrics(alpha, "center_hit", threshold_at_fp_rate=readings))
    table = readings_table(shown, "threshold_at_fp_rate", TRANSLATE)
    assert table is not None
    assert texts(table) == [["center hit", "−12.35", "–^a"]]


def test_counts_leave_out_what_never_happened() -> None:
    table = counts_table(document(), TRANSLATE)
    heads = [cell.text for cell in table.heads]
    assert "Over the cap" not in heads
    assert heads[2:] == [
        "Nodules hit",
        "Nodules missed",
        "Marks",
        "False positives",
        "Duplicates",
        "On ignored findings",
    ]
    assert texts(table)[0] == ["Alpha", "center hit", "90", "30", "193", "100", "2", "1"]


def test_relative_difference_of_rules_is_shown_with_its_sign() -> None:
    table = difference_table(document(), TRANSLATE)
    assert table is not None
    assert texts(table)[0] == [
        "Alpha",
        "center hit → area overlap",
        "90 → 66",
        "0",
        "24",
        "−26.7\N{NO-BREAK SPACE}%",
        "100 → 124",
        "24",
    ]


def test_differences_from_the_baseline_rule_come_first_and_undefined_ones_say_why() -> None:
    alpha = algorithm_result("Alpha", (90, 66))
    lost = difference("area_overlap", "center_distance", 0, 5)
    alpha = replace(alpha, rule_differences=[*alpha.rule_differences, lost])
    shown = document(alpha, baseline_rule="area_overlap")
    table = difference_table(shown, TRANSLATE)
    assert table is not None
    rows = texts(table)
    assert rows[0][0] == "area overlap → center distance"
    assert rows[0][4] == "–^a"
    assert table.notes == [("a", "no nodule is hit under the first rule of the comparison")]


def test_one_rule_has_no_difference() -> None:
    shown = document(replace(algorithm_result("Alpha", (90, 66)), rule_differences=[]))
    assert difference_table(shown, TRANSLATE) is None


def test_first_flips_are_shown_and_the_rest_counted() -> None:
    table = flip_table(flips("Alpha", 25), TRANSLATE)
    assert table is not None
    assert len(table.rows) == 20
    assert table.remark == "5 more in flips.parquet."
    assert texts(table)[0] == [
        "center hit → area overlap",
        "nodule",
        "case-000",
        "n0",
        "m1",
        "0.75",
        "hit → missed",
        "solid",
        "6.25",
        "1.50",
        "0.40",
    ]


def test_no_flips_no_table() -> None:
    assert flip_table(None, TRANSLATE) is None
    assert flip_table(flips("Alpha", 0), TRANSLATE) is None


def test_flip_without_nodule_or_boxes_has_dashes() -> None:
    flip = flips("Alpha", 1).with_columns(
        pl.lit(None, pl.String).alias("nodule_id"), pl.lit(None, pl.Float64).alias("overlap")
    )
    table = flip_table(flip, TRANSLATE)
    assert table is not None
    assert (texts(table)[0][3], texts(table)[0][-1]) == ("–", "–")
    assert table.remark == ""


def test_flips_of_several_algorithms_name_them() -> None:
    table = flip_table(pl.concat([flips("Alpha", 1), flips("Beta", 1)]), TRANSLATE)
    assert table is not None
    assert [row[0] for row in texts(table)] == ["Alpha", "Beta"]


def test_stratum_with_too_few_nodules_has_no_rate() -> None:
    table = strata_tables(document().algorithms[0], 10, TRANSLATE)[0]
    rows = {row[0]: row[1:] for row in texts(table)}
    assert rows["solid"] == ["70", "20", "0.286 (0.256–0.316)", "20", "0.286 (0.256–0.316)"]
    assert rows["calcified"] == ["4", "1", "too few^a", "1", "too few^a"]
    assert rows["pleural"] == ["0", "0", "–^b", "0", "–^b"]
    assert table.notes == [
        ("a", "fewer than 10 nodules, the minimum for a rate in this protocol"),
        ("b", "nothing to count in this subgroup"),
    ]
    assert list(table.groups) == [("", 2), ("center hit", 2), ("area overlap", 2)]


def test_bars_of_a_table_share_a_scale_that_holds_every_interval() -> None:
    type_table, scanner_table, _ = strata_tables(document().algorithms[0], 10, TRANSLATE)
    assert type_table.remark == "Bars from 0 to 1, with intervals."
    assert scanner_table.remark == "Bars from 0 to 0.5, with intervals."


def test_strata_of_cases_show_their_cases_and_metrics_under_each_rule() -> None:
    tables = strata_tables(document().algorithms[0], 10, TRANSLATE)
    assert [table.caption for table in tables] == [
        "Nodule type",
        "Scanner, rule center hit",
        "Scanner, rule area overlap",
    ]
    assert texts(tables[1])[0] == [
        "A",
        "30",
        "90",
        "30",
        "0.333 (0.303–0.363)",
        "0.667 (0.637–0.697)",
    ]


def test_metrics_of_cases_are_not_shown_for_too_few_nodules() -> None:
    content = document().to_json()
    content["algorithms"][0]["rules"]["center_hit"]["strata"]["scanner"]["B"]["too_few"] = True
    shown = typed(content).algorithms[0]
    assert texts(strata_tables(shown, 10, TRANSLATE)[1])[1][4:] == ["too few^a", "too few^a"]


def test_all_metrics_show_further_intervals_and_the_mean_of_replicates() -> None:
    table = metrics_table(document().algorithms[0], TRANSLATE)
    assert table is not None
    rows = {row[0]: row for row in texts(table)}
    assert rows["Recall"][2:4] == [
        "0.750 (0.720–0.780)",
        "Wilson 0.700–0.790; bootstrap mean 0.750",
    ]
    assert rows["Density accuracy"][2] == "–^a"
    assert table.notes == [("a", "the reference states a density for no nodule")]


def test_algorithm_without_any_result_has_no_metrics_table() -> None:
    rules = {"center_hit": RuleResult("center_hit", {}, {}, {}, undefined=Notice("no_area"))}
    result = AlgorithmResult("Alpha", "", rules, pl.DataFrame())
    assert metrics_table(document(result).algorithms[0], TRANSLATE) is None
    assert len(key_table(document(result), TRANSLATE).rows) == 1


def test_equal_reasons_share_a_note_and_a_defined_value_can_have_one() -> None:
    notes = Notes(TRANSLATE)
    lost = Estimate(0.5, reason=Notice("replicates_lost", {"lost": 3, "replicates": 2000}))
    assert estimate(lost, notes).note == "a"
    assert estimate(Estimate(None, reason=sentence("no marks")), notes).note == "b"
    assert estimate(lost, notes).note == "a"
    assert [reason for _, reason in notes.all()] == [
        "undefined in 3 of 2000 replicates, left out",
        "no marks",
    ]


def test_notes_beyond_z_double_their_letter() -> None:
    notes = Notes(TRANSLATE)
    assert [notes.letter(str(number)) for number in range(27)][-2:] == ["z", "aa"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (1186, "1,186"),
        (0.123456, "0.1235"),
        ("inf", "∞"),
        ({"value": None, "reason": "none"}, "–"),
        ({"value": 0.5, "low": 0.4, "high": 0.6}, "0.500"),
        (["part_solid", "solid"], "part-solid, solid"),
        ("part_solid", "part-solid"),
    ],
)
def test_cell_for_any_json_value(value: Any, text: str) -> None:
    assert any_cell(value, TRANSLATE).text == text


def test_extras_become_tables_by_their_shape() -> None:
    extras = document().algorithms[0].rules["center_hit"].extras
    own, sweep = tables_of("size_tolerance", extras["size_tolerance"], TRANSLATE)
    assert texts(own) == [["tolerance beyond which hits no longer change, mm", "0.8"]]
    assert sweep.caption == "Counts by tolerance for size error"
    assert texts(sweep) == [
        ["0.0", "70", "50", "90"],
        ["0.5", "76", "44", "84"],
        ["∞", "80", "40", "80"],
    ]
    (square,) = tables_of("density_confusion", extras["density_confusion"], TRANSLATE)
    assert [cell.text for cell in square.heads] == ["Reference ↓  stated →", "solid", "part-solid"]
    assert texts(square) == [["solid", "40", "3"], ["part-solid", "5", "21"]]
    assert tables_of("nothing", [], TRANSLATE) == []
    assert texts(tables_of("area", {"value": 0.5}, TRANSLATE)[0]) == [["0.500"]]


def test_numbers_of_a_column_have_the_same_decimals_three_at_most() -> None:
    rows = [
        {"low": 0.1, "share": 0.017243},
        {"low": 1.0, "share": 1.0},
        {"low": 0.5, "share": None},
    ]
    (table,) = tables_of("reliability", rows, TRANSLATE)
    assert texts(table) == [["0.1", "0.017"], ["1.0", "1.000"], ["0.5", "–"]]


def test_table_escapes_every_text() -> None:
    bad = "<i>&\"'"
    table = Table(
        bad,
        [any_cell(bad, TRANSLATE)],
        [[any_cell(bad, TRANSLATE)]],
        [("a", bad)],
        bad,
        groups=[(bad, 1)],
    )
    for block in (table, Side([table]), Fold(bad, [table])):
        html = block.__html__()
        assert "<i>" not in html
        assert "&lt;i&gt;&amp;&#34;&#39;" in html


def test_with_many_results_those_under_the_baseline_rule_lead() -> None:
    few, many = (
        evaluation_document(
            evaluation(*(algorithm_result(f"A{number}", (90, 66)) for number in range(count)))
        )
        for count in (4, 5)
    )
    assert leading_rules(few) is few
    assert len(list(few.results)) == MOST_LEADING
    led = leading_rules(many)
    assert [(algorithm.name, rule) for algorithm, rule, _ in led.results] == [
        (f"A{number}", "center_hit") for number in range(5)
    ]
    content = report_content(many, curves_of(evaluation()))
    assert len(content.key_table.rows) == 5
    (rules,) = (detail for detail in content.details if detail.name == "rules")
    tables = [block for block in rules.blocks if isinstance(block, Table)]
    assert max(len(table.rows) for table in tables) == 15
