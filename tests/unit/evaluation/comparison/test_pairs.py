"""Paired differences on the guarded bootstrap against numbers worked out apart from it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule, protocol
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.comparison.compare import (
    ComparisonChoice,
    MetricDifference,
    compare_algorithms,
)
from nodulebench.i18n.translator import in_english

METRICS = ("recall", "fp_per_case", "cpm", "wafroc1_area")


def patients(count: int, nodules: int, *misses: int) -> LabelledCohort:
    """Patients with so many nodules each; the misses of the first ones."""
    missed = [*misses, *[0] * (count - len(misses))]
    return cohort(
        *(
            case(
                f"c{number:03}",
                *(nodule(10, (60.0 * k, 0, 0)) for k in range(nodules)),
                *(mark(0.9, (60.0 * k, 0, 0)) for k in range(few, nodules)),
            )
            for number, few in enumerate(missed)
        )
    )


def compared(
    first: LabelledCohort, second: LabelledCohort, metric: str = "recall", **choice
) -> MetricDifference:
    interval = IntervalChoice(bootstraps=10_000)
    asked = protocol(metrics=(metric,), interval=interval)
    chosen = ComparisonChoice("second", (metric,), permutations=0, **choice)
    comparison = compare_algorithms({"luna16": {"first": first, "second": second}}, asked, chosen)
    (measured,) = comparison.differences
    return measured


def bounds(first: LabelledCohort, second: LabelledCohort, metric: str = "recall"):
    measured = compared(first, second, metric)
    assert measured.comparison is not None
    return measured.comparison.difference.low, measured.comparison.difference.high


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (patients(20, 3), patients(20, 3), (-0.097445, 0.097445)),
        (patients(20, 3, 1), patients(20, 3), (-0.118511, 0.084133)),
        (patients(20, 3, 1), patients(20, 3, 0, 1), (-0.108708, 0.106221)),
        (patients(3, 1), patients(3, 1), (-0.707413, 0.707413)),
        (patients(100, 1), patients(100, 1), (-0.036198, 0.036198)),
        (patients(100, 1, 1, 1, 1), patients(100, 1), (-0.084782, 0.016893)),
    ],
)
def test_bounds_of_a_difference_in_recall(first, second, wanted) -> None:
    assert bounds(first, second) == pytest.approx(wanted, abs=1e-6)


@cache
def c1() -> LabelledCohort:
    cases = [case(f"c{n:02}", nodule(), mark(0.55 + 0.05 * n)) for n in range(10)]
    return cohort(*cases, *(case(f"c{n}") for n in range(10, 15)))


@cache
def c2() -> LabelledCohort:
    cases = [case(f"c{n:02}", nodule(), *([mark(0.55 + 0.05 * n)] if n else [])) for n in range(10)]
    falses = {10: [false_mark(0.7)], 11: [false_mark(0.5), false_mark(0.3, 1)]}
    return cohort(*cases, *(case(f"c{n}", *falses.get(n, [])) for n in range(10, 15)))


@pytest.mark.parametrize(
    ("metric", "same", "other"),
    [
        ("recall", (-0.308366, 0.308366), (-0.442426, 0.257329)),
        ("cpm", (-0.308366, 0.308366), (-0.454446, 0.262193)),
        ("wafroc1_area", (-0.224221, 0.224221), (-0.314561, 0.178264)),
    ],
)
def test_bounds_of_differences_in_other_metrics(metric: str, same, other) -> None:
    assert bounds(c1(), c1(), metric) == pytest.approx(same, abs=1e-6)
    assert bounds(c2(), c1(), metric) == pytest.approx(other, abs=1e-6)


def test_bounds_of_a_difference_in_false_positives(monkeypatch: pytest.MonkeyPatch) -> None:
    """15 patients are too few for it: 20 are asked for."""
    measured = compared(c2(), c1(), "fp_per_case")
    assert measured.comparison is not None
    assert (measured.comparison.difference.value, measured.comparison.difference.low) == (
        pytest.approx(0.2),
        None,
    )
    assert in_english(measured.comparison.difference.reason) == (
        "no interval: 15 patients are too few for a rate without an upper limit (20 needed)"
    )
    monkeypatch.setattr("nodulebench.evaluation.comparison.replicates.FEWEST_FOR_GOOD_RATE", 10)
    assert bounds(c1(), c1(), "fp_per_case") == pytest.approx((-0.217597, 0.217597), abs=1e-6)
    assert bounds(c2(), c1(), "fp_per_case") == pytest.approx((-0.117931, 0.698730), abs=1e-6)


@pytest.mark.parametrize("metric", ["recall", "precision", "cpm", "wafroc1_area"])
def test_swapping_the_algorithms_swaps_and_turns_the_bounds(metric: str) -> None:
    low, high = bounds(c2(), c1(), metric)
    assert bounds(c1(), c2(), metric) == pytest.approx((-high, -low), abs=1e-14)


def test_two_algorithms_that_agree_on_three_nodules_are_not_equivalent() -> None:
    """Percentiles gave +0.000 (+0.000 to +0.000), equivalent at any margin."""
    measured = compared(patients(3, 1), patients(3, 1), margin=0.05)
    assert measured.comparison is not None
    test = measured.comparison.margin
    assert test is not None
    assert (test.is_equivalent, test.is_non_inferior, test.is_superior) == (False, False, False)
    assert in_english(test.reason) == (
        "not assessable: even a perfect result on 3 patients cannot meet it; at least 72 are needed"
    )
    assert measured.comparison.p_value == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("margin", "needed"), [(0.1, 36), (0.05, 72), (0.02, 183)])
def test_so_many_patients_show_non_inferiority_of_what_is_perfect(margin, needed) -> None:
    enough = compared(patients(needed, 1), patients(needed, 1), margin=margin)
    assert enough.comparison is not None
    assert enough.comparison.margin is not None
    assert enough.comparison.margin.is_equivalent
    assert enough.comparison.margin.equivalence_p < 0.025
    few = compared(patients(needed - 3, 1), patients(needed - 3, 1), margin=margin)
    assert few.comparison is not None
    assert few.comparison.margin is not None
    reason = few.comparison.margin.reason
    assert reason is not None
    assert abs(reason.values["needed"] - needed) <= 1


def test_a_loss_that_is_certain_is_not_called_unassessable() -> None:
    worse = patients(12, 1, *[1] * 11)
    measured = compared(worse, patients(12, 1), margin=0.02)
    assert measured.comparison is not None
    assert measured.comparison.margin is not None
    assert measured.comparison.difference.high < -0.02
    assert measured.comparison.margin.reason is None
    assert not measured.comparison.margin.is_non_inferior


@pytest.mark.parametrize("misses", [0, 3, 10, 25])
def test_p_values_and_verdicts_agree_with_the_interval(misses: int) -> None:
    measured = compared(patients(60, 1, *[1] * misses), patients(60, 1, 1, 0, 1), margin=0.2)
    comparison = measured.comparison
    assert comparison is not None
    assert comparison.margin is not None
    low, high = comparison.difference.low, comparison.difference.high
    assert (comparison.p_value < 0.05) == (low > 0 or high < 0)
    assert (comparison.margin.non_inferiority_p < 0.025) == comparison.margin.is_non_inferior
    assert comparison.margin.is_non_inferior == (low > -0.2)
    assert comparison.normal_p_value is None


def test_fewer_false_positives_are_not_a_loss() -> None:
    noisy = cohort(*(case(f"c{n}", nodule(), mark(0.9), false_mark(0.5)) for n in range(40)))
    clean = cohort(*(case(f"c{n}", nodule(), mark(0.9)) for n in range(40)))
    better = compared(clean, noisy, "fp_per_case", margin=0.1)
    worse = compared(noisy, clean, "fp_per_case", margin=0.1)
    for entry, is_better in ((better, True), (worse, False)):
        assert entry.comparison is not None
        assert entry.comparison.margin is not None
        assert entry.comparison.margin.is_superior is is_better
        assert entry.comparison.margin.is_non_inferior is is_better


def test_a_bound_near_the_margin_is_drawn_ten_times_as_often() -> None:
    first, second = patients(100, 1, 1, 1, 1), patients(100, 1)
    near, far = (compared(first, second, margin=margin) for margin in (0.0848, 0.2))
    methods = [in_english(difference.comparison.difference.method) for difference in (near, far)]
    assert "100000 replicates" in methods[0]
    assert "10000 replicates" in methods[1]


def test_marks_without_scores_are_compared_where_they_can_be() -> None:
    plain = replace(c2(), has_scores=False)
    assert bounds(plain, replace(c1(), has_scores=False)) == bounds(c2(), c1())


def test_metrics_without_a_worst_case_have_no_interval_on_few_patients() -> None:
    measured = compared(c2(), c1(), "marks_per_case")
    assert measured.comparison is not None
    assert measured.comparison.difference.low is None
    assert in_english(measured.comparison.difference.reason) == (
        "no interval: 15 patients contribute to it, 20 are needed"
    )
    assert np.isfinite(measured.comparison.standard_error)
