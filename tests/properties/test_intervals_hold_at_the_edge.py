"""Whatever the counts: intervals have width, more errors never help, and sides can be swapped."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.core.arrays import FloatArray
from nodulebench.metrics.pseudo_patient import SINGLE_ICC, paired_icc, pseudo_size
from nodulebench.statistics.bootstrap import (
    GuardedBootstrap,
    GuardedRatio,
    guarded_interval,
    proportion_of,
    ratio_rows,
)

REPLICATES = 200

patients = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda one: (max(one), min(one))),
    min_size=1,
    max_size=25,
).filter(lambda found: any(nodules for nodules, _ in found))
"""Nodules and misses of each patient."""


def bounds(counts: list[tuple[int, int]], level: float = 0.95) -> tuple[float, float]:
    nodules, missed = np.array(counts, dtype=float).T
    found = nodules - missed
    (block,) = GuardedBootstrap(np.arange(len(counts)), REPLICATES, 0).blocks()
    ratio = proportion_of(found, nodules, pseudo_size(nodules, SINGLE_ICC))
    worst, best = ratio_rows([ratio], block)
    value = float(found.sum() / nodules.sum())
    return guarded_interval(value, worst[:, 0], best[:, 0], level)


@given(patients)
def test_recall_has_an_interval_of_some_width_around_it(counts: list[tuple[int, int]]) -> None:
    low, high = bounds(counts)
    nodules, missed = np.array(counts).T.sum(axis=1)
    assert 0 <= low <= 1 - missed / nodules <= high <= 1
    assert low < high


@given(patients, st.integers(0, 24))
def test_one_more_miss_never_raises_a_bound(counts: list[tuple[int, int]], at: int) -> None:
    at %= len(counts)
    nodules, missed = counts[at]
    if missed == nodules:
        return
    worse = [*counts[:at], (nodules, missed + 1), *counts[at + 1 :]]
    assert all(
        after <= before + 1e-12 for before, after in zip(bounds(counts), bounds(worse), strict=True)
    )


@given(patients)
def test_a_wider_level_gives_a_wider_interval(counts: list[tuple[int, int]]) -> None:
    inner, outer = bounds(counts, 0.9), bounds(counts, 0.99)
    assert outer[0] <= inner[0]
    assert inner[1] <= outer[1]


def false_positive_bounds(falses: FloatArray) -> tuple[float, float]:
    """Of false positives per case, with the same number in the unseen case throughout."""
    cases = len(falses)
    everyone = np.ones(cases, dtype=np.bool_)
    ratio = GuardedRatio(
        falses,
        np.ones(cases),
        worst=np.array([[0, max(1.0, falses.max())], [1, 1]]),
        best=np.array([[0.0, 0], [1, 1]]),
        peer_units=(everyone, everyone),
    )
    (block,) = GuardedBootstrap(np.arange(cases), REPLICATES, 0).blocks()
    worst, best = ratio_rows([ratio], block)
    return guarded_interval(float(falses.mean()), worst[:, 0], best[:, 0], 0.95)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=25), st.integers(0, 24))
def test_one_more_false_positive_never_lowers_a_bound(found: list[int], at: int) -> None:
    falses = np.array(found, dtype=float)
    more = falses.copy()
    more[at % len(falses)] += 1
    before, after = false_positive_bounds(falses), false_positive_bounds(more)
    assert before[0] < before[1]
    assert after[0] >= before[0] - 1e-12
    assert after[1] >= before[1] - 1e-12


@settings(max_examples=60)
@given(patients, st.randoms(use_true_random=False))
def test_swapping_two_algorithms_swaps_and_turns_the_bounds(counts, random) -> None:
    nodules = np.array([count for count, _ in counts], dtype=float)
    hits = [np.array([float(random.randint(0, count)) for count, _ in counts]) for _ in range(2)]
    size = pseudo_size(nodules, paired_icc(len(nodules)))
    (block,) = GuardedBootstrap(np.arange(len(counts)), REPLICATES, 0).blocks()

    def difference(first: FloatArray, second: FloatArray) -> tuple[float, float]:
        ratios = [proportion_of(found, nodules, size) for found in (first, second)]
        worst, best = ratio_rows(ratios, block)
        rows = worst[:, 0] - best[:, 1], best[:, 0] - worst[:, 1]
        value = float((first.sum() - second.sum()) / nodules.sum())
        return guarded_interval(value, *rows, 0.95)

    low, high = difference(*hits)
    again = difference(*hits[::-1])
    assert low < high
    assert np.allclose(again, (-high, -low), atol=1e-12)
    same = difference(hits[0], hits[0])
    assert same[0] < 0 < same[1]
