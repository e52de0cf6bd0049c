"""What every mark rule keeps to, under every assignment and duplicate policy it offers."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl

from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, IGNORED, Labels, labelled_cohort
from nodulebench.core.config_model import parameters_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.matching import label_marks, targets
from nodulebench.matching.rules import RULES
from nodulebench.testing.test_sets import (
    TestSet,
    crowded_set,
    expect,
    expect_all,
    protocol_of,
    set_of,
)

OFFICIAL = "luna16"
"""The rule of the official LUNA16 program, which lets a mark hit two nodules and, among equal
scores, takes the first."""
SEEDS = (0, 1, 2)
_crowd = cache(crowded_set)


def variants(name: str) -> Iterator[TestProtocol]:
    is_free = "assignment" in parameters_of(RULES[name])
    for assignment in ("greedy", "optimal") if is_free else ("published",):
        for duplicates in ("ignore", "false_positive"):
            yield protocol_of(name, assignment=assignment, duplicates=duplicates)


def _labels(chosen: TestProtocol, test_set: TestSet) -> Labels:
    return label_marks(*test_set, chosen, chosen.rules[0])


def _rows(chosen: TestProtocol, test_set: TestSet) -> list[tuple[object, ...]]:
    reference, submission = test_set
    table = _labels(chosen, test_set).table("a", "r", submission, reference)
    return sorted(table.rows(), key=str)


def _mixed(table: pl.DataFrame | None, seed: int) -> pl.DataFrame | None:
    return None if table is None else table.sample(fraction=1, shuffle=True, seed=seed)


def _is_official(chosen: TestProtocol) -> bool:
    return chosen.rules[0].name == OFFICIAL


def it_says_what_it_is(chosen: TestProtocol) -> None:
    """It takes a scene and keyword-only parameters with defaults, and says what it does."""
    rule = RULES[chosen.rules[0].name]
    scene, *others = inspect.signature(rule).parameters.values()
    expect(scene.name == "scene", f"its first parameter is '{scene.name}', not 'scene'")
    for other in others:
        expect(
            other.kind is other.KEYWORD_ONLY, f"its parameter '{other.name}' is not keyword-only"
        )
        expect(other.default is not other.empty, f"its parameter '{other.name}' has no default")
    expect(bool(inspect.getdoc(rule)), "it does not say what it does")


def every_mark_has_a_label(chosen: TestProtocol) -> None:
    labels = _labels(chosen, _crowd(1))
    wanted = set(range(_crowd(1)[1].marks.height))
    expect(set(labels.mark.tolist()) == wanted, "marks are missing, or there are others")


def each_nodule_is_hit_at_most_once_and_never_an_ignored_one(chosen: TestProtocol) -> None:
    labels = _labels(chosen, _crowd(2))
    hit = labels.nodule[labels.label == HIT]
    expect(len(hit) == len(np.unique(hit)) > 0, "a nodule is hit twice, or none at all")
    is_ignored = _crowd(2)[0].nodules["is_ignored"].to_numpy()
    expect(not is_ignored[hit].any(), "an ignored finding is hit")


def counts_are_consistent(chosen: TestProtocol) -> None:
    reference, submission = _crowd(3)
    labels = _labels(chosen, (reference, submission))
    cohort = labelled_cohort(reference, submission, labels, targets(reference, submission, chosen))
    expect(np.count_nonzero(cohort.is_hit) == labels.count(HIT), "hits are counted otherwise")
    false = labels.mark[labels.label == FALSE_POSITIVE]
    are_once = len(false) == len(np.unique(false)) == len(cohort.false_case)
    expect(are_once, "a false positive is counted twice")
    both = np.intersect1d(false, labels.mark[labels.label == HIT]).size
    expect(not both, "a mark is a hit and a false positive")
    if not _is_official(chosen):
        sorted_rows = sum(labels.count(kind) for kind in (HIT, FALSE_POSITIVE, DUPLICATE, IGNORED))
        expect(sorted_rows == submission.marks.height, "marks have no label, or two")


def duplicates_are_ignored_or_false_by_the_policy(chosen: TestProtocol) -> None:
    labels = _labels(chosen, _crowd(4))
    false_of = labels.nodule[labels.label == FALSE_POSITIVE]
    if chosen.duplicates == "ignore":
        expect(labels.count(DUPLICATE) > 0, "no further mark is a duplicate")
        expect(bool((false_of == -1).all()), "a false positive belongs to a nodule")
    elif not _is_official(chosen):
        expect(labels.count(DUPLICATE) == 0, "a further mark is left out")
        expect(bool((false_of >= 0).any()), "no further mark is a false positive")


def the_order_of_marks_and_their_boxes_changes_nothing(chosen: TestProtocol) -> None:
    for seed in SEEDS:
        reference, submission = _crowd(seed)
        if _is_official(chosen):
            distinct = pl.int_range(submission.marks.height).cast(pl.Float64).alias("score")
            submission = replace(submission, marks=submission.marks.with_columns(distinct))
        marks = submission.marks.sample(fraction=1, shuffle=True, seed=seed)
        mixed = replace(submission, marks=marks, slices=_mixed(submission.slices, seed + 1))
        same = _rows(chosen, (reference, mixed)) == _rows(chosen, (reference, submission))
        expect(same, "the order of marks or of their boxes changes labels")


def the_order_of_cases_and_boxes_changes_nothing(chosen: TestProtocol) -> None:
    for seed in SEEDS:
        reference, submission = _crowd(seed)
        cases = reference.cases.sample(fraction=1, shuffle=True, seed=seed)
        mixed = replace(reference, cases=cases, slices=_mixed(reference.slices, seed + 1))
        same = _rows(chosen, (mixed, submission)) == _rows(chosen, (reference, submission))
        expect(same, "the order of cases or of the reference's boxes changes labels")


def the_order_of_nodules_changes_nothing(chosen: TestProtocol) -> None:
    """Nodules may come in any order, unless they are matched one after another."""
    for seed in SEEDS:
        reference, submission = _crowd(seed)
        nodules = reference.nodules.sample(fraction=1, shuffle=True, seed=seed)
        before = _rows(chosen, (reference, submission))
        after = _rows(chosen, (replace(reference, nodules=nodules), submission))
        if chosen.assignment == "greedy":
            expect(len(before) == len(after), "marks come or go with the order of nodules")
        elif _is_official(chosen) and chosen.duplicates == "false_positive":
            # which of two nodules a second mark belongs to is not defined
            same = sorted(str(row[5]) for row in before) == sorted(str(row[5]) for row in after)
            expect(same, "labels change with the order of nodules")
        else:
            hits = [[row for row in rows if row[5] == "hit"] for rows in (before, after)]
            expect(hits[0] == hits[1], "hits change with the order of nodules")
            sorted_rows = [[row[3:4] + row[5:] for row in rows] for rows in (before, after)]
            expect(sorted_rows[0] == sorted_rows[1], "labels change with the order of nodules")


def an_empty_submission_hits_nothing(chosen: TestProtocol) -> None:
    for made in (set_of("ab", [_spot("a", 6.0)]), set_of("a")):
        labels = _labels(chosen, made)
        sizes = {len(labels.mark), len(labels.nodule), len(labels.label)}
        expect(sizes == {0}, "there are labels without marks")


def every_mark_in_a_case_without_nodules_is_a_false_positive(chosen: TestProtocol) -> None:
    """On its own, or with another case that has a nodule at the same position."""
    marks = [_spot("a", 4.0, score=0.5), _spot("a", 4.0, score=0.5)]
    for made in (set_of("ab", [_spot("b", 6.0)], marks), set_of("a", (), marks)):
        labels = _labels(chosen, made).label.tolist()
        expect(labels == [FALSE_POSITIVE] * 2, "a mark in an empty case is not a false positive")


def marks_without_scores_are_labelled_as_ties(chosen: TestProtocol) -> None:
    reference, submission = _crowd(5)

    def labels_of(score: pl.Expr) -> list[tuple[object, ...]]:
        marks = submission.marks.with_columns(score=score)
        return _rows(chosen, (reference, replace(submission, marks=marks)))

    tied = labels_of(pl.lit(0.5))
    expect(tied == labels_of(pl.lit(None, dtype=pl.Float64)), "missing scores change labels")
    expect(any(row[5] == "hit" for row in tied), "nothing is hit")
    same = labels_of(pl.col("score") * 3 - 7) == labels_of(pl.col("score"))
    expect(same, "higher scores all round change labels")


def a_far_mark_is_one_more_false_positive(chosen: TestProtocol) -> None:
    reference, submission = _crowd(7)
    _, far = set_of(["case0"], (), [_spot("case0", 2.0, x=1000.0, score=0.99)])
    named = pl.lit("far").alias("mark_id")
    slices = None
    if submission.slices is not None and far.slices is not None:
        slices = pl.concat([submission.slices, far.slices.with_columns(named)])
    more = replace(
        submission,
        marks=pl.concat([submission.marks, far.marks.with_columns(named)]),
        slices=slices,
    )
    before, after = _labels(chosen, (reference, submission)), _labels(chosen, (reference, more))
    is_one_more = after.count(FALSE_POSITIVE) == before.count(FALSE_POSITIVE) + 1
    expect(is_one_more, "a far mark is not one more false positive")
    for kind in (HIT, DUPLICATE, IGNORED):
        expect(after.count(kind) == before.count(kind), "a far mark changes other labels")


MARK_RULE_CHECKS: tuple[Callable[[TestProtocol], None], ...] = (
    it_says_what_it_is,
    every_mark_has_a_label,
    each_nodule_is_hit_at_most_once_and_never_an_ignored_one,
    counts_are_consistent,
    duplicates_are_ignored_or_false_by_the_policy,
    the_order_of_marks_and_their_boxes_changes_nothing,
    the_order_of_cases_and_boxes_changes_nothing,
    the_order_of_nodules_changes_nothing,
    an_empty_submission_hits_nothing,
    every_mark_in_a_case_without_nodules_is_a_false_positive,
    marks_without_scores_are_labelled_as_ties,
    a_far_mark_is_one_more_false_positive,
)


def check_mark_rule(name: str) -> None:
    """Run a registered mark rule through all checks; AssertionError says what it breaks."""
    for chosen in variants(name):
        expect_all(MARK_RULE_CHECKS, chosen)


def _spot(name: str, size: float, x: float = 0.0, score: float | None = None) -> dict[str, object]:
    boxes = [(0, x, 0.0, size, size)]
    place = {"case_id": name, "x_mm": x, "y_mm": 0.0, "z_mm": 0.0}
    return {**place, "score": score, "boxes": boxes}
