"""An annotation project -> how its readers agree, with each other, themselves and over time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.annotation.annotate_reader_agreement import reader_agreement
from nodulebench.annotation.project import Desk
from nodulebench.annotation.reader_agreement import ReadingComparison, or_reason
from nodulebench.annotation.readings.consistency import CaseCheck, check_consistency
from nodulebench.annotation.readings.quality import (
    drift,
    group_agreement,
    pairwise_agreement,
    repeat_agreement,
    skills,
)
from nodulebench.annotation.readings.reading import Reading
from nodulebench.annotation.readings.repeats import repeated_readings
from nodulebench.annotation.workflow.record import Step, steps_of
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.io.json_files import write_json


def reader_quality(desk: Desk, *, periods: int = 4) -> dict[str, Any]:
    """Agreement over all batches whose readings have been checked.

    Cases that were shown twice count once, by their first reading, except in ``repeats``.

    Args:
        desk: the project.
        periods: into how many parts, of equally many cases, a reader's time is divided.
    """
    events = desk.log.read()
    steps = [step for event in events for step in steps_of(event)]
    batches = [one for one in desk.workflow.batches(events).values() if one.checks is not None]
    repeats = desk.repeats
    checks = [
        check
        for one in batches
        for case_id, check in (one.checks or {}).items()
        if case_id not in repeats
    ]
    readings = [reading for one in batches for reading in one.blind]
    return {
        "cases": len(checks),
        "group": or_reason(lambda: asdict(group_agreement(checks))),
        "pairs": [asdict(one) for one in pairwise_agreement(checks)],
        "readers": [
            asdict(one)
            | {
                "sensitivity": one.sensitivity,
                "lone_per_case": one.lone_per_case,
                "drift": _drift(one.reader_id, checks, steps, periods),
            }
            for one in skills(checks)
        ],
        "repeats": [
            asdict(repeat_agreement(pairs, desk.workflow.rules.consistency))
            | _with_itself(reader_id, pairs, desk)
            | {"least_between": _least_between(reader_id, pairs, repeats, steps)}
            for reader_id, pairs in repeated_readings(readings, repeats).items()
        ],
    }


def _with_itself(
    reader_id: str, pairs: Sequence[tuple[Reading, Reading]], desk: Desk
) -> dict[str, Any]:
    """How far a reader agrees with the own repeats on types and diameters, as two readers would."""
    again = f"{reader_id} again"
    drawn = [(first, second.model_copy(update={"reader_id": again})) for first, second in pairs]
    rule = desk.workflow.rules.consistency
    both = ReadingComparison(
        desk.workflow.cases,
        [one for pair in drawn for one in pair],
        [check_consistency(list(pair), rule) for pair in drawn],
        [],
    )
    try:
        found = reader_agreement(both)
    except UndefinedError as error:
        return {"figures": [], "limits": [], "reason": reason_of(error).to_json()}
    return {"figures": found.rows, "limits": found.limits.to_dicts()}


def _least_between(
    reader_id: str,
    pairs: Sequence[tuple[Reading, Reading]],
    repeats: Mapping[str, str],
    steps: Sequence[Step],
) -> int:
    """The fewest cases that the reader handed in between a case and its repeat."""
    read = [one.case_id for one in steps if one.step == "read" and one.actor_id == reader_id]
    shown_as = {case_id: name for name, case_id in repeats.items()}
    return min(
        abs(read.index(shown_as[first.case_id]) - read.index(first.case_id)) - 1
        for first, _ in pairs
    )


def write_quality(found: dict[str, Any], path: Path) -> None:
    """Write the numbers as JSON."""
    write_json(found, path)


def _drift(
    reader_id: str, checks: Sequence[CaseCheck], steps: Sequence[Step], periods: int
) -> Mapping[str, Any]:
    by_case = {check.case_id: check for check in checks if reader_id in check.reader_ids}
    in_order = [
        by_case[one.case_id]
        for one in steps
        if one.step == "read" and one.actor_id == reader_id and one.case_id in by_case
    ]
    parts = np.array_split(np.arange(len(in_order)), min(periods, len(in_order)))
    grouped = [[in_order[place] for place in part] for part in parts]
    return or_reason(lambda: asdict(drift(grouped, reader_id)))
