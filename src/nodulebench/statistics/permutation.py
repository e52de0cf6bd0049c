"""Two cohorts on the same cases -> permutation test of any metric's difference.

Under the hypothesis that the two algorithms are interchangeable, swapping their marks on any set of
units (patients) changes nothing. Both cohorts are joined into one of 2 n cases; a swap is
then a row of case weights, and any metric can be tested, also pooled ones such as the CPM.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Permutation
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.statistics.paired import Metric

_BLOCK_ELEMENTS = 8_000_000
_SAME = 1e-12
"""Differences closer than this are ties: the same counts divided in another order."""


def permutation_test(
    metric: Metric,
    first: LabelledCohort,
    second: LabelledCohort,
    *,
    unit_of_case: IntArray,
    permutations: int,
    seed: int,
    is_on_common_scale: bool = True,
) -> Permutation:
    """Test whether two algorithms differ in a metric, by swapping their marks unit by unit.

    The metric must count cases by their weights. All swaps are made where there are no more than
    ``permutations``. With ``is_on_common_scale`` each score is replaced by the number of the same
    algorithm's false positives above it, so that marks can be pooled though the scores of two
    algorithms have different scales (the rank idea of Venkatraman and Begg 1996).
    """
    if first.case_count != second.case_count or first.case_count != len(unit_of_case):
        raise InputError.at(
            "permutation test",
            f"the algorithms were labelled on {first.case_count} and {second.case_count} "
            f"cases, units are given for {len(unit_of_case)}.",
            "Compare algorithms on the same cases.",
        )
    joined = side_by_side(first, second, is_on_common_scale=is_on_common_scale)
    unswapped = np.zeros((1, first.case_count), dtype=np.bool_)
    observed = float(_difference(metric, joined, unswapped)[0])
    _require_weighted_counting(metric, first, second, observed)
    units = int(unit_of_case.max(initial=-1)) + 1
    is_exact = units < 63 and 2**units <= permutations
    as_large, tried = 0, 0
    for is_swapped in _swaps(units, permutations, seed, is_exact):
        drawn = _difference(metric, joined, is_swapped[:, unit_of_case])
        drawn = drawn[np.isfinite(drawn)]
        as_large += int(np.count_nonzero(np.abs(drawn) >= abs(observed) - _SAME))
        tried += len(drawn)
    p_value = as_large / tried if is_exact else (1 + as_large) / (1 + tried)
    return Permutation(
        difference=observed,
        p_value=p_value,
        swaps=tried,
        is_exact=is_exact,
        method=Notice("permutation_test", {"swaps": None if is_exact else tried}),
    )


@cached_on_owner  # the next metric of the same two algorithms
def side_by_side(
    first: LabelledCohort, second: LabelledCohort, *, is_on_common_scale: bool
) -> LabelledCohort:
    """Both cohorts as one: cases 0..n-1 with the first's marks, n..2n-1 with the second's."""
    left, right = (
        _on_false_positive_scale(cohort) if is_on_common_scale else cohort
        for cohort in (first, second)
    )
    shift, rows = left.case_count, left.reference.nodules.height
    marks = left.submission.marks.height
    return LabelledCohort(
        case_count=left.case_count + right.case_count,
        nodule_case=np.concatenate([left.nodule_case, right.nodule_case + shift]),
        is_hit=np.concatenate([left.is_hit, right.is_hit]),
        hit_score=np.concatenate([left.hit_score, right.hit_score]),
        false_case=np.concatenate([left.false_case, right.false_case + shift]),
        false_score=np.concatenate([left.false_score, right.false_score]),
        has_scores=left.has_scores and right.has_scores,
        nodule_row=np.concatenate([left.nodule_row, right.nodule_row + rows]),
        hit_mark=np.concatenate(
            [left.hit_mark, np.where(right.hit_mark >= 0, right.hit_mark + marks, -1)]
        ),
        reference=replace(
            left.reference,
            cases=_stacked(left.reference.cases, right.reference.cases),
            nodules=_stacked(left.reference.nodules, right.reference.nodules),
            slices=_stacked_if_both(left.reference.slices, right.reference.slices),
        ),
        submission=replace(
            left.submission,
            marks=_stacked(left.submission.marks, right.submission.marks),
            slices=_stacked_if_both(left.submission.slices, right.submission.slices),
            runs=_stacked_if_both(left.submission.runs, right.submission.runs),
        ),
        whole=None
        if first.whole is None and second.whole is None
        else side_by_side(
            first.at_every_score, second.at_every_score, is_on_common_scale=is_on_common_scale
        ),
    )


def _on_false_positive_scale(cohort: LabelledCohort) -> LabelledCohort:
    """The same cohort with each score replaced by minus the false positives above it.

    Marks keep their order and their ties: hits between the same two false positives are
    set apart by less than half a false positive.
    """
    if not cohort.has_scores:
        return cohort
    hit_score, falses = cohort.hit_score[cohort.is_hit], np.sort(cohort.false_score)
    above, through = _count_above(falses, hit_score)
    hits_above, _ = _count_above(np.sort(hit_score), hit_score)
    is_tied = through > above
    apart = np.where(is_tied, 0.0, hits_above / (2 * len(hit_score) + 1))
    depth = np.full(cohort.nodule_count, np.nan)
    depth[cohort.is_hit] = (above + through) / 2 + apart
    false_above, false_through = _count_above(falses, cohort.false_score)
    return replace(cohort, hit_score=-depth, false_score=-(false_above + false_through) / 2)


def _count_above(ascending: FloatArray, score: FloatArray) -> tuple[IntArray, IntArray]:
    above = len(ascending) - np.searchsorted(ascending, score, "right")
    through = len(ascending) - np.searchsorted(ascending, score, "left")
    return above, through


def _difference(metric: Metric, joined: LabelledCohort, is_swapped: BoolArray) -> FloatArray:
    swapped = is_swapped.astype(np.int32)
    in_place = 1 - swapped
    first = metric(joined, np.concatenate([in_place, swapped], axis=1))
    other = metric(joined, np.concatenate([swapped, in_place], axis=1))
    return first - other


def _require_weighted_counting(
    metric: Metric, first: LabelledCohort, second: LabelledCohort, observed: float
) -> None:
    """Require that cases of weight 0 do not change the metric."""
    once = np.ones((1, first.case_count), dtype=np.int32)
    direct = float(metric(first, once)[0] - metric(second, once)[0])
    if not np.isfinite(direct):
        raise UndefinedError("undefined_for_one")
    if not abs(direct - observed) <= 1e-9 * max(1.0, abs(direct)):
        raise InputError.at(
            "permutation test",
            f"the metric gives a difference of {direct:.6g} on the cases themselves and "
            f"{observed:.6g} with cases of weight 0 added.",
            "Use a metric that counts cases by their weights and compares scores only "
            "between hits and false positives.",
        )


def _swaps(units: int, permutations: int, seed: int, is_exact: bool) -> Iterator[BoolArray]:
    """Rows that say which units are swapped, in blocks; all of them or a random draw."""
    rows = max(1, _BLOCK_ELEMENTS // max(4 * units, 1))
    count = 2**units if is_exact else permutations
    random = np.random.default_rng(seed)
    for start in range(0, count, rows):
        size = min(rows, count - start)
        if is_exact:
            numbers = np.arange(start, start + size)[:, np.newaxis]
            yield ((numbers >> np.arange(units)) & 1).astype(np.bool_)
        else:
            yield random.integers(0, 2, (size, units), dtype=np.int8).astype(np.bool_)


def _stacked(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    renamed = right.with_columns(pl.col("case_id") + " (second algorithm)")
    return pl.concat([left, renamed], how="diagonal")


def _stacked_if_both(left: pl.DataFrame | None, right: pl.DataFrame | None) -> pl.DataFrame | None:
    return None if left is None or right is None else _stacked(left, right)
