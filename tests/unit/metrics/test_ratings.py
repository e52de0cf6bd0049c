import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.metrics import ratings
from nodulebench.metrics.ratings import (
    Ratings,
    concordance,
    highest_false,
    highest_hit,
    mean_signal_until,
    rated,
    rating_curve,
    require_cases,
    row_blocks,
    signal_at,
    wins,
)

CASES = 4
LEVELS = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0])
RATED = st.lists(
    st.tuples(st.integers(0, CASES - 1), LEVELS, st.sampled_from([0.25, 1.0, 2.0])), max_size=8
)


def some(entries: list[tuple[int, float, float]]) -> Ratings:
    case_number, rating, share = (np.array(part) for part in zip(*entries, strict=True))
    return Ratings(case_number, rating, share)


def nothing() -> Ratings:
    return rated(np.empty(0, dtype=np.int64), np.empty(0))


@settings(max_examples=100, deadline=None)
@given(
    noise=st.lists(LEVELS, min_size=1, max_size=6),
    signal=st.lists(LEVELS, min_size=1, max_size=6),
    fraction=st.floats(0.01, 0.99),
)
def test_partial_areas_grow_to_the_whole_and_lie_below_what_is_read(
    noise: list[float], signal: list[float], fraction: float
) -> None:
    first, other = (rated(np.arange(len(part)), np.array(part)) for part in (noise, signal))
    everyone = np.ones((1, 6))
    mean = mean_signal_until(first, other, everyone, (fraction, 1.0))[0]
    read = signal_at(first, other, everyone, (fraction,))[0, 0]
    assert mean[1] == pytest.approx(concordance(first, other, everyone)[0])
    assert mean[0] <= read + 1e-9  # the curve never falls
    assert mean[0] * fraction <= mean[1] + 1e-9


@settings(max_examples=100, deadline=None)
@given(
    noise=RATED,
    signal=RATED,
    weights=st.lists(st.lists(st.integers(0, 3), min_size=CASES, max_size=CASES), min_size=1),
)
def test_wins_are_the_sum_over_all_pairs(
    noise: list[tuple[int, float, float]],
    signal: list[tuple[int, float, float]],
    weights: list[list[int]],
) -> None:
    expected = [
        sum(
            row[a] * row[other] * share * other_share * ((y > x) + (y == x) / 2)
            for a, x, share in noise
            for other, y, other_share in signal
        )
        for row in weights
    ]
    total = wins(
        some(noise) if noise else nothing(),
        some(signal) if signal else nothing(),
        np.array(weights, dtype=np.int32),
    )
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_blocks_of_replicates_join_seamlessly(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    noise = rated(random.integers(0, 9, 20), random.random(20))
    signal = rated(random.integers(0, 9, 30), random.random(30))
    weights = random.integers(0, 3, (23, 9))
    whole = wins(noise, signal, weights)
    monkeypatch.setattr(ratings, "_BLOCK_ELEMENTS", 200)  # four replicates at a time
    np.testing.assert_array_equal(wins(noise, signal, weights), whole)


def test_concordance_is_undefined_without_noise_or_signal() -> None:
    noise, signal = rated(np.array([0]), np.array([0.1])), rated(np.array([1]), np.array([0.9]))
    weights = np.array([[1, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(concordance(noise, signal, weights), [1.0, np.nan, np.nan])


def test_the_highest_mark_of_a_case_counts() -> None:
    marked = cohort(
        case("a", nodule(), mark(0.4), false_mark(0.2), false_mark(0.3, 1)),
        case("b", nodule()),
        case("c", false_mark(-2.0)),
    )
    np.testing.assert_array_equal(highest_false(marked), [0.3, -np.inf, -2.0])
    np.testing.assert_array_equal(highest_hit(marked), [0.4, -np.inf, -np.inf])


def test_the_missing_kind_of_case_is_named() -> None:
    with undefined(match=r"^no nodules to find$"):
        require_cases(cohort(case("a")), "the LROC")
    with undefined(
        match=r"^no case without nodules, which AFROC needs; AFROC1 needs none$",
    ):
        require_cases(cohort(case("a", nodule())), "AFROC", "AFROC1")


def test_the_curve_counts_what_reaches_each_threshold() -> None:
    noise = rated(np.arange(2), np.array([0.2, -np.inf]))
    signal = rated(np.arange(3), np.array([0.9, 0.2, -np.inf]))
    curve = rating_curve(noise, signal, "n", "x", "y", signal_total=3)
    np.testing.assert_array_equal(curve.threshold, [np.inf, 0.9, 0.2, -np.inf])
    np.testing.assert_allclose(curve.x, [0, 0, 1 / 2, 1])
    np.testing.assert_allclose(curve.y, [0, 1 / 3, 2 / 3, 1])


def test_blocks_of_different_sizes_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = rated(np.array([0]), np.array([0.5]))
    signal = rated(np.array([1, 2]), np.array([0.4, 0.9]))
    weight = np.random.default_rng(0).integers(1, 4, (5, 3))
    whole = ratings.concordance(noise, signal, weight)
    monkeypatch.setattr(ratings, "_BLOCK_ELEMENTS", 9)  # three replicates, then two
    assert ratings.concordance(noise, signal, weight).tolist() == whole.tolist()


def test_without_noise_nothing_is_read() -> None:
    noise, signal = some([(0, 0.5, 1.0)]), some([(1, 0.7, 1.0)])
    rows = np.array([[0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    for fraction in (0.0, 0.5):
        read = signal_at(noise, signal, rows, (fraction,))
        assert read[:, 0] == pytest.approx([np.nan, 1.0, np.nan], nan_ok=True)


def test_a_row_is_the_smallest_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratings, "_BLOCK_ELEMENTS", 5)
    assert list(row_blocks(np.ones((3, 2)), 10)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
