"""The optimal assignment against every possible one, and against scipy's maximum matching."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from builders.tables import case, labels_of, mark, nodule
from nodulebench.matching.assignment import PossiblePairs, assign_optimally

_PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.tuples(st.integers(0, 5), st.integers(0, 3)),
    max_size=9,
)


def best_total(pairs) -> tuple[int, int, int]:
    """(-hits, cost, tie) of the best of all assignments, by trying them all."""
    best = (0, 0, 0)
    for size in range(1, len(pairs) + 1):
        for chosen in combinations(pairs, size):
            marks, nodules = {m for m, _ in chosen}, {n for _, n in chosen}
            if len(marks) == len(nodules) == size:
                cost, tie = (sum(pairs[pair][i] for pair in chosen) for i in (0, 1))
                best = min(best, (-size, cost, tie))
    return best


@settings(max_examples=200, deadline=None)
@given(pairs=_PAIRS, seed=st.integers(0, 99))
def test_no_assignment_is_better_and_the_order_of_pairs_does_not_matter(pairs, seed):
    keys = list(pairs)
    np.random.default_rng(seed).shuffle(keys)
    mark, nodule = (np.array([key[i] for key in keys], dtype=np.int64) for i in (0, 1))
    cost, tie = (np.array([pairs[tuple(key)][i] for key in keys], dtype=float) for i in (0, 1))
    chosen = assign_optimally(PossiblePairs(mark, nodule, cost, tie, mark, nodule))
    assert len(set(mark[chosen])) == len(set(nodule[chosen])) == len(chosen)
    total = (-len(chosen), int(cost[chosen].sum()), int(tie[chosen].sum()))
    # totals are compared group by group, so the sums of the best groups are the best sums
    assert total == best_total(pairs)


_SCORES = (0.1, 0.4, 0.7, 0.9)
_LINE = st.tuples(
    st.lists(st.tuples(st.integers(0, 12), st.integers(2, 9)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(_SCORES)), max_size=7),
)
"""Nodules (place, size) and marks (place, score) along a line."""


@settings(max_examples=20, deadline=None)
@given(lines=st.lists(_LINE, min_size=5, max_size=10))
def test_luna16_clean_is_the_best_at_every_score_threshold(lines):
    cases = [
        case(
            f"case{number:02}",
            *(nodule(size, (x, 0, 0)) for x, size in nodules),
            *(mark(score, (x, 0, 0)) for x, score in marks),
        )
        for number, (nodules, marks) in enumerate(lines)
    ]
    hits = [row for row in labels_of(*cases, rule="luna16_clean") if row[3] == "hit"]
    for one, (nodules, marks) in zip(cases, lines, strict=True):
        hit_score = [marks[int(row[1][1:])][1] for row in hits if row[0] == one.name]
        for threshold in _SCORES:
            counted = [x for x, score in marks if score >= threshold]
            fits = np.array([[abs(x - at) < size / 2 for x in counted] for at, size in nodules])
            possible = 0
            if counted:
                matched = maximum_bipartite_matching(csr_array(fits), perm_type="column")
                possible = int(np.count_nonzero(matched >= 0))
            assert sum(score >= threshold for score in hit_score) == possible
