"""Charts: which curves are drawn together, and that readings off the page are the curve's own."""

import re
from itertools import accumulate

import numpy as np
import polars as pl
import pytest

from builders.evaluation import HOSTILE, algorithm_result, curves_of, evaluation
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.results import Evaluation
from nodulebench.i18n.translator import translator
from nodulebench.report.charts import PRECISION, Chart, first_digits
from nodulebench.report.curves import (
    FROC,
    OTHER_CURVES,
    Curves,
    by_curve,
    curve_charts,
    find_sweeps,
    rate_axis,
    sweep_charts,
    tolerance_chart,
)
from nodulebench.report.pages.svg import nice_ticks

TRANSLATE = translator()
ALPHA = algorithm_result("Alpha", (90, 66))


def drawn(evaluated: Evaluation) -> tuple[Document, Curves]:
    return evaluation_document(evaluated), by_curve(curves_of(evaluated))


def names(chart: Chart) -> list[str]:
    return [name for name, _ in chart.legend]


def test_one_algorithm_has_one_froc_chart_with_its_rules() -> None:
    (chart,) = curve_charts(*drawn(evaluation(ALPHA)), FROC, TRANSLATE)
    assert chart.title == "FROC: Alpha"
    assert names(chart) == ["center hit", "area overlap"]
    assert chart.remarks[-1] == "No such curve: center distance."


def test_several_algorithms_have_a_froc_chart_for_every_rule() -> None:
    charts = curve_charts(*drawn(evaluation()), FROC, TRANSLATE)
    assert [chart.title for chart in charts] == ["FROC: center hit", "FROC: area overlap"]
    assert names(charts[0]) == ["Alpha", HOSTILE]


def test_series_keeps_its_style_where_another_is_absent() -> None:
    first = algorithm_result("First", (90, 66), has_scores=False)
    charts = curve_charts(*drawn(evaluation(first, ALPHA)), FROC, TRANSLATE)
    assert [style.number for _, style in charts[0].legend] == [1]


def test_without_scores_no_froc_is_drawn() -> None:
    assert (
        curve_charts(
            *drawn(evaluation(algorithm_result("A", (90, 66), has_scores=False))), FROC, TRANSLATE
        )
        == []
    )


def test_bands_are_drawn_and_explained_until_they_would_hide_each_other() -> None:
    (few, _) = curve_charts(*drawn(evaluation()), FROC, TRANSLATE)
    assert few.remarks[0] == "Shaded: 95\N{NO-BREAK SPACE}% bootstrap band, point by point."
    assert few.svg.count('class="band') == 2
    five = [algorithm_result(f"A{number}", (90, 66)) for number in range(5)]
    (many, _) = curve_charts(*drawn(evaluation(*five)), FROC, TRANSLATE)
    assert 'class="band' not in many.svg
    assert many.remarks[0] == "Markers: the protocol's operating points."


def test_operating_points_are_marked_where_the_document_has_them() -> None:
    document, curves = drawn(evaluation(ALPHA))
    (chart,) = curve_charts(document, curves, FROC, TRANSLATE)
    assert chart.svg.count('class="point ') == 14
    sensitivity = document.algorithms[0].rules["center_hit"].value("sensitivity_at_fp_rate/1")
    assert sensitivity is not None
    down = 400 * (1 - sensitivity)
    assert f'data-at="320.00 {down:.2f}"' in chart.svg


def test_single_curve_has_its_readings_written_at_the_points() -> None:
    document, curves = drawn(evaluation(ALPHA))
    del curves["Alpha", "area_overlap", "froc"]
    (chart,) = curve_charts(document, curves, FROC, TRANSLATE)
    assert re.findall(r">(0\.\d{3})</text>", chart.svg) == [
        f"{0.75 * (hundredths / 1000) ** 0.2:.3f}"
        for hundredths in (12, 25, 50, 100, 200, 400, 800)
    ]


def test_dotted_end_is_explained_where_there_is_one() -> None:
    document, curves = drawn(evaluation(ALPHA))
    dotted = "Dotted: beyond the last mark, where the last value holds."
    assert dotted not in curve_charts(document, curves, FROC, TRANSLATE)[0].remarks
    key = ("Alpha", "center_hit", "froc")
    curves[key] = curves[key].filter(pl.col("x") < 4)
    assert dotted in curve_charts(document, curves, FROC, TRANSLATE)[0].remarks


