"""The guarded bootstrap against numbers worked out apart from it, and exact binomial bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nodulebench.core.arrays import FloatArray
from nodulebench.metrics.pseudo_patient import SINGLE_ICC, pseudo_size
from nodulebench.statistics.bootstrap import (
    GuardedBootstrap,
    GuardedRatio,
    RatioSums,
    bound_reach,
    guarded_interval,
    guarded_p_value,
    proportion_of,
    ratio_rows,
    units_needed,
)

MANY = 10_000


def recall_bounds(
    nodules: list[int], hits: list[int], replicates: int = MANY, icc: float = SINGLE_ICC
) -> tuple[float, float]:
    trials, hit = np.array(nodules, dtype=float), np.array(hits, dtype=float)
    bootstrap = GuardedBootstrap(np.arange(len(trials)), replicates, seed=0)
    ratio = proportion_of(hit, trials, pseudo_size(trials, icc))
    rows = [ratio_rows([ratio], block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(parts)[:, 0] for parts in zip(*rows, strict=True))
    return guarded_interval(hit.sum() / trials.sum(), worst, best, 0.95)


def test_weights_by_hand() -> None:
    (block,) = GuardedBootstrap(np.arange(3), 4, 0).blocks()
    everyone = np.ones((3, 1), dtype=np.bool_)
    assert block.weight == pytest.approx(
        np.array(
            [
                [0.679932, 1.019597, 0.019807],
                [0.002269, 0.550343, 1.62994],
                [0.673583, 0.755301, 2.816786],
                [6.057753, 3.286428, 0.001288],
            ]
        ),
        abs=1e-6,
    )
    abnormal, normal = (
        block.pseudo(everyone, is_abnormal=is_first)[:, 0] for is_first in (True, False)
    )
    assert abnormal == pytest.approx([1.719336, 0.099341, 1.641896, 1.585058], abs=1e-6)
    assert normal == pytest.approx([0.078257, 2.182553, 0.720096, 3.614104], abs=1e-6)


def test_where_blocks_are_cut_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = GuardedBootstrap(np.arange(5), 40, 3)
    (whole,) = bootstrap.blocks()
    monkeypatch.setattr("nodulebench.statistics.bootstrap._BLOCK_ELEMENTS", 35)
    parts = list(bootstrap.blocks())
    assert len(parts) == 6
    assert np.array_equal(np.concatenate([part.weight for part in parts]), whole.weight)
    assert np.array_equal(np.concatenate([part.quantile for part in parts]), whole.quantile)


MIXED = [1, 2, 3, 4, 5, 0, 0, 1, 1, 10]


@pytest.mark.parametrize(
    ("nodules", "icc", "size"),
    [([3] * 20, 0.5, 2), ([3] * 20, 0.3, 1.6), (MIXED, 0.5, 3.407407), (MIXED, 0.3, 2.444444)],
)
def test_the_unseen_patient_is_as_large_as_clusters_make_it(
    nodules: list[int], icc: float, size: float
) -> None:
    assert pseudo_size(np.array(nodules, dtype=float), icc) == pytest.approx(size, abs=1e-6)


def missed(patients: int, nodules: int, *of_patient: int) -> tuple[list[int], list[int]]:
    """So many patients with so many nodules each, and the misses of the first ones."""
    misses = [*of_patient, *[0] * (patients - len(of_patient))]
    return [nodules] * patients, [nodules - miss for miss in misses]


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        (missed(20, 3), 0.881091, 1.0),
        (missed(20, 3, 1), 0.861066, 0.999593),
        (missed(20, 3, 1, 1), 0.842504, 0.996198),
        (missed(20, 3, 1, 1, 1), 0.824390, 0.988657),
        (missed(20, 3, *[1] * 6), 0.774109, 0.958813),
        (missed(20, 3, 3), 0.780869, 0.998780),
        (missed(3, 1), 0.292587, 1.0),
        (missed(72, 1), 0.950081, 1.0),
        (missed(20, 1, 1), 0.753496, 0.998798),
        ((MIXED, [1, 2, 3, 3, 5, 0, 0, 1, 0, 9]), 0.513472, 0.969605),
    ],
)
def test_bounds_of_recall(counts: tuple[list[int], list[int]], low: float, high: float) -> None:
    assert recall_bounds(*counts) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("patients", [3, 8, 20, 72])
def test_with_no_miss_the_bound_is_the_exact_one(patients: int) -> None:
    low, high = recall_bounds(*missed(patients, 1), replicates=20_000)
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (1 / patients), abs=2e-4)


@pytest.mark.parametrize(("patients", "misses"), [(12, 1), (20, 3), (40, 1), (40, 20), (60, 59)])
def test_one_nodule_per_patient_gives_clopper_and_pearson(patients: int, misses: int) -> None:
    bounds = recall_bounds(*missed(patients, 1, *[1] * misses), replicates=200_000)
    hits = patients - misses
    exact = stats.beta.ppf([0.025, 0.975], [hits, hits + 1], [misses + 1, misses])
    assert bounds == pytest.approx(tuple(exact), abs=0.004)


def test_no_miss_is_never_worse_than_one() -> None:
    # the percentile bootstrap with an exact interval for no miss gave 0.832, then 0.950
    lows = [recall_bounds(*missed(20, 3, *[1] * misses))[0] for misses in range(4)]
    assert lows == sorted(lows, reverse=True)
    assert np.all(np.diff(lows) < 0)


@pytest.mark.parametrize(
    ("falses", "low", "high"),
    [
        ([0] * 20, 0.0, 0.168177),
        ([1] + [0] * 19, 0.001151, 0.243388),
        ([4] + [0] * 19, 0.004605, 0.973554),
        ([0, 1, 2, 3, 4] * 4, 1.247536, 2.633215),
    ],
)
def test_bounds_of_false_positives_per_case(falses: list[int], low: float, high: float) -> None:
    counts = np.array(falses, dtype=float)
    everyone = np.ones(20, dtype=np.bool_)
    ratio = GuardedRatio(
        counts,
        np.ones(20),
        worst=np.array([[0, max(1, counts.max())], [1, 1]]),  # both unseen cases are cases
        best=np.array([[0, 0], [1.0, 1]]),
        peer_units=(everyone, everyone),
    )
    (block,) = GuardedBootstrap(np.arange(20), MANY, 0).blocks()
    worst, best = ratio_rows([ratio], block)
    bounds = guarded_interval(float(counts.mean()), worst[:, 0], best[:, 0], 0.95)
    assert bounds == pytest.approx((low, high), abs=1e-6)


def test_a_bound_reaches_as_far_as_its_rows_are_scarce() -> None:
    def width(rows: FloatArray) -> float:
        low, high = bound_reach(rows, 0.025)
        return high - low

    random = np.random.default_rng(0)
    few, many = random.random(400), random.random(40_000)
    assert 5 < width(few) / width(many) < 20
    low, high = bound_reach(many, 0.025)
    assert low < 0.025 < high


ROWS = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0]), min_size=2, max_size=30)


@given(ROWS, ROWS, st.floats(0, 1), st.floats(0, 1), st.floats(0.05, 0.99), st.booleans())
def test_a_bound_reaches_a_limit_where_the_p_value_is_within_the_tail(
    first: list[float], second: list[float], value: float, limit: float, level: float, is_low: bool
) -> None:
    worst, best = (np.array((row * 30)[:30]) for row in (first, second))
    low, high = guarded_interval(value, worst, best, level)
    is_reached = low >= limit if is_low else high <= limit
    p_value = guarded_p_value(value, worst, best, limit, is_low=is_low)
    assert 1 / 31 <= p_value <= 1
    tail = (1 - level) / 2
    if abs(p_value - tail) > 1e-9 and tail > 1 / 31:
        assert is_reached == (p_value < tail)


def test_a_p_value_by_hand() -> None:
    rows = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    # 0.5 is half way from the second to the third of five: 1.5 of 4 steps
    assert guarded_p_value(0.9, rows, rows, 0.5, is_low=True) == pytest.approx(1.5 / 4)
    assert guarded_p_value(0.9, rows, rows, 0.1, is_low=True) == pytest.approx(1 / 6)
    assert guarded_p_value(0.3, rows, rows, 0.7, is_low=False) == pytest.approx(1.5 / 4)
    assert guarded_p_value(0.4, rows, rows, 0.5, is_low=True) == 1


@pytest.mark.parametrize(("gap", "allowed"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0), (0.1, 1.0)])
def test_no_number_of_units_is_needed_where_a_bound_cannot_move(gap: float, allowed: float) -> None:
    assert units_needed(20, gap, allowed, 0.95) is None


def test_a_single_replicate_decides() -> None:
    for row, expected in ((0.4, 1.0), (0.6, 0.5)):
        rows = np.array([row])
        assert guarded_p_value(0.7, rows, rows, 0.5, is_low=True) == expected


def test_a_bound_may_lie_two_standard_errors_away() -> None:
    # 100 rows, half of them: 2 sqrt(.25 / 100) = .1 to either side
    assert bound_reach(np.arange(101.0), 0.5) == pytest.approx((50 - 9.95, 50 + 9.95), abs=0.01)
    assert bound_reach(np.arange(101.0), 0.0) == (0, 0)


def test_units_are_counted_and_an_empty_cohort_has_none() -> None:
    for unit, count in (([0], 1), ([0, 0], 1), ([1, 0], 2)):
        assert GuardedBootstrap(np.array(unit), 4, 0).units == count
    empty = GuardedBootstrap(np.empty(0, dtype=np.int64), 4, 0)
    assert [block.weight.shape for block in empty.blocks()] == [(4, 0)]


def test_weights_that_serve_every_metric_cannot_be_written_to() -> None:
    (block,) = GuardedBootstrap(np.arange(3), 4, 0).blocks()
    with pytest.raises(ValueError, match="read-only"):
        block.weight[0, 0] = 9


def test_blocks_of_single_rows_hold_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = GuardedBootstrap(np.arange(3), 4, 0)
    (whole,) = bootstrap.blocks()
    for elements in (1, 6):
        monkeypatch.setattr("nodulebench.statistics.bootstrap._BLOCK_ELEMENTS", elements)
        parts = list(bootstrap.blocks())
        assert len(parts) > 1
        assert np.concatenate([part.weight for part in parts]).tolist() == whole.weight.tolist()
        assert np.concatenate([part.quantile for part in parts]).tolist() == whole.quantile.tolist()


def test_a_bound_reaches_two_standard_errors_of_its_share_by_hand() -> None:
    rows = np.arange(101.0)  # the quantile of a share p is 100 p
    reach = 2 * np.sqrt(0.25 * 0.75 / 101)
    assert bound_reach(rows, 0.25) == pytest.approx((25 - 100 * reach, 25 + 100 * reach))
    assert bound_reach(rows, 0.001)[0] == 0
    assert bound_reach(rows, 0.999)[1] == 100


def test_units_needed_are_the_fewest_whose_bound_is_near_enough() -> None:
    tail = 0.025
    ratio = 2 * (tail ** (-1 / 20) - 1)  # of units that count as half of one each
    gap = ratio / (1 + ratio)
    assert units_needed(20, gap, gap, 0.95) == 20
    for allowed in (0.5, 0.1, 0.03):
        enough = (k for k in range(1, 999) if 2 * (tail ** (-1 / k) - 1) <= allowed / (1 - allowed))
        assert units_needed(20, gap, allowed, 0.95) == next(enough)


def test_one_row_below_the_limit_is_all_of_them() -> None:
    below = np.array([-1.0])
    assert guarded_p_value(1.0, below, below, 0.0, is_low=True) == 1.0
    assert guarded_p_value(1.0, -below, -below, 0.0, is_low=True) == 0.5


@pytest.mark.parametrize("replicates", [0, 1, 2])
def test_one_replicate_is_the_least_that_is_drawn(replicates: int) -> None:
    (block,) = GuardedBootstrap(np.arange(3), replicates, 0).blocks()
    assert block.weight.shape == (max(replicates, 1), 3)


def test_a_ratio_over_nothing_is_undefined() -> None:
    nothing = np.zeros((2, 1))
    sums = RatioSums(np.array([[1.0], [0.5]]), np.array([[0.0], [0.5]]), nothing, nothing)
    assert sums.read(np.zeros((1, 2, 2)))[:, 0] == pytest.approx([np.nan, 1.0], nan_ok=True)
