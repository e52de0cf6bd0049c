"""What must not change the labels, and what can only change them one way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.scenes import marks, scenes
from builders.tables import Case, Mark, Nodule, labels_of

RULES = ("luna16_clean", "center_hit", "center_distance", "area_overlap")


def shifted(item: Nodule | Mark, by: tuple[int, int, int]) -> Nodule | Mark:
    x, y, z = (place + step for place, step in zip(item.at, by, strict=True))
    boxes = tuple(
        replace(box, index=box.index + by[2], x=box.x + by[0], y=box.y + by[1])
        for box in item.slices
    )
    return replace(item, at=(x, y, z), slices=boxes)


def every(change, case_: Case) -> Case:
    return replace(
        case_, nodules=tuple(map(change, case_.nodules)), marks=tuple(map(change, case_.marks))
    )


def hits_by_case(*cases: Case, **choices) -> np.ndarray:
    result = [row[0] for row in labels_of(*cases, **choices) if row[3] == "hit"]
    return np.array([result.count(case.name) for case in cases])


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10, deadline=None)
@given(cases=scenes(), by=st.tuples(st.integers(-300, 300), st.integers(-9, 9), st.integers(0, 9)))
def test_shifting_everything_changes_nothing(rule, cases, by):
    moved = [every(lambda item: shifted(item, by), case) for case in cases]
    assert labels_of(*moved, rule=rule) == labels_of(*cases, rule=rule)


@pytest.mark.parametrize("rule", ["center_distance", "area_overlap"])
@settings(max_examples=10, deadline=None)
@given(cases=scenes(), factor=st.sampled_from((0.1, 0.3, 3.0)))
def test_scaling_the_plane_changes_nothing_for_rules_within_the_plane(rule, cases, factor):
    def scaled(item):
        boxes = tuple(
            replace(
                box,
                x=box.x * factor,
                y=box.y * factor,
                length=box.length * factor,
                width=box.width * factor,
            )
            for box in item.slices
        )
        return replace(item, slices=boxes)

    larger = [every(scaled, case) for case in cases]
    assert labels_of(*larger, rule=rule) == labels_of(*cases, rule=rule)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("assignment", ["greedy", "optimal"])
@settings(max_examples=10, deadline=None)
@given(cases=scenes(), extra=marks())
def test_extra_mark_adds_a_hit_at_most_and_under_the_optimum_takes_none(
    rule, assignment, cases, extra
):
    more = [replace(case, marks=(*case.marks, extra)) for case in cases]
    before, after = (
        hits_by_case(*content, rule=rule, assignment=assignment) for content in (cases, more)
    )
    assert np.all(after <= before + 1)
    if assignment == "optimal":
        assert np.all(after >= before)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10, deadline=None)
@given(cases=scenes())
def test_optimum_hits_at_least_as_many_nodules_as_any_order(rule, cases):
    backwards = [replace(case, nodules=case.nodules[::-1]) for case in cases]
    best = hits_by_case(*cases, rule=rule, assignment="optimal")
    for content in (cases, backwards):
        assert np.all(hits_by_case(*content, rule=rule, assignment="greedy") <= best)
    assert np.all(hits_by_case(*backwards, rule=rule, assignment="optimal") == best)


@pytest.mark.parametrize(
    ("rule", "parameter", "values"),
    [
        ("area_overlap", "threshold", (0.0, 0.2, 0.5, 0.8)),
        ("center_distance", "radius_factor", (2.0, 1.0, 0.7, 0.3)),
        ("luna16_clean", "radius_factor", (2.0, 1.0, 0.7, 0.3)),
    ],
)
@settings(max_examples=8, deadline=None)
@given(cases=scenes())
def test_stricter_threshold_never_finds_more_nodules(rule, parameter, values, cases):
    hits = [
        hits_by_case(*cases, rule=rule, assignment="optimal", parameters={parameter: value})
        for value in values
    ]
    assert np.all(np.diff(hits, axis=0) <= 0)
