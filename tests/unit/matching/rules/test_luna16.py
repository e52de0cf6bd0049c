"""The rule of LUNA16's program: how near is a hit, what two nodules share, what is ignored."""

import pytest

from builders.tables import (
    case,
    ignored,
    labels_of,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from nodulebench.matching import label_marks


def at(x):
    return (float(x), 0.0, 0.0)


def labels(*content):
    return [(row[1], row[2], row[3]) for row in labels_of(case("a", *content), rule="luna16")]


def test_half_of_the_diameter_is_the_reach():
    assert labels(nodule(10), mark(0.5, at(4.99))) == [("m0", "n0", "hit")]
    assert labels(nodule(10), mark(0.5, at(5))) == [("m0", None, "false_positive")]


@pytest.mark.parametrize(("places", "count"), [((0,), None), ((0, 4), 1), ((0, 4, 6), 1)])
def test_marks_inside_of_two_nodules_are_counted(places, count):
    scan = case("a", *(nodule(10, at(x)) for x in places), mark(0.5, at(3)))
    chosen = protocol("luna16")
    labelled = label_marks(reference(scan), submission(scan), chosen, chosen.rules[0])
    assert [note.values for note in labelled.notices] == ([{"count": count}] if count else [])


def test_a_mark_on_a_nodule_and_on_an_ignored_finding_is_only_a_hit():
    here = (nodule(10), ignored(10, at(4)), mark(0.5, at(2)), mark(0.4, at(8)), mark(0.3, at(30)))
    assert labels(*here) == [
        ("m0", "n0", "hit"),
        ("m1", "n1", "ignored"),
        ("m2", None, "false_positive"),
    ]


def test_unmeasured_findings_are_ten_millimetres_wide():
    here = (ignored(None), mark(0.5, at(4.9)), mark(0.4, at(5)))
    assert [row[2] for row in labels(*here)] == ["ignored", "false_positive"]
