"""P values and verdicts of a comparison never contradict the interval printed next to them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.random_cohorts import SCORES, random_cases
from builders.tables import Case, Mark, cohort, false_mark, protocol
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.comparison import compare as choices
from nodulebench.evaluation.comparison.compare import (
    ComparisonChoice,
    MetricDifference,
    better_of,
    compare_algorithms,
)
from nodulebench.metrics import METRICS

REPLICATES = 400
ALPHA = 0.05


def other_algorithm(cases: tuple[Case, ...], random: np.random.Generator) -> tuple[Case, ...]:
    """Another algorithm on the same nodules: it loses some marks and adds false ones."""
    return tuple(replace(case, marks=(*other_marks(case, random),)) for case in cases)


def other_marks(case: Case, random: np.random.Generator) -> Iterator[Mark]:
    for mark in case.marks:
        if random.random() < 0.8:
            yield replace(mark, score=float(random.choice(SCORES)))
    for number in range(int(random.integers(0, 2))):
        yield false_mark(float(random.choice(SCORES)), 10 + number)


def two_algorithms(seed: int) -> dict[str, LabelledCohort]:
    cases = random_cases(seed, abnormal=18, normal=6)
    other = other_algorithm(cases, np.random.default_rng(seed + 1))
    return {"new": cohort(*cases), "old": cohort(*other)}


def all_differences(
    cohorts: dict[str, LabelledCohort], baseline: str, **options: object
) -> list[MetricDifference]:
    asked = protocol(
        metrics=tuple(METRICS), interval=IntervalChoice(bootstraps=REPLICATES), beta=2.0
    )
    chosen = ComparisonChoice(baseline, tuple(METRICS), permutations=0, **options)
    differences = compare_algorithms({"luna16": cohorts}, asked, chosen).differences
    return [difference for difference in differences if difference.comparison is not None]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["guarded", "percentile"])
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), margin=st.sampled_from([None, 0.02, 0.1, 0.3]))
def test_every_metric_in_both_directions(method: str, seed: int, margin: float | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "VERDICT_REPLICATES", REPLICATES)
        cohorts = two_algorithms(seed)
        there, back = (
            all_differences(cohorts, baseline, method=method, margin=margin)
            for baseline in ("old", "new")
        )
    assert len({difference.reading.metric for difference in there}) > len(METRICS) - 10
    contradictions = [
        f"{difference.algorithm} {difference.reading}: {problem}"
        for difference in (*there, *back)
        for problem in contradictions_of(difference)
    ]
    assert not contradictions
    for one, other in zip(there, back, strict=True):
        assert one.comparison is not None
        assert other.comparison is not None
        if margin is None:  # with a margin, one of the two directions may get more replicates
            assert one.comparison.p_value == pytest.approx(other.comparison.p_value), one.reading


def contradictions_of(difference: MetricDifference) -> Iterator[str]:
    """What the P values and verdicts of a difference say against its interval."""
    comparison = difference.comparison
    assert comparison is not None
    low, high = comparison.difference.low, comparison.difference.high
    if low is None or high is None:
        if comparison.p_value != 1:
            yield f"P {comparison.p_value} without an interval"
        return
    if (comparison.p_value <= ALPHA) != (low > 0 or high < 0):
        yield f"P {comparison.p_value} and interval {low} to {high}"
    margin = comparison.margin
    if margin is None or margin.non_inferiority_p is None or margin.equivalence_p is None:
        return
    is_higher_better = better_of(difference.reading.metric) != "lower"
    worst, best = (low, high) if is_higher_better else (-high, -low)
    if (margin.non_inferiority_p <= ALPHA / 2) != (worst > -margin.margin):
        yield f"non-inferiority P {margin.non_inferiority_p} and loss {worst}"
    if margin.is_non_inferior != (worst > -margin.margin):
        yield f"non-inferiority {margin.is_non_inferior} and loss {worst}"
    is_equivalent = worst > -margin.margin and best < margin.margin
    if (margin.equivalence_p <= ALPHA / 2) != is_equivalent:
        yield f"equivalence P {margin.equivalence_p} and interval {worst} to {best}"
    if margin.is_superior != (worst > 0):
        yield f"superiority {margin.is_superior} and loss {worst}"
