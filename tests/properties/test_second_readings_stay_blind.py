"""Whoever reads and revises in whatever order: blind until all have read, and nothing is lost."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.annotation import WorkflowDriver, drawn, reading, small_cases, two_teams
from nodulebench.annotation.actions import LIDC, ReviseReading, SubmitReading
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError

READERS, CASES = ("r1", "r2", "r3"), ("a", "b")
MARKS = [drawn(f"f{number}", (number, 10 * number, 50, 6)) for number in (2, 4, 6)]
KINDS = (SubmitReading, ReviseReading)
anything = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from([*READERS, "r4"]),
        st.sampled_from(CASES),
        st.sets(st.sampled_from(range(3))),
    ),
    max_size=8,
)
everything = st.permutations(
    [
        (kind, reader, case, {number})
        for kind in (*KINDS, ReviseReading)
        for number, reader in enumerate(READERS)
        for case in CASES
    ]
)
"""What brings a batch to its end in a good order; second readings are tried twice."""


@pytest.mark.parametrize("revision", ["case", "batch"])
@given(first=anything, then=everything)
@settings(max_examples=15, deadline=None)
def test_no_one_sees_marks_before_all_have_read(revision, first, then) -> None:
    rules = LIDC.model_copy(update={"readers": 3, "revision": revision})
    driver = WorkflowDriver(Workflow(two_teams(), small_cases(*CASES), rules))
    driver.opens(reviewer=None, cases=CASES)
    blind: dict[tuple[str, str], Any] = {}
    revised: dict[tuple[str, str], Any] = {}

    def is_open(case: str) -> bool:
        wanted = [case] if revision == "case" else CASES
        return all(key in blind for key in product(wanted, READERS))

    for step, reader, case, marks in [*first, *then]:
        given_in = reading(reader, case, *(MARKS[number] for number in sorted(marks)))
        key, is_first = (case, reader), step is SubmitReading
        may = reader in READERS and key not in (blind if is_first else revised)
        may = may and (is_first or is_open(case))
        try:
            driver.act(reader, step(batch_id="b1", reading=given_in))
        except InputError:
            assert not may
            continue
        assert may
        (blind if is_first else revised)[key] = given_in
        batch = driver.batch
        for actor in (*READERS, "r4"):
            seen = driver.workflow.seen_of_others(batch, actor)
            assert not {reading.reader_id for reading in seen} & {*READERS}
            assert {reading.reader_id for reading in seen} <= {"A", "B", "C"}
            result = sorted(((reading.case_id, reading.findings) for reading in seen), key=repr)
            is_shown = actor in READERS and batch.state in ("reading", "revision")
            wanted = [
                (of_case, one.findings)
                for (of_case, who), one in blind.items()
                if is_shown and who != actor and is_open(of_case)
            ]
            assert result == sorted(wanted, key=repr)
    assert driver.batch.readings == blind
    assert driver.batch.revised == revised
