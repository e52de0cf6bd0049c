"""A group of algorithms: means and deviations by hand, and the type missed most often."""

from collections import Counter
from dataclasses import replace

import pytest

from builders.report import group_content, group_document, typed
from nodulebench.core.documents.comparison import PairOfRules, Significance
from nodulebench.i18n.translator import translator
from nodulebench.report.groups import (
    box_charts,
    difference_chart,
    group_miss_rates,
    group_values,
    hardest_chart,
    hardest_types,
    mean_chart,
    miss_rate_chart,
    tied_types,
)

TRANSLATE = translator()


def test_group_value_is_mean_and_sample_deviation() -> None:
    # recalls 90, 84 and 60 of 120: 0.75, 0.70, 0.50
    group = group_values(group_document(), "center_hit", "recall")
    assert group is not None
    assert group.mean == pytest.approx(0.65)
    assert group.sd == pytest.approx(0.1322876)  # sqrt((0.1² + 0.05² + 0.15²) / 2)


def test_group_needs_two_algorithms_with_the_metric() -> None:
    document = group_document()
    assert group_values(document, "center_distance", "recall") is None
    assert group_values(document, "center_hit", "density_accuracy") is None


def test_miss_rates_of_small_strata_are_left_out() -> None:
    assert list(group_miss_rates(group_document(), "center_hit", "type")) == [
        "solid",
        "pure_ground_glass",
    ]


def test_hardest_type_has_the_highest_miss_rate() -> None:
    winners = hardest_types(group_document(), "center_hit")
    # of "Three" no nodule of 4 mm or more is missed, so it has no hardest type there
    assert winners == {
        "<4 mm": Counter({"pure_ground_glass": 2, "solid": 1}),
        "≥4 mm": Counter({"solid": 2}),
    }


def test_shared_highest_rates_are_flagged_and_the_first_listed_counts() -> None:
    # "Three" misses 6 of 12 solid and 6 of 12 ground-glass nodules; "One" 1 of 12 of two types
    assert tied_types(group_document(), "center_hit") == {"<4 mm": ["Three"], "≥4 mm": ["One"]}


def test_of_equal_rates_the_larger_number_of_misses_wins() -> None:
    content = group_content()
    extras = content["algorithms"][0]["rules"]["center_hit"]["extras"]
    extras["misses_by_type_and_size"] = [
        {"type": "solid", "size": "<4 mm", "nodules": 4, "missed": 2},
        {"type": "pleural", "size": "<4 mm", "nodules": 10, "missed": 5},
    ]
    assert hardest_types(typed(content), "center_hit")["<4 mm"]["pleural"] == 1


def test_mean_chart_writes_the_means_in_percent() -> None:
    chart = mean_chart(group_document(), TRANSLATE)
    assert chart is not None
    # recall 0.65 under center hit, (66 + 70 + 60) / 360 under area overlap
    assert ">65.0<" in chart.svg
    assert ">54.4<" in chart.svg
    assert [name for name, _ in chart.legend] == ["center hit", "center distance", "area overlap"]


def test_difference_chart_shows_every_algorithm_against_the_baseline_rule() -> None:
    chart = difference_chart(group_document(), TRANSLATE)
    assert chart is not None
    assert chart.title == "Nodules hit relative to the rule center hit"
    for text in ("One", "Two", "Three", "−26.7\N{NO-BREAK SPACE}%", "0.0\N{NO-BREAK SPACE}%"):
        assert f">{text}<" in chart.svg


def test_miss_rate_chart_has_mean_and_deviation_of_each_type() -> None:
    chart = miss_rate_chart(group_document(), "type", TRANSLATE)
    assert chart is not None
    assert chart.title == "Miss rate by nodule type under center hit"
    assert ">28.6 ± 0.0\N{NO-BREAK SPACE}%<" in chart.svg


def test_heat_map_counts_algorithms_and_names_ties() -> None:
    chart = hardest_chart(group_document(), TRANSLATE)
    assert chart is not None
    assert ">&lt;4 mm *<" in chart.svg
    assert ">–<" in chart.svg  # without a calcified nodule below 4 mm
    assert "of 3, for which the type has the highest miss rate" in chart.remarks[0]
    assert chart.remarks[1] == "* <4 mm: the highest rate is shared by two types for Three."


def test_boxes_are_drawn_for_every_metric_of_the_group() -> None:
    charts = box_charts(group_document(), {}, TRANSLATE)
    assert [chart.title for chart in charts] == ["Recall", "Precision", "F1"]
    assert all(chart.is_narrow for chart in charts)


@pytest.mark.parametrize(
    ("p_value", "mark"), [(0.01, "**"), (0.011, "*"), (0.05, "*"), (0.06, "ns")]
)
def test_box_plots_mark_significance(p_value: float, mark: str) -> None:
    pair = PairOfRules(
        "center_hit", "area_overlap", 0.1, Significance("t", 2.0, p_value), None, None, None, None
    )
    recall, *_ = box_charts(group_document(), {"recall": [pair]}, TRANSLATE)
    assert f">{mark}</text>" in recall.svg


def test_single_algorithm_has_no_group_metrics() -> None:
    document = group_document()
    document = replace(document, algorithms=document.algorithms[:1])
    assert mean_chart(document, TRANSLATE) is None
    assert difference_chart(document, TRANSLATE) is None
    assert miss_rate_chart(document, "type", TRANSLATE) is None
    assert hardest_chart(document, TRANSLATE) is None
