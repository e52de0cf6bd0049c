from dataclasses import replace

import polars as pl
import pytest

from builders.tables import (
    Slice,
    case,
    ignored,
    labels_of,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from nodulebench.core.cohort import FALSE_POSITIVE
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.matching import label_marks


def at(x):
    return (float(x), 0.0, 0.0)


def box(x, side=6):
    return Slice(0, x, 0, side, side)


def labels(*content, **fields):
    rows = labels_of(case("a", *content), rule="center_distance", **fields)
    return [(row[2], row[3]) for row in rows]


def boxed_nodule(x, **more):
    return nodule(6, at(x), box(x), **more)


def boxed_mark(x, score=0.5):
    return mark(score, at(x), box(x))


def test_second_mark_on_a_nodule_is_a_false_positive_as_published():
    assert labels(boxed_nodule(0), boxed_mark(0), boxed_mark(1)) == [
        ("n0", "hit"),
        ("n0", "false_positive"),
    ]


def test_second_mark_on_a_nodule_is_a_duplicate_where_duplicates_are_ignored():
    content = (boxed_nodule(0), boxed_mark(0), boxed_mark(1))
    assert labels(*content, duplicates="ignore") == [("n0", "hit"), ("n0", "duplicate")]
    assert labels(*content, parameters={"duplicates": "ignore"}) == [
        ("n0", "hit"),
        ("n0", "duplicate"),
    ]


def test_second_mark_hits_the_next_nodule_it_qualifies_for():
    assert labels(boxed_nodule(0), boxed_nodule(2), boxed_mark(0), boxed_mark(1)) == [
        ("n0", "hit"),
        ("n1", "hit"),
    ]


def test_shared_mark_goes_to_the_first_nodule_in_the_reference():
    assert labels(boxed_nodule(2), boxed_nodule(0), boxed_mark(0.5)) == [("n0", "hit")]


def test_assignment_of_the_protocol_reaches_the_rule():
    # n0 prefers m0, which is the only mark for n1
    content = (boxed_nodule(0), boxed_nodule(3), boxed_mark(0.5), boxed_mark(-1))
    assert labels(*content) == [("n0", "hit"), ("n0", "false_positive")]
    assert labels(*content, assignment="optimal") == [("n1", "hit"), ("n0", "hit")]


def test_mark_left_over_on_an_ignored_finding_is_ignored():
    assert labels(ignored(6, at(0), box(0)), boxed_mark(1)) == [("n0", "ignored")]


def test_nodule_that_has_to_be_found_comes_before_an_ignored_finding():
    assert labels(ignored(6, at(0), box(0)), boxed_nodule(1), boxed_mark(0)) == [("n1", "hit")]


def test_second_mark_on_a_nodule_and_an_ignored_finding_is_never_a_false_positive():
    content = (boxed_nodule(0), ignored(6, at(2), box(2)), boxed_mark(0), boxed_mark(1))
    assert labels(*content)[1] == ("n1", "ignored")
    assert labels(*content, duplicates="ignore")[1] == ("n0", "duplicate")


def test_finding_out_of_scope_is_neither_missed_nor_false():
    here = boxed_nodule(0, type="pleural")
    assert labels(here, boxed_mark(0), scope={"types": ("solid",)}) == [("n0", "ignored")]
    assert labels(here, boxed_mark(0), scope={"types": ("solid", "pleural")}) == [("n0", "hit")]


def test_second_mark_belongs_to_the_nodule_it_fits_best():
    content = (boxed_nodule(0), boxed_nodule(4), boxed_mark(0), boxed_mark(4), boxed_mark(2.5))
    assert labels(*content, duplicates="ignore")[2] == ("n1", "duplicate")


def test_whole_numbers_as_ids_are_ordered_by_value():
    here = case("a", boxed_nodule(0), boxed_mark(1), boxed_mark(1))
    truth, submitted, chosen = reference(here), submission(here), protocol("center_distance")
    submitted = type(submitted)(
        "s",
        submitted.marks.with_columns(
            mark_id=submitted.marks["mark_id"].replace({"m0": "10", "m1": "9"})
        ),
        submitted.slices.with_columns(
            mark_id=submitted.slices["mark_id"].replace({"m0": "10", "m1": "9"})
        ),
    )
    table = label_marks(truth, submitted, chosen, chosen.rules[0]).table("a", "r", submitted, truth)
    assert dict(table.select("mark_id", "label").rows()) == {"9": "hit", "10": "false_positive"}


def test_luna16_counts_a_second_mark_on_two_nodules_as_one_false_positive():
    here = case(
        "a",
        nodule(10, at(0)),
        nodule(10, at(4)),
        mark(0.9, at(-1)),
        mark(0.8, at(5)),
        mark(0.7, at(2)),
    )
    chosen = protocol("luna16", duplicates="false_positive")
    labelled = label_marks(reference(here), submission(here), chosen, chosen.rules[0])
    assert labelled.count(FALSE_POSITIVE) == 1


def test_unknown_parameters_and_values_are_reported_at_once():
    with pytest.raises(InputError) as caught:
        labels(boxed_nodule(0), parameters={"assignment": "hungarian", "radius": 3})
    assert str(caught.value).splitlines() == [
        "protocol 'test' rule 'center_distance': cannot take assignment = 'hungarian': "
        "Input should be 'greedy' or 'optimal'.",
        "protocol 'test' rule 'center_distance': has no parameter 'radius'. Did you mean "
        "'radius_mm'? Its parameters: assignment, duplicates, radius_factor, radius_mm, space.",
    ]


def test_unknown_rule_suggests_a_near_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'center_hit'"):
        labels_of(case("a"), rule="centre_hit")


@pytest.mark.parametrize(
    ("ids", "winner"),
    [(("x", "10"), "10"), (("10", "9"), "9"), (("b", "a"), "a"), (("2", "a"), "2")],
)
def test_equal_marks_count_by_their_ids_numbers_before_text(ids, winner):
    scan = case("a", nodule(10), mark(0.5), mark(0.5))
    truth, submitted, chosen = reference(scan), submission(scan), protocol("luna16_clean")
    submitted = replace(submitted, marks=submitted.marks.with_columns(mark_id=pl.Series(ids)))
    table = label_marks(truth, submitted, chosen, chosen.rules[0]).table("a", "r", submitted, truth)
    assert table.filter(pl.col("label") == "hit")["mark_id"].to_list() == [winner]
