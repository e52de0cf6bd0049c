"""Algorithms against a baseline: differences, P values, margins, ranks, and what the rule does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.made_up import Skill, made_up_reference, made_up_submission
from builders.tables import case, cohort, false_mark, mark, nodule, protocol
from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.documents.comparison import NodulesFound
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.evaluation.comparison.compare import (
    AlgorithmComparison,
    ComparisonChoice,
    MetricDifference,
    compare_algorithms,
)
from nodulebench.i18n.translator import in_english
from nodulebench.matching import label_marks, targets
from nodulebench.statistics.bootstrap import Bootstrap
from nodulebench.statistics.multiplicity import benjamini_hochberg, bonferroni, holm

RATES = {"interval": IntervalChoice(bootstraps=200)}
RULES = ("center_hit", "center_distance", "area_overlap")


def made_hits(case_number: int, *scores: float | None) -> LabelledCohort:
    """Cases with one nodule each; a score: it is hit with it, None: it is missed."""
    return cohort(
        *(
            case(f"c{number}", nodule(8), *([] if score is None else [mark(score)]))
            for number, score in enumerate(scores)
        ),
        *(case(f"empty{number}") for number in range(case_number - len(scores))),
    )


def single_rule(**algorithms: LabelledCohort) -> dict[str, dict[str, LabelledCohort]]:
    return {"luna16": algorithms}


def difference(
    comparison: AlgorithmComparison, algorithm: str, metric: str, point: str = ""
) -> MetricDifference:
    (measured,) = (
        difference
        for difference in comparison.differences
        if (difference.algorithm, difference.reading.shown, difference.reading.point)
        == (algorithm, metric, point)
    )
    return measured


def test_a_difference_is_the_algorithms_value_less_the_baselines() -> None:
    cohorts = single_rule(
        old=made_hits(4, 0.9, None, None, 0.8), new=made_hits(4, 0.9, 0.7, None, 0.8)
    )
    comparison = compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old"))
    measured = difference(comparison, "new", "recall")
    assert (measured.value, measured.baseline_value) == (0.75, 0.5)
    assert measured.comparison is not None
    assert measured.comparison.difference.value == 0.25


def test_resamples_are_those_of_the_evaluation_and_the_same_for_both() -> None:
    cohorts = single_rule(
        old=made_hits(5, 0.9, None, None, 0.8), new=made_hits(5, 0.9, 0.7, None, None)
    )
    chosen = protocol(**RATES, seed=4)
    measured = difference(
        compare_algorithms(cohorts, chosen, ComparisonChoice("old", method="percentile")),
        "new",
        "recall",
    ).comparison
    assert measured is not None
    units = cohorts["luna16"]["old"].reference.unit_of_case
    (weight,) = Bootstrap(units, chosen.interval.bootstraps, chosen.seed).blocks()
    has_nodule = np.array([1, 1, 1, 1, 0])
    gain = np.array([0, 1, 0, -1, 0])
    nodules = weight @ has_nodule
    drawn = (weight @ gain)[nodules > 0] / nodules[nodules > 0]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (measured.difference.low, measured.difference.high) == pytest.approx((low, high))
    assert measured.undefined_replicates == int(np.count_nonzero(nodules == 0))


def test_an_algorithm_equal_to_the_baseline_differs_by_nothing() -> None:
    cohorts = single_rule(old=made_hits(4, 0.9, None), same=made_hits(4, 0.9, None))
    measured = difference(
        compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old")), "same", "recall"
    )
    assert measured.comparison is not None
    estimate = measured.comparison.difference
    assert estimate.value == 0
    assert estimate.low is not None
    assert estimate.low < 0 < estimate.high == pytest.approx(-estimate.low)
    assert measured.comparison.p_value == 1
    assert measured.permutation is not None
    assert measured.permutation.p_value == 1


def test_p_values_are_adjusted_over_algorithms_and_rules() -> None:
    cohorts = made_up_cohorts(4)
    comparison = compare_algorithms(
        cohorts, three_rules(), ComparisonChoice("a0", ("recall",), permutations=0)
    )
    rows = [
        difference for difference in comparison.differences if difference.comparison is not None
    ]
    assert len(rows) == 3 * 3
    p_values = [row.comparison.p_value for row in rows if row.comparison is not None]
    for name, adjust in (
        ("holm", holm),
        ("bonferroni", bonferroni),
        ("benjamini_hochberg", benjamini_hochberg),
    ):
        assert [row.adjusted[name] for row in rows] == pytest.approx(adjust(p_values).tolist())
    assert rows[0].comparison is not None
    assert rows[0].comparison.adjusted_p_value == rows[0].adjusted["holm"]


def test_the_swap_test_of_four_discordant_cases_tries_all_swaps() -> None:
    cohorts = single_rule(
        old=made_hits(4, None, None, None, None), new=made_hits(4, 0.9, 0.8, 0.7, 0.6)
    )
    measured = difference(
        compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old")), "new", "recall"
    )
    assert measured.permutation is not None
    assert measured.permutation.is_exact
    assert measured.permutation.p_value == 2 / 16  # only all and none of the swaps differ as much


def test_a_margin_applies_if_higher_is_better() -> None:
    cohorts = single_rule(old=made_hits(4, 0.9, None), same=made_hits(4, 0.9, None))
    chosen = protocol(metrics=("recall", "fp_per_case"), **RATES)
    choice = ComparisonChoice("old", margin=0.05, method="percentile")
    comparison = compare_algorithms(cohorts, chosen, choice)
    recall, falses = (difference(comparison, "same", name) for name in ("recall", "fp_per_case"))
    assert recall.comparison is not None
    assert recall.comparison.margin is not None
    assert recall.comparison.margin.is_equivalent
    assert not recall.comparison.margin.is_superior
    assert falses.comparison is not None
    assert falses.comparison.margin is None  # a margin of a rate says nothing of a count


def test_a_margin_applies_in_the_direction_of_a_named_metric() -> None:
    noisy = cohort(case("c0", nodule(8), mark(0.9), false_mark(0.5)), case("empty0"))
    cohorts = single_rule(old=made_hits(2, 0.9), noisy=noisy)
    choice = ComparisonChoice("old", ("fp_per_case",), margin=0.1)
    measured = difference(
        compare_algorithms(cohorts, protocol(**RATES), choice), "noisy", "fp_per_case"
    )
    assert measured.comparison is not None
    assert measured.comparison.difference.value == 0.5
    assert measured.comparison.margin is not None
    assert not measured.comparison.margin.is_non_inferior  # more false positives are worse


def test_the_cpm_is_the_mean_of_its_sensitivities() -> None:
    cohorts = single_rule(old=made_hits(6, 0.9, None, 0.3), new=made_hits(6, 0.9, 0.7, 0.3))
    both = protocol(metrics=("sensitivity_at_fp_rate", "cpm"), **RATES)
    cpm_only = protocol(metrics=("cpm",), **RATES)
    together, single = (
        difference(compare_algorithms(cohorts, chosen, ComparisonChoice("old")), "new", "cpm")
        for chosen in (both, cpm_only)
    )
    assert together.comparison == single.comparison
    assert together.permutation == single.permutation


def test_each_operating_point_is_compared() -> None:
    cohorts = single_rule(old=made_hits(6, 0.9, None, 0.3), new=made_hits(6, 0.9, 0.7, 0.3))
    chosen = protocol(metrics=("sensitivity_at_fp_rate",), operating_points=(0.5, 4.0), **RATES)
    comparison = compare_algorithms(cohorts, chosen, ComparisonChoice("old"))
    assert [difference.reading.point for difference in comparison.differences] == ["0.5", "4"]
    measured = difference(comparison, "new", "sensitivity_at_fp_rate", "0.5")
    assert measured.comparison is not None
    assert measured.comparison.difference.value == pytest.approx(1 / 3)
    assert measured.permutation is None


def test_f_beta_is_named_with_its_beta() -> None:
    cohorts = single_rule(old=made_hits(2, 0.9), new=made_hits(2, 0.9))
    chosen = protocol(metrics=("f_beta",), beta=2.0, **RATES)
    for choice in (ComparisonChoice("old"), ComparisonChoice("old", ("f2",))):
        comparison = compare_algorithms(cohorts, chosen, choice)
        assert [difference.reading.shown for difference in comparison.differences] == ["f2"]


def test_an_undefined_metric_has_algorithm_and_reason() -> None:
    silent = made_hits(3, None, None)
    cohorts = single_rule(old=made_hits(3, 0.9, 0.8), silent=silent)
    chosen = protocol(metrics=("precision",), **RATES)
    (measured,) = compare_algorithms(cohorts, chosen, ComparisonChoice("old")).differences
    assert measured.comparison is None
    assert in_english(measured.reason) == "silent: no mark counts as hit or false positive"


def test_a_metric_that_no_algorithm_has_is_listed() -> None:
    cohorts = single_rule(old=made_hits(3, None, None), silent=made_hits(3, None, None))
    chosen = protocol(metrics=("precision",), **RATES)
    comparison = compare_algorithms(cohorts, chosen, ComparisonChoice("old"))
    (measured,) = comparison.differences
    assert measured.comparison is None
    assert in_english(measured.reason) == "silent: no mark counts as hit or false positive"
    assert comparison.rankings == {}


def test_nodules_found_by_only_one_are_counted_and_tested() -> None:
    cohorts = single_rule(
        old=made_hits(6, 0.9, None, None, None, None), new=made_hits(6, 0.9, 0.8, 0.7, 0.6, None)
    )
    (measured,) = compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old")).detection
    assert measured.nodules == NodulesFound(1, 3, 0, 1)
    assert measured.tests["exact"].p_value == pytest.approx(2 * 0.5**3)
    # a family of one
    assert measured.adjusted_p_value["holm"] == measured.tests["obuchowski"].p_value
    assert measured.missed_by_one is not None
    assert measured.missed_by_one.algorithm == ()
    truth = cohorts["luna16"]["old"].reference.nodules
    assert [(each.case_id, each.nodule_id) for each in measured.missed_by_one.baseline] == [
        tuple(row) for row in truth[1:4].select("case_id", "nodule_id").iter_rows()
    ]


def test_nodules_missed_by_only_one_are_sorted_by_size() -> None:
    sizes = {"a": 5, "b": 12, "c": None, "d": 8}
    hits = [case(name, nodule(size), mark(0.9)) for name, size in sizes.items()]
    blind = [case(name, nodule(size)) for name, size in sizes.items()]
    cohorts = single_rule(old=cohort(*hits), new=cohort(*blind))
    (measured,) = compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old")).detection
    assert measured.missed_by_one is not None
    assert [each.diameter_mm for each in measured.missed_by_one.algorithm] == [12.0, 8.0, 5.0, None]
    assert measured.missed_by_one.baseline == ()


def test_algorithms_that_find_the_same_nodules_are_not_tested_on_them() -> None:
    cohorts = single_rule(old=made_hits(2, 0.9, None), same=made_hits(2, 0.8, None))
    (measured,) = compare_algorithms(cohorts, protocol(**RATES), ComparisonChoice("old")).detection
    assert measured.tests == {}
    assert measured.nodules == NodulesFound(1, 0, 0, 1)
    assert in_english(measured.difference.reason) == (
        "no nodule was found by exactly one of the algorithms"
    )


def test_rankings_order_every_metric_that_has_a_better_end() -> None:
    cohorts = single_rule(
        poor=made_hits(6, None, None, 0.9),
        good=made_hits(6, 0.9, 0.8, 0.9),
        fair=made_hits(6, 0.9, None, 0.9),
    )
    chosen = protocol(metrics=("recall", "miss_rate", "marks_per_case"), **RATES)
    rankings = compare_algorithms(cohorts, chosen, ComparisonChoice("fair")).rankings
    orders = {
        (rule, str(reading)): [line.name for line in ranking.lines]
        for (rule, reading), ranking in rankings.items()
    }
    assert orders == {
        ("luna16", "recall"): ["good", "fair", "poor"],
        ("luna16", "miss_rate"): ["good", "fair", "poor"],
    }


def made_up_cohorts(count: int) -> dict[str, dict[str, LabelledCohort]]:
    """Algorithms of rising skill and ever larger boxes under the three NIFDC rules."""
    reference = made_up_reference(20, 120, 5)
    chosen = three_rules()
    cohorts: dict[str, dict[str, LabelledCohort]] = {rule: {} for rule in RULES}
    for number in range(count):
        skill = Skill(f"a{number}", 0.5 + 0.1 * number, 0.8, 0.7 + 0.15 * number, 2.0)
        submission = made_up_submission(reference, skill, 5)
        is_target = targets(reference, submission, chosen)
        for rule in RULES:
            labels = label_marks(reference, submission, chosen, RuleChoice(name=rule))
            cohorts[rule][skill.name] = labelled_cohort(reference, submission, labels, is_target)
    return cohorts


def three_rules() -> TestProtocol:
    return TestProtocol(
        name="test",
        rules=tuple(RuleChoice(name=rule) for rule in RULES),
        baseline_rule="center_hit",
        metrics=("recall", "precision"),
        interval=IntervalChoice(bootstraps=100),
    )


def test_the_group_analysis_is_that_of_the_values_by_rule() -> None:
    from scipy import stats

    cohorts = made_up_cohorts(4)
    comparison = compare_algorithms(cohorts, three_rules(), ComparisonChoice("a0", permutations=0))
    effects = comparison.effects
    assert effects is not None
    assert effects.baseline_rule == "center_hit"
    recalls = np.array([[part.is_hit.mean() for part in cohorts[rule].values()] for rule in RULES])
    (recall,) = (effect for effect in effects.metrics if effect.metric == "recall")
    for rule, values in zip(RULES, recalls, strict=True):
        assert recall.groups[rule].mean == pytest.approx(values.mean())
        assert recall.groups[rule].sd == pytest.approx(values.std(ddof=1))
    assert recall.one_way is not None
    assert recall.one_way.p_value == pytest.approx(stats.f_oneway(*recalls).pvalue)
    assert recall.friedman is not None
    assert recall.friedman.p_value == pytest.approx(stats.friedmanchisquare(*recalls).pvalue)


def test_relative_differences_count_hits_against_the_baseline_rule() -> None:
    cohorts = made_up_cohorts(3)
    effects = compare_algorithms(
        cohorts, three_rules(), ComparisonChoice("a0", permutations=0)
    ).effects
    assert effects is not None
    hits = {rule: int(cohorts[rule]["a1"].is_hit.sum()) for rule in RULES}
    expected = (hits["area_overlap"] - hits["center_hit"]) / hits["center_hit"]
    assert effects.relative_differences["area_overlap"]["a1"] == pytest.approx(expected)
    assert list(effects.relative_differences) == ["center_distance", "area_overlap"]


def test_two_algorithms_or_one_rule_are_not_a_group() -> None:
    choice = ComparisonChoice("a0", permutations=0)
    assert compare_algorithms(made_up_cohorts(2), three_rules(), choice).effects is None
    three = {"center_hit": made_up_cohorts(3)["center_hit"]}
    assert compare_algorithms(three, three_rules(), choice).effects is None


def test_algorithms_with_different_nodules_have_a_notice() -> None:
    narrow = cohort(case("a", nodule(8, type="solid"), nodule(8, at=(50, 0, 0), type="pleural")))
    wide = cohort(
        case("a", nodule(8, type="solid"), nodule(8, at=(50, 0, 0), type="pleural")),
        scope={"types": ("solid",)},
    )
    comparison = compare_algorithms(
        single_rule(narrow=narrow, wide=wide), protocol(**RATES), ComparisonChoice("wide")
    )
    (notice,) = comparison.notices
    assert "had to find different nodules" in in_english(notice)


def test_too_few_resamples_for_the_adjustment_have_a_notice() -> None:
    # 4 algorithms under 3 rules: 9 comparisons with the baseline, 2 x 9 / 0.05 = 360
    cohorts = made_up_cohorts(4)
    few = ComparisonChoice("a0", bootstraps=358, permutations=0)
    (notice,) = compare_algorithms(cohorts, three_rules(), few).notices
    assert in_english(notice) == (
        "358 resamples are too few to adjust for 9 comparisons: no P value can be below 0.0056, so "
        "real differences may not be significant. Use at least 360."
    )
    enough = ComparisonChoice("a0", bootstraps=360, permutations=0)
    assert compare_algorithms(cohorts, three_rules(), enough).notices == ()


def test_an_unknown_baseline_is_refused_with_the_names() -> None:
    with pytest.raises(UnknownNameError, match=r"no algorithm 'older'\. Known: old, new"):
        compare_algorithms(
            single_rule(old=made_hits(1, 0.9), new=made_hits(1, 0.9)),
            protocol(**RATES),
            ComparisonChoice("older"),
        )


def test_an_unknown_metric_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownNameError, match=r"no metric 'recal'\. Did you mean"):
        compare_algorithms(
            single_rule(old=made_hits(1, 0.9), new=made_hits(1, 0.9)),
            protocol(**RATES),
            ComparisonChoice("old", ("recal",)),
        )


def test_all_problems_of_a_comparison_are_reported_at_once() -> None:
    with pytest.raises(InputError) as refused:
        compare_algorithms(
            single_rule(old=made_hits(1, 0.9)), protocol(), ComparisonChoice("old", margin=-1)
        )
    assert [str(problem) for problem in refused.value.problems] == [
        "comparison: 'old' is the only algorithm. Evaluate several submissions together.",
        "comparison: 0 resamples give no interval. Give a number of bootstraps, such as 2000.",
        "margin: -1 is not positive. Give the largest loss allowed.",
    ]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([None, 0.2, 0.5, 0.9]), min_size=3, max_size=6),
    st.lists(st.sampled_from([None, 0.2, 0.5, 0.9]), min_size=3, max_size=6),
)
def test_exchanging_algorithm_and_baseline_turns_the_difference(
    left: list[float | None], right: list[float | None]
) -> None:
    size = min(len(left), len(right))
    cohorts = single_rule(a=made_hits(7, *left[:size]), b=made_hits(7, *right[:size]))
    chosen = protocol(interval=IntervalChoice(bootstraps=60))
    there = difference(compare_algorithms(cohorts, chosen, ComparisonChoice("a")), "b", "recall")
    back = difference(compare_algorithms(cohorts, chosen, ComparisonChoice("b")), "a", "recall")
    assert there.comparison is not None
    assert back.comparison is not None
    first, other = there.comparison.difference, back.comparison.difference
    assert first.value == pytest.approx(-(other.value or 0))
    assert (first.low, first.high) == pytest.approx((-(other.high or 0), -(other.low or 0)))
    assert there.comparison.p_value == back.comparison.p_value
    assert there.permutation is not None
    assert back.permutation is not None
    assert there.permutation.p_value == back.permutation.p_value
