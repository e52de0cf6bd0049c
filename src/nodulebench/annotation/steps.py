"""The steps that people take in a project: submit, revise, add, correct and finish."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from nodulebench.annotation.actions import (
    ACTIONS,
    Action,
    AddNodule,
    CheckBatch,
    CorrectOutline,
    Event,
    FinishCase,
    ReviseReading,
    SingleStep,
    SubmitReading,
    at_once,
)
from nodulebench.annotation.batch import Batch, Key
from nodulebench.annotation.people import new_seed
from nodulebench.annotation.permissions import known_batch
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.readings import Reading, readings_of
from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.io.formats import read_submission


def submit_case(handle: ProjectHandle, batch_id: str, reader_id: str, path: Path) -> Event:
    """Submit a reader's file for a whole batch as one event; the last reading starts the check."""
    return submit_readings(handle, batch_id, reader_id, _drawn(handle, batch_id, reader_id, path))


def submit_readings(
    handle: ProjectHandle, batch_id: str, reader_id: str, readings: Sequence[Reading]
) -> Event:
    def steps(batches: Mapping[str, Batch]) -> Action:
        batch = known_batch(batches, batch_id)
        new = [
            reading
            for reading in readings
            if batch.readings.get((reading.case_id, reader_id)) != reading
        ]
        still = set(batch.missing_readings) - {(reading.case_id, reader_id) for reading in new}
        is_last = not still and batch.checks is None and batch.rules.revision == "none"
        taken: list[SingleStep] = [
            SubmitReading(batch_id=batch_id, reading=reading, seed=None if place else new_seed())
            for place, reading in enumerate(new or readings)
        ]
        return at_once(batch_id, [*taken, *([CheckBatch(batch_id=batch_id)] if is_last else [])])

    return handle.act(reader_id, steps)


def revise(handle: ProjectHandle, batch_id: str, reader_id: str, path: Path | None = None) -> Event:
    """Submit a reader's revised file; without a file, the first readings unchanged."""
    batch = handle.batch(batch_id)
    open_cases = [
        case_id
        for case_id, reader in batch.unrevised
        if reader == reader_id and batch.is_unblinded(case_id)
    ]
    if path is None:
        drawn = [batch.readings[case_id, reader_id] for case_id in open_cases]
    else:
        drawn = [
            reading
            for reading in _drawn(handle, batch_id, reader_id, path)
            if reading.case_id in open_cases or reading.findings
        ]
    if not drawn:
        what = f"has no case that '{reader_id}' can revise now."
        raise InputError.at(f"batch '{batch_id}'", what, "See the status of the batch.")
    return revise_readings(handle, batch_id, reader_id, drawn)


def revise_readings(
    handle: ProjectHandle, batch_id: str, reader_id: str, readings: Sequence[Reading]
) -> Event:
    def steps(batches: Mapping[str, Batch]) -> Action:
        batch = known_batch(batches, batch_id)
        still = set(batch.unrevised) - {(reading.case_id, reader_id) for reading in readings}
        taken: list[SingleStep] = [
            ReviseReading(batch_id=batch_id, reading=reading) for reading in readings
        ]
        is_last = not still and batch.checks is None and not batch.missing_readings
        return at_once(batch_id, [*taken, *([CheckBatch(batch_id=batch_id)] if is_last else [])])

    return handle.act(reader_id, steps)


def add_nodules(
    handle: ProjectHandle, batch_id: str, reviewer_id: str, path: Path, *, comment: str = ""
) -> Event:
    """Add the nodules of a reviewer's file, all or none, each with its type."""
    steps = [
        AddNodule(batch_id=batch_id, case_id=reading.case_id, finding=finding, comment=comment)
        for reading in _drawn(handle, batch_id, reviewer_id, path)
        for finding in reading.findings
    ]
    if not steps:
        raise InputError.at(path.name, "holds no nodule to add.")
    return handle.act(reviewer_id, at_once(batch_id, steps))


def correct_outline(
    handle: ProjectHandle, batch_id: str, actor_id: str, key: Key, path: Path, *, comment: str = ""
) -> Event:
    """Replace a candidate's outline by the one nodule of its case in a file; see ``Batch``."""
    case_id, candidate_id = key
    drawn = [
        reading
        for reading in _drawn(handle, batch_id, actor_id, path)
        if reading.case_id == case_id
    ]
    findings = [finding for reading in drawn for finding in reading.findings]
    if len(findings) != 1:
        what = f"holds {len(findings)} nodules in case '{case_id}', not the one to correct."
        raise InputError.at(path.name, what)
    fields = {"batch_id": batch_id, "case_id": case_id, "candidate_id": candidate_id}
    step = CorrectOutline(**fields, slices=findings[0].slices, comment=comment)
    return handle.act(actor_id, step)


def finish_cases(
    handle: ProjectHandle, batch_id: str, reviewer_id: str, case_ids: Iterable[str]
) -> Event:
    steps = [FinishCase(batch_id=batch_id, case_id=case_id) for case_id in case_ids]
    return handle.act(reviewer_id, at_once(batch_id, steps))


def _drawn(handle: ProjectHandle, batch_id: str, person_id: str, path: Path) -> list[Reading]:
    handle.workflow.roster.person(person_id)
    order = handle.batch(batch_id).order
    cases = handle.workflow.cases.filter(pl.col("case_id").is_in(order.case_ids))
    return readings_of(read_submission(path, handle.workflow.cases), cases, person_id)


def step_of(fields: JsonObject) -> Action:
    try:
        return ACTIONS.validate_python(fields)
    except ValidationError as error:
        raise InputError(
            Problem(
                f"{fields['step']} {detail['loc'][-1]}", f"'{detail['input']}': {detail['msg']}."
            )
            for detail in error.errors(include_url=False)
        ) from error