def test_readings_in_the_page_rebuild_the_curve() -> None:
    document, curves = drawn(evaluation(ALPHA))
    (chart,) = curve_charts(document, curves, FROC, TRANSLATE)
    assert chart.readings is not None
    series = chart.readings["series"][0]
    x = np.array(list(accumulate(series["x"]))) / PRECISION
    y = np.array(list(accumulate(series["y"]))) / PRECISION
    table = curves["Alpha", "center_hit", "froc"]
    rates = np.linspace(0.125, 8, 500)
    wanted = np.interp(rates, table["x"].to_numpy(), table["y"].to_numpy())
    np.testing.assert_allclose(np.interp(rates, x, y), wanted, atol=2e-3)
    assert len(series["threshold"]) == len(x)
    assert len(series["band"]) == 3


def test_rates_beyond_the_usual_widen_the_axis() -> None:
    assert [label for _, label in rate_axis([0.125, 8], TRANSLATE).ticks] == [
        "1/8",
        "1/4",
        "1/2",
        "1",
        "2",
        "4",
        "8",
    ]
    wide = rate_axis([0.1, 10], TRANSLATE)
    assert (wide.low, wide.high) == (0.0625, 16.0)


def test_other_curves_are_drawn_on_plain_axes() -> None:
    document, curves = drawn(evaluation(ALPHA))
    corner = pl.DataFrame(
        {"x": [0.0, 0.0, 1.0], "y": [0.0, 0.8, 1.0], "threshold": [9.0, 0.5, 0.1]}
    )
    curves["Alpha", "center_hit", "lroc"] = corner
    (chart,) = curve_charts(document, curves, OTHER_CURVES, TRANSLATE)
    assert chart.title == "LROC: Alpha"
    assert 'd="M0 4000v-3200l6400 -800"' in chart.svg
    assert "abnormal cases correctly located" in chart.svg


def test_froc_by_tolerance_shows_the_published_three() -> None:
    document, curves = drawn(evaluation(ALPHA))
    assert tolerance_chart(document, curves, "Alpha", "center_hit", TRANSLATE) == []
    table = curves["Alpha", "center_hit", "froc"]
    for tolerance in ("0", "0.1", "0.5", "inf"):
        curves["Alpha", "center_hit", f"froc_tolerance_{tolerance}"] = table
    (chart,) = tolerance_chart(document, curves, "Alpha", "center_hit", TRANSLATE)
    assert names(chart) == ["tolerance 0 mm", "tolerance 0.5 mm", "tolerance ∞ mm"]


def test_chart_escapes_names_in_markup_and_data() -> None:
    html = "".join(
        chart.__html__() for chart in curve_charts(*drawn(evaluation()), FROC, TRANSLATE)
    )
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


@pytest.mark.parametrize(
    ("score", "short"),
    [(0.123456, 0.1235), (-12.3456, -12.35), (123456.0, 123500.0), (0.0, 0.0), (1e-7, 1e-7)],
)
def test_scores_are_cut_to_four_digits(score: float, short: float) -> None:
    assert first_digits(np.array([score])) == [short]


def test_score_that_is_none_stays_none() -> None:
    assert np.isnan(first_digits(np.array([np.inf, np.nan]))).all()


def test_sweep_gives_sensitivity_and_false_positives_against_tolerance() -> None:
    document, _ = drawn(evaluation(ALPHA))
    result = document.algorithms[0].rules["center_hit"]
    (rows,) = find_sweeps(result.extras["size_tolerance"])
    sensitivity, falses = sweep_charts(rows, result.counts, TRANSLATE)
    assert sensitivity.title == "Sensitivity"
    assert falses.title == "False positives per case"
    assert ">∞</text>" in sensitivity.svg
    # 70, 76 and 80 of 120: the margins are an eighth of the range, so 0.8, 0.32 and 0 of it
    heights = [float(y) for y in re.findall(r'data-at="[\d.]+ ([\d.]+)"', sensitivity.svg)]
    np.testing.assert_allclose(heights, [360.0, 168.0, 40.0], atol=0.01)


def test_sweep_needs_its_columns() -> None:
    assert find_sweeps([{"tolerance_mm": 0.0}]) == []
    assert find_sweeps({"a": 1, "b": []}) == []


def test_ticks_are_round_numbers_inside_the_range() -> None:
    assert [label for _, label in nice_ticks(0.0, 4.0)] == ["0", "1", "2", "3", "4"]
    assert [label for _, label in nice_ticks(0.572, 0.678)] == [
        "0.58",
        "0.60",
        "0.62",
        "0.64",
        "0.66",
    ]
