"""Every registered mark rule, under every assignment and duplicate policy it offers."""

import inspect
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from builders.tables import (
    Case,
    Slice,
    case,
    false_mark,
    ignored,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from nodulebench.match import label_marks, targets
from nodulebench.match.rules import RULES
from nodulebench.model.cohort import labelled_cohort
from nodulebench.model.labels import DUPLICATE, FALSE_POSITIVE, HIT, IGNORED
from nodulebench.model.tables import Reference, Submission


def _variants():
    for name, rule in RULES.items():
        known = inspect.signature(rule).parameters
        assignments = ("greedy", "optimal") if "assignment" in known else ("published",)
        for assignment in assignments:
            for duplicates in ("ignore", "false_positive"):
                yield pytest.param(
                    (name, assignment, duplicates), id=f"{name}-{assignment}-{duplicates}"
                )


@pytest.fixture(params=_variants())
def chosen(request):
    name, assignment, duplicates = request.param
    return protocol(name, assignment=assignment, duplicates=duplicates)


def crowded(seed: int, cases: int = 6) -> tuple[Case, ...]:
    """Cases with nodules and marks so close together that they compete."""
    random = np.random.default_rng(seed)

    def boxes(x, y, size):
        first = int(random.integers(0, 3))
        return tuple(
            Slice(first + step, x, y, size, float(random.choice([4.0, 6.0]))) for step in range(3)
        )

    def item(kind):
        x, y = (float(value) for value in random.integers(0, 9, 2))
        size = float(random.choice([4.0, 6.0, 8.0]))
        score = float(random.choice([0.3, 0.6, 0.9]))
        place, slices = (x, y, 1.0), boxes(x, y, size)
        if kind == "mark":
            return mark(score, place, *slices)
        return (nodule if kind == "nodule" else ignored)(size, place, *slices)

    kinds = ("nodule",) * 4 + ("ignored",) + ("mark",) * 7
    return tuple(case(f"case{number}", *map(item, kinds)) for number in range(cases))


@cache
def crowded_tables(seed: int) -> tuple[Reference, Submission]:
    cases = crowded(seed)
    return reference(*cases), submission(*cases)


def labelled(chosen, truth, said):
    return label_marks(truth, said, chosen, chosen.rules[0])


def rows(chosen, truth, said):
    table = labelled(chosen, truth, said).table("a", "r", said, truth)
    return sorted(table.rows(), key=str)


def shuffled(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    return table.sample(fraction=1, shuffle=True, seed=seed)


def test_every_judged_mark_appears(chosen):
    truth, said = crowded_tables(1)
    labels = labelled(chosen, truth, said)
    assert set(labels.mark.tolist()) == set(range(said.marks.height))


def test_each_nodule_is_hit_at_most_once_and_never_an_ignored_one(chosen):
    truth, said = crowded_tables(2)
    labels = labelled(chosen, truth, said)
    hit = labels.nodule[labels.label == HIT]
    assert len(hit) == len(np.unique(hit)) > 0
    assert not truth.nodules["is_ignored"].to_numpy()[hit].any()


def test_counts_are_consistent(chosen):
    truth, said = crowded_tables(3)
    labels = labelled(chosen, truth, said)
    cohort = labelled_cohort(truth, said, labels, targets(truth, said, chosen))
    assert np.count_nonzero(cohort.is_hit) == labels.count(HIT)
    false = labels.mark[labels.label == FALSE_POSITIVE]
    assert len(false) == len(np.unique(false)) == len(cohort.false_case)
    assert not np.intersect1d(false, labels.mark[labels.label == HIT]).size
    if chosen.rules[0].name != "luna16":  # whose program lets a mark hit two nodules
        kinds = (HIT, FALSE_POSITIVE, DUPLICATE, IGNORED)
        assert sum(labels.count(kind) for kind in kinds) == said.marks.height


def test_duplicates_are_ignored_or_false_by_the_policy(chosen):
    truth, said = crowded_tables(4)
    labels = labelled(chosen, truth, said)
    if chosen.duplicates == "ignore":
        assert labels.count(DUPLICATE) > 0
        assert (labels.nodule[labels.label == FALSE_POSITIVE] == -1).all()
    elif chosen.rules[0].name != "luna16":
        assert labels.count(DUPLICATE) == 0
        assert (labels.nodule[labels.label == FALSE_POSITIVE] >= 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_order_of_marks_and_their_boxes_changes_nothing(chosen, seed):
    truth, said = crowded_tables(seed)
    mixed = replace(said, marks=shuffled(said.marks, seed), slices=shuffled(said.slices, seed + 1))
    if chosen.rules[0].name == "luna16":  # among equal scores its program takes the first
        distinct = pl.int_range(said.marks.height).cast(pl.Float64).alias("score")
        said = replace(said, marks=said.marks.with_columns(distinct))
        mixed = replace(mixed, marks=shuffled(said.marks, seed))
    assert rows(chosen, truth, mixed) == rows(chosen, truth, said)


@pytest.mark.parametrize("seed", range(3))
def test_order_of_cases_and_boxes_of_the_reference_changes_nothing(chosen, seed):
    truth, said = crowded_tables(seed)
    mixed = replace(
        truth, cases=shuffled(truth.cases, seed), slices=shuffled(truth.slices, seed + 1)
    )
    assert rows(chosen, mixed, said) == rows(chosen, truth, said)


@pytest.mark.parametrize("seed", range(3))
def test_order_of_nodules_changes_nothing_unless_they_are_matched_one_after_another(chosen, seed):
    truth, said = crowded_tables(seed)
    mixed = replace(truth, nodules=shuffled(truth.nodules, seed))
    before, after = rows(chosen, truth, said), rows(chosen, mixed, said)
    if chosen.assignment == "greedy":
        assert len(before) == len(after)  # every mark once, whatever the order
    elif chosen.rules[0].name == "luna16" and chosen.duplicates == "false_positive":
        # which of two nodules a second mark belongs to is not said
        assert sorted(row[5] for row in before) == sorted(row[5] for row in after)
    else:
        hits = [[row for row in found if row[5] == "hit"] for found in (before, after)]
        assert hits[0] == hits[1]
        assert [row[3:4] + row[5:] for row in before] == [row[3:4] + row[5:] for row in after]


def test_empty_submission_hits_nothing(chosen):
    cases = [case("a", nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))), case("b")]
    labels = labelled(chosen, reference(*cases), submission(*cases))
    assert len(labels.mark) == len(labels.nodule) == len(labels.label) == 0


def test_every_mark_in_a_case_without_nodules_is_a_false_positive(chosen):
    boxed = mark(0.5, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    here = nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))
    cases = (case("empty", boxed, boxed), case("full", here))
    labels = labelled(chosen, reference(*cases), submission(*cases))
    assert labels.label.tolist() == [FALSE_POSITIVE] * 2
    alone = labelled(chosen, reference(cases[0]), submission(cases[0]))
    assert alone.label.tolist() == [FALSE_POSITIVE] * 2


