"""The quality of the readers of a project: against the others, with themselves, and over time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from nodulebench.annotation.actions import EventStep, steps_of
from nodulebench.annotation.consistency import CaseCheck, ConsistencyRule, check_consistency
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.reader_agreement import (
    PairAgreement,
    ReadingComparison,
    agreement_or_none,
    group_agreement,
    or_reason,
    pairwise_agreement,
    reader_agreement,
    skills,
)
from nodulebench.annotation.readings import Reading
from nodulebench.annotation.repeats import repeated_readings
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import reason_of
from nodulebench.io.json_files import write_json

_RULE = ConsistencyRule()


def repeat_agreement(
    pairs: Iterable[tuple[Reading, Reading]], rule: ConsistencyRule = _RULE
) -> PairAgreement:
    both = first_only = second_only = cases = 0
    reader = ""
    for first, second in pairs:
        if (first.case_id, first.reader_id) != (second.case_id, second.reader_id) or (
            reader and first.reader_id != reader
        ):
            what = f"does not repeat the reading of '{first.reader_id}' of case '{first.case_id}'."
            raise InputError.at(f"reader '{second.reader_id}' case '{second.case_id}'", what)
        reader, cases = first.reader_id, cases + 1
        named = [
            reading.model_copy(update={"reader_id": name})
            for reading, name in ((first, "first"), (second, "second"))
        ]
        for candidate in check_consistency(named, rule).candidates:
            both += len(candidate.reader_ids) == 2
            first_only += candidate.reader_ids == ("first",)
            second_only += candidate.reader_ids == ("second",)
    agreement = agreement_or_none(both, first_only, second_only)
    return PairAgreement(reader, f"{reader} again", cases, both, first_only, second_only, agreement)


@dataclass(frozen=True, slots=True)
class Drift:
    """A reader's sensitivity relative to the others, period by period."""

    reader_id: str
    backed: tuple[int, ...]
    found: tuple[int, ...]
    z: float
    """Statistic of the Cochran-Armitage test for a trend; negative: fewer found over time."""
    p_value: float


def drift(periods: Sequence[Sequence[CaseCheck]], reader_id: str) -> Drift:
    """Whether a reader finds fewer, or more, of what the others find, over time.

    ``periods`` holds groups of cases in the order they were read. UndefinedError if a trend cannot
    be tested: nothing or everything was found, or all within one period.
    """
    each = [skill for period in periods for skill in skills(period) if skill.reader_id == reader_id]
    backed, found_counts = (
        np.array([getattr(skill, name) for skill in each]) for name in ("backed", "found")
    )
    total, hits = int(backed.sum()), int(found_counts.sum())
    if not 0 < hits < total or np.count_nonzero(backed) < 2:
        raise UndefinedError("no_trend")
    share = hits / total
    time = np.arange(len(backed))
    score = float(time @ (found_counts - backed * share))
    spread = float(backed @ time**2 - (backed @ time) ** 2 / total)
    z = score / math.sqrt(share * (1 - share) * spread)
    p_value = 2 * NormalDist().cdf(-abs(z))
    return Drift(reader_id, tuple(backed.tolist()), tuple(found_counts.tolist()), z, p_value)


def reader_quality(handle: ProjectHandle, *, periods: int = 4) -> JsonObject:
    """Agreement over all checked batches; cases shown twice count once, by their first reading.

    A reader's time is divided into ``periods`` parts of equally many cases.
    """
    events = handle.log.read()
    steps = [step for event in events for step in steps_of(event)]
    batches = [
        batch for batch in handle.workflow.batches(events).values() if batch.checks is not None
    ]
    repeats = handle.repeats
    checks = [
        check
        for batch in batches
        for case_id, check in (batch.checks or {}).items()
        if case_id not in repeats
    ]
    readings = [reading for batch in batches for reading in batch.blind]
    return {
        "cases": len(checks),
        "group": or_reason(lambda: asdict(group_agreement(checks))),
        "pairs": [asdict(pair) for pair in pairwise_agreement(checks)],
        "readers": [
            skill.to_json() | {"drift": _drift(skill.reader_id, checks, steps, periods)}
            for skill in skills(checks)
        ],
        "repeats": [
            asdict(repeat_agreement(pairs, handle.workflow.rules.consistency))
            | _with_itself(reader_id, pairs, handle)
            | {"least_between": _least_between(reader_id, pairs, repeats, steps)}
            for reader_id, pairs in repeated_readings(readings, repeats).items()
        ],
    }


def _with_itself(
    reader_id: str, pairs: Sequence[tuple[Reading, Reading]], handle: ProjectHandle
) -> JsonObject:
    """How far a reader agrees with their repeats on types and diameters, as if two readers."""
    again = f"{reader_id} again"
    drawn = [(first, second.model_copy(update={"reader_id": again})) for first, second in pairs]
    rule = handle.workflow.rules.consistency
    both = ReadingComparison(
        handle.workflow.cases,
        [reading for pair in drawn for reading in pair],
        [check_consistency(list(pair), rule) for pair in drawn],
        [],
    )
    try:
        agreement = reader_agreement(both)
    except UndefinedError as error:
        return {"metrics": [], "limits": [], "reason": reason_of(error).to_json()}
    return {"metrics": agreement.rows, "limits": agreement.limits.to_dicts()}


def _least_between(
    reader_id: str,
    pairs: Sequence[tuple[Reading, Reading]],
    repeats: Mapping[str, str],
    steps: Sequence[EventStep],
) -> int:
    """The fewest cases that the reader submitted between a case and its repeat."""
    read = [step.case_id for step in steps if step.step == "read" and step.actor_id == reader_id]
    shown_as = {case_id: name for name, case_id in repeats.items()}
    return min(
        abs(read.index(shown_as[first.case_id]) - read.index(first.case_id)) - 1
        for first, _ in pairs
    )


def write_quality(quality: JsonObject, path: Path) -> None:
    write_json(quality, path)


def _drift(
    reader_id: str, checks: Sequence[CaseCheck], steps: Sequence[EventStep], periods: int
) -> JsonObject:
    by_case = {check.case_id: check for check in checks if reader_id in check.reader_ids}
    in_order = [
        by_case[step.case_id]
        for step in steps
        if step.step == "read" and step.actor_id == reader_id and step.case_id in by_case
    ]
    parts = np.array_split(np.arange(len(in_order)), min(periods, len(in_order)))
    grouped = [[in_order[place] for place in part] for part in parts]
    return or_reason(lambda: asdict(drift(grouped, reader_id)))
