"""The best of several evaluations is optimistic by a known amount; a corrected bound holds."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from builders.words import undefined
from nodulebench.custody.adaptive_reuse import (
    Answers,
    bound_after_evaluations,
    deviations,
    expected_best,
    log_hypotheses,
    optimism,
    standard_error_of,
)


@pytest.mark.parametrize(
    ("evaluations", "expected"),
    [
        (1, 0.0),
        (2, 1 / math.sqrt(math.pi)),
        (3, 3 / (2 * math.sqrt(math.pi))),
        # Harter 1961, Biometrika 48:151, expected values of normal order statistics
        (4, 1.02938),
        (5, 1.16296),
        (10, 1.53875),
        (20, 1.86748),
        (100, 2.50759),
    ],
)
def test_the_mean_of_the_best_is_that_of_the_largest_order_statistic(
    evaluations: int, expected: float
) -> None:
    assert expected_best(evaluations) == pytest.approx(expected, abs=6e-6)


def test_simulated_optimism_matches_the_formula() -> None:
    random = np.random.default_rng(20)
    nodules, truth, evaluations, sets = 400, 0.8, 5, 20_000
    shares = random.binomial(nodules, truth, size=(sets, evaluations)) / nodules
    error = math.sqrt(truth * (1 - truth) / nodules)
    flattery = shares.max(axis=1).mean() - truth
    assert flattery == pytest.approx(optimism(evaluations, error), rel=0.03)


def test_correlated_evaluations_are_less_optimistic() -> None:
    random = np.random.default_rng(21)
    shared, own = random.normal(size=(50_000, 1)), random.normal(size=(50_000, 4))
    best = (math.sqrt(0.6) * shared + math.sqrt(0.4) * own).max(axis=1).mean()
    assert best == pytest.approx(optimism(4, 1.0, correlation=0.6), abs=0.015)
    assert optimism(4, 1.0, correlation=1.0) == 0


def test_hypotheses_are_counted_by_hand() -> None:
    assert math.exp(log_hypotheses(1, Answers(None))) == pytest.approx(1)
    assert math.exp(log_hypotheses(4, Answers(2, stops_when_passed=True))) == pytest.approx(4)
    assert math.exp(log_hypotheses(3, Answers(2))) == pytest.approx(1 + 2 + 4)
    assert math.exp(log_hypotheses(3, Answers(3, stops_when_passed=True))) == pytest.approx(7)
    assert math.exp(log_hypotheses(2, Answers(1, stops_when_passed=True))) == pytest.approx(2)
    assert math.exp(log_hypotheses(3, Answers(101))) == pytest.approx(1 + 101 + 101**2)
    assert math.exp(log_hypotheses(3, Answers(1))) == pytest.approx(3)


def test_feedback_without_limit_has_no_bound() -> None:
    with undefined(match="no bound is valid for a developer who adapts to it"):
        log_hypotheses(2, Answers(None))
    for metric in (lambda: expected_best(0), lambda: log_hypotheses(0, Answers(2))):
        with undefined(match="no evaluation took place"):
            metric()
    with undefined(match="a correlation of 2 is not between 0 and 1"):
        optimism(2, 1.0, correlation=2)


def test_a_single_evaluation_has_the_bound_of_the_interval() -> None:
    assert bound_after_evaluations(0.8, 0.158, 1, Answers(None)) == 0.158
    assert bound_after_evaluations(0.2, 0.61, 1, Answers(None)) == 0.61
    assert bound_after_evaluations(1.0, 1.0, 3, Answers(2)) == 1.0


def test_a_later_bound_of_a_large_test_is_the_normal_one() -> None:
    error = 0.002
    answers = Answers(2, stops_when_passed=True)
    bound = bound_after_evaluations(0.8, 0.8 - 1.959964 * error, 5, answers)
    assert bound == pytest.approx(0.8 - stats.norm.isf(0.025 / 5) * error, abs=5e-5)


@pytest.mark.parametrize("evaluations", [2, 5, 20])
def test_a_later_bound_where_nothing_was_missed_is_no_less_than_exact(evaluations: int) -> None:
    answers = Answers(2, stops_when_passed=True)
    exact = (0.025 / evaluations) ** (1 / 30)
    bound = bound_after_evaluations(1.0, 0.025 ** (1 / 30), evaluations, answers)
    assert 0.9 * exact < bound <= exact
    assert 1 - bound_after_evaluations(
        0.0, 1 - 0.025 ** (1 / 30), evaluations, answers
    ) == pytest.approx(bound)


@given(st.floats(0, 1), st.floats(0.001, 0.999), st.integers(1, 30), st.integers(2, 10_000))
def test_bounds_of_shares_stay_shares_and_only_move_away(
    value: float, end: float, evaluations: int, answers: int
) -> None:
    nearer, further = (
        bound_after_evaluations(value, end, count, Answers(answers))
        for count in (evaluations, evaluations + 1)
    )
    assert 0 <= further <= 1
    assert abs(further - value) >= abs(nearer - value) - 1e-12


def test_what_is_not_a_share_is_stretched_linearly() -> None:
    # two verdicts: z(1 - 0.0125) / z(1 - 0.025) = 2.2414 / 1.9600
    bound = bound_after_evaluations(3.0, 4.0, 2, Answers(2, stops_when_passed=True))
    assert bound == pytest.approx(3 + 2.2414 / 1.95996, abs=1e-4)


def test_five_verdicts_cost_what_bonferroni_costs() -> None:
    expected = stats.norm.isf(0.025 / 5)
    answers = Answers(2, stops_when_passed=True)
    assert deviations(0.975, log_hypotheses(5, answers)) == pytest.approx(expected)


@given(st.floats(0.5, 0.9999), st.floats(0, 500))
def test_deviations_agree_with_scipy(level: float, log_count: float) -> None:
    tail = math.log1p(-level) - log_count
    expected = stats.norm.isf(math.exp(tail))
    assert deviations(level, log_count) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_beyond_floating_point_the_bound_only_grows() -> None:
    near, far = deviations(0.975, 596), deviations(0.975, 597)
    assert near < far < deviations(0.975, 5000)
    assert far == pytest.approx(near, rel=0.01)


def test_the_standard_error_is_that_of_a_normal_interval() -> None:
    assert standard_error_of(0.8 - 1.959964 * 0.03, 0.8 + 1.959964 * 0.03, 0.95) == pytest.approx(
        0.03, rel=1e-6
    )


def _climb(random: np.random.Generator, evaluations: int, step: float) -> tuple[float, float]:
    """A developer without skill who keeps what scored better: last metric, and its plain error.

    Every submission finds each of 100 nodules by the toss of a coin, so the truth is 0.5. The
    developer changes the answers for some nodules and keeps the change if the metric did not fall.
    """
    answers = random.random(100) < 0.5
    rounded = round(answers.mean() / step) * step
    for _ in range(evaluations - 1):
        changed = answers ^ (random.random(100) < 0.2)
        improved = round(changed.mean() / step) * step
        if improved >= rounded:
            answers, rounded = changed, improved
    return float(answers.mean()), 0.05


def test_an_adaptive_developer_breaks_the_plain_bound_but_not_the_corrected_one() -> None:
    random = np.random.default_rng(22)
    evaluations, step = 10, 0.01
    climbs = [_climb(random, evaluations, step) for _ in range(400)]
    answers = Answers(int(1 / step) + 1)
    plain = [
        bound_after_evaluations(value, value - 1.96 * error, 1, answers) > 0.5
        for value, error in climbs
    ]
    corrected = [
        bound_after_evaluations(value, value - 1.96 * error, evaluations, answers) > 0.5
        for value, error in climbs
    ]
    assert np.mean(plain) > 0.2  # promised: 0.025
    assert np.mean(corrected) <= 0.025


@pytest.mark.parametrize("answers", [2, 3, 5])
@pytest.mark.parametrize("evaluations", [1, 2, 3])
def test_an_evaluation_that_failed_before_is_counted_at_any_position(
    evaluations: int, answers: int
) -> None:
    """All histories written out: earlier answers, and the position of the failure."""
    hypotheses = set()
    for before in range(evaluations):
        for history in product(range(answers), repeat=before):
            hypotheses.add(history)
            for place in range(before + 1):
                hypotheses.add((*history[:place], "failed", *history[place:]))
    log_count = math.exp(log_hypotheses(evaluations, Answers(answers, has_failed=True)))
    assert len(hypotheses) <= log_count * (1 + 1e-12)
    assert log_count <= (evaluations + 1) * sum(answers**index for index in range(evaluations)) * (
        1 + 1e-12
    )
    without = math.exp(log_hypotheses(evaluations, Answers(answers)))
    assert log_count == pytest.approx(without * (evaluations + 1))


@pytest.mark.parametrize("answers", [2, 3, 4])
@pytest.mark.parametrize("evaluations", [1, 2, 3, 5])
def test_who_stops_when_passed_has_every_history_of_the_other_answers(
    evaluations: int, answers: int
) -> None:
    """All histories written out; answer 0 means ``passed``, after which no evaluation follows."""
    histories = [
        history
        for before in range(evaluations)
        for history in product(range(answers), repeat=before)
        if 0 not in history
    ]
    log_count = log_hypotheses(evaluations, Answers(answers, stops_when_passed=True))
    assert math.exp(log_count) == pytest.approx(len(histories))


def test_an_undecided_verdict_tells_a_bit_and_the_bound_counts_it() -> None:
    """An attack: submissions that are failed or undecided on purpose, and the best marks last.

    Every history leads to other marks, so the last evaluation can have the best of 2^11
    submissions. The truth is 0.5. A bound for only passed and failed is broken; one for three
    verdicts holds.
    """
    random, evaluations, size = np.random.default_rng(5), 12, 100
    shares = random.binomial(size, 0.5, (500, 2 ** (evaluations - 1))) / size
    best, error = shares.max(axis=1), math.sqrt(0.25 / size)

    def broken(verdicts: int) -> float:
        needed = deviations(
            0.975, log_hypotheses(evaluations, Answers(verdicts, stops_when_passed=True))
        )
        return float(np.mean(best - needed * error > 0.5))

    assert broken(2) > 0.5
    assert broken(3) <= 0.025


@pytest.mark.parametrize("correlation", [-0.5, 1.5])
def test_evaluations_correlate_between_0_and_1(correlation: float) -> None:
    with undefined(match="correlation"):
        optimism(3, 0.1, correlation)


STRETCH = 2.241402727604947 / 1.959963984540054
"""Two verdicts: z(1 - 0.025 / 2) / z(1 - 0.025)."""


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (0.3, 0.0),
        (0.3, 1.0),
        (0.5, 1.5),
        (0.5, -0.5),
        (-0.5, 0.5),
        (-0.1, -0.4),
        (1.5, 0.5),
        (2.0, 3.0),
        (1.2, 0.9),
    ],
)
def test_beyond_shares_a_bound_is_stretched_in_a_straight_line(value: float, end: float) -> None:
    bound = bound_after_evaluations(value, end, 2, Answers(2, stops_when_passed=True))
    assert bound == pytest.approx(value + (end - value) * STRETCH)


@pytest.mark.parametrize(("value", "end"), [(0.0, 0.2), (1.0, 0.8), (0.5, 0.4), (0.5, 0.6)])
def test_a_bound_of_a_share_is_where_its_divergence_is_stretched(value: float, end: float) -> None:
    bound = bound_after_evaluations(value, end, 2, Answers(2, stops_when_passed=True))

    def divergence(other: float) -> float:
        pairs = ((value, other), (1 - value, 1 - other))
        return sum(part * math.log(part / of) for part, of in pairs if part)

    assert divergence(bound) == pytest.approx(STRETCH**2 * divergence(end))
    assert (bound - end) * (end - value) > 0