def test_reference_and_submission_may_both_be_empty(chosen):
    labels = labelled(chosen, reference(case("a")), submission(case("a")))
    assert len(labels.label) == 0


def test_marks_without_scores_and_all_tied_give_the_same_labels(chosen):
    truth, said = crowded_tables(5)
    tied = replace(said, marks=said.marks.with_columns(score=pl.lit(0.5)))
    silent = replace(said, marks=said.marks.with_columns(score=pl.lit(None, dtype=pl.Float64)))
    assert rows(chosen, truth, tied) == rows(chosen, truth, silent)
    assert any(row[5] == "hit" for row in rows(chosen, truth, tied))


def test_higher_scores_all_round_change_nothing(chosen):
    truth, said = crowded_tables(6)
    raised = replace(said, marks=said.marks.with_columns(pl.col("score") * 3 - 7))
    assert rows(chosen, truth, raised) == rows(chosen, truth, said)


def test_far_mark_is_one_more_false_positive(chosen):
    cases = crowded(7)
    far = false_mark(0.99)
    far = replace(far, slices=(Slice(0, far.at[0], 0, 2, 2),))
    more = (replace(cases[0], marks=(*cases[0].marks, far)), *cases[1:])
    truth = reference(*cases)
    before = labelled(chosen, truth, submission(*cases))
    after = labelled(chosen, truth, submission(*more))
    assert after.count(FALSE_POSITIVE) == before.count(FALSE_POSITIVE) + 1
    for kind in (HIT, DUPLICATE, IGNORED):
        assert after.count(kind) == before.count(kind)


def test_rule_has_a_docstring_and_only_keyword_parameters_with_defaults():
    for name, rule in RULES.items():
        scene, *parameters = inspect.signature(rule).parameters.values()
        assert scene.name == "scene"
        assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters)
        assert all(one.default is not inspect.Parameter.empty for one in parameters)
        assert "et al." in inspect.getdoc(rule), f"{name} does not name its source"
