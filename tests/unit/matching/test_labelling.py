"""What is done before any rule: scope, threshold and cap."""

from dataclasses import replace

import pytest

from builders.tables import case, ignored, labels_of, mark, nodule, protocol, reference, submission
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import Scope
from nodulebench.matching import label_marks, targets


def is_target(scan, **fields):
    return targets(reference(scan), submission(scan), protocol(**fields)).tolist()


TYPED = case(
    "a",
    nodule(8, (0, 0, 0), type="solid"),
    nodule(8, (50, 0, 0), type="calcified"),
    nodule(8, (100, 0, 0)),
    ignored(8, (150, 0, 0)),
)


def test_a_nodule_of_unknown_type_has_to_be_found():
    assert is_target(TYPED) == [True, True, True, False]
    assert is_target(TYPED, scope=Scope(types=("solid",))) == [True, False, True, False]


def test_a_nodule_exactly_of_the_smallest_size_has_to_be_found():
    scan = case("a", nodule(5.9), nodule(6.0, (50, 0, 0)), nodule(6.1, (100, 0, 0)))
    assert is_target(scan, size_limit={"minimum_mm": 6.0}) == [False, True, True]


def test_a_score_at_the_threshold_counts_and_none_counts_too():
    scan = case("a", mark(0.5), mark(0.49, (50, 0, 0)), mark(None, (100, 0, 0)))
    labels = [row[3] for row in labels_of(scan, score_threshold=0.5)]
    assert labels == ["false_positive", "uncounted", "false_positive"]


MARKS = tuple(mark(score, (50.0 * n, 0, 0)) for n, score in enumerate((0.9, 0.7, 0.7, 0.7, 0.3)))


@pytest.mark.parametrize(
    ("cap", "ties", "counted"),
    [
        (5, "drop", [0, 1, 2, 3, 4]),
        (4, "drop", [0, 1, 2, 3]),
        (3, "drop", [0]),
        (1, "drop", [0]),
        (3, "keep", [0, 1, 2, 3]),
        (1, "keep", [0]),
        (3, "file_order", [0, 1, 2]),
        (2, "file_order", [0, 1]),
    ],
)
def test_beyond_the_cap_the_lowest_scores_do_not_count(cap, ties, counted):
    few = case("b", mark(0.1), mark(0.2, (50, 0, 0)))
    rows = labels_of(few, case("a", *MARKS), mark_cap=cap, ties=ties)
    assert [int(row[1][1:]) for row in rows if row[0] == "a" and row[3] != "over_cap"] == counted
    of_few = [int(row[1][1:]) for row in rows if row[0] == "b" and row[3] != "over_cap"]
    assert of_few == ([1] if cap == 1 else [0, 1])


def test_the_cap_counts_what_the_threshold_leaves():
    rows = labels_of(case("a", *MARKS), mark_cap=4, score_threshold=0.5)
    assert [row[3] for row in rows] == ["false_positive"] * 4 + ["uncounted"]


def test_marks_without_a_score_cannot_be_cut_off():
    scan = case("a", mark(None), mark(0.5, (50, 0, 0)))
    chosen = protocol(mark_cap=1)
    with pytest.raises(InputError, match=r"more than 1 marks, and marks without a score\."):
        label_marks(reference(scan), submission(scan), chosen, chosen.rules[0])
    assert len(labels_of(scan, mark_cap=2)) == 2


def test_in_each_crowded_case_the_first_of_the_file_stay():
    rows = labels_of(case("a", *MARKS), case("b", *MARKS), mark_cap=2, ties="file_order")
    counted = [(row[0], row[1]) for row in rows if row[3] != "over_cap"]
    assert counted == [("a", "m0"), ("a", "m1"), ("b", "m0"), ("b", "m1")]


def test_declared_types_narrow_the_scope_where_the_protocol_says_so():
    truth, submitted = reference(TYPED), submission(TYPED)
    declared = replace(submitted, intended_types=("calcified",))
    for position, fields, expected in (
        (declared, {"uses_declaration": True}, [False, True, True, False]),
        (declared, {"uses_declaration": False}, [True, True, True, False]),
        (submitted, {"uses_declaration": True}, [True, True, True, False]),
        (declared, {"uses_declaration": True, "types": ("solid",)}, [False, False, True, False]),
    ):
        assert targets(truth, position, protocol(scope=Scope(**fields))).tolist() == expected
