"""A folder of an observer study: its readers, the places that they judge, and their calls.

Everybody's calls are a log of their own (``calls/READER/``), which follows from the study: who
judges opens no other, and a call that was written is never changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from nodulebench.annotation.observer_study.calls import (
    CALLS,
    Call,
    CallEvent,
    Place,
    Study,
    next_call,
    parse_call_event,
    shuffled,
)
from nodulebench.annotation.observer_study.selection import READER_CALLS, SUSPECTS
from nodulebench.core.config_model import checked
from nodulebench.core.errors import InputError, Problem, collect_problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.schema import Column, TableSchema
from nodulebench.io.csv_files import write_csv
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import bytes_digest, file_digest
from nodulebench.io.table_files import read_table
from nodulebench.security.event_log.events import canonical
from nodulebench.security.event_log.log import EventLog
from nodulebench.security.event_log.store import FolderStore

STUDY, TO_READ, LOGS = "study.json", "to_read.csv", "calls"
ANSWERS = TableSchema(
    "ANSWERS",
    "One row per place, with what a reader calls it.",
    (
        *(column for column in SUSPECTS.columns if column.name in ("case_id", "mark_id")),
        Column("call", pl.String, "what it is called", is_required=False, allowed=CALLS),
        *(column for column in READER_CALLS.columns if column.name == "diameter_mm"),
    ),
    key=("case_id", "mark_id"),
    is_open=True,
)


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study that readers work on."""

    folder: Path
    study: Study
    suspects: pl.DataFrame
    """SUSPECTS that each reader judges."""

    def places(self, reader_id: str) -> list[Place]:
        """What a reader judges, in their own order.

        Raises:
            InputError: if they are none of the readers.
        """
        if reader_id not in self.study.reader_ids:
            names = ", ".join(self.study.reader_ids)
            raise InputError.at(f"reader '{reader_id}'", "has no part in it.", f"Readers: {names}.")
        return shuffled(self.study, reader_id, self.suspects.select("case_id", "mark_id").rows())

    def middle_mm(self, place: Place) -> tuple[float, float, float]:
        """Where a place is."""
        (row,) = self.suspects.filter(case_id=place[0], mark_id=place[1]).iter_rows(named=True)
        return row["x_mm"], row["y_mm"], row["z_mm"]

    def log(self, reader_id: str) -> EventLog[CallEvent]:
        """What a reader called places."""
        files = {name: file_digest(self.folder / name) for name in (STUDY, TO_READ)}
        root = bytes_digest(canonical({**files, "reader": reader_id}))
        store = FolderStore(self.folder / LOGS / reader_id)
        return EventLog(store, root, "the study", parse_call_event, headed_from=1)

    def calls(self, reader_id: str) -> dict[Place, CallEvent]:
        """What a reader has called so far.

        Raises:
            InputError: if something of it was changed or cut off.
        """
        return {event.place: event for event in self.log(reader_id).read()}

    def call(
        self,
        reader_id: str,
        place: Place,
        call: Call,
        diameter_mm: float | None = None,
        seconds: float = 0.0,
    ) -> CallEvent:
        """Keep what a reader calls a place.

        Raises:
            InputError: if they may not, or have judged it before; nothing is kept.
        """
        if place not in self.places(reader_id):
            where = f"case '{place[0]}' mark '{place[1]}'"
            raise InputError.at(where, "is not among the places to judge.")
        log = self.log(reader_id)
        return log.append(
            lambda events: next_call(events, log.root, reader_id, place, call, diameter_mm, seconds)
        )


def begin_study(
    folder: Path, reader_ids: Sequence[str], *, seed: int = 0, patch_mm: float = 80.0
) -> OpenStudy:
    """Give the places that were selected to readers.

    Raises:
        InputError: if there is nothing to judge, a name cannot be, or it was done before.
    """
    if not (folder / TO_READ).is_file():
        what = "holds no places to judge."
        raise InputError.at(folder, what, "Choose them with 'annotate observer select'.")
    if (folder / STUDY).exists():
        raise InputError.at(folder / STUDY, "is there already.", "A study has its readers once.")
    if not read_table(folder / TO_READ, SUSPECTS).height:
        raise InputError.at(folder / TO_READ, "holds no place to judge.")
    fields = {"reader_ids": tuple(reader_ids), "seed": seed, "patch_mm": patch_mm}
    study = checked(Study, fields, "study")
    write_json(study.model_dump(mode="json"), folder / STUDY)
    return open_study(folder)


def open_study(folder: Path) -> OpenStudy:
    """The study of a folder.

    Raises:
        InputError: if readers have not got it yet, or it is damaged.
    """
    if not (folder / STUDY).is_file():
        what = "is no study that readers have got."
        raise InputError.at(folder, what, "Give it to them with 'annotate observer open'.")
    try:
        study = Study.model_validate(read_json(folder / STUDY))
    except ValidationError as error:
        raise InputError.at(folder / STUDY, "is damaged.") from error
    return OpenStudy(folder, study, read_table(folder / TO_READ, SUSPECTS))


def add_to_queue(study: OpenStudy, reader_id: str, path: Path) -> int:
    """Write what a reader has not judged yet as CSV, in their order; how many there are.

    Raises:
        InputError: if they have no part in it, or the file is there already.
    """
    if path.exists():
        raise InputError.at(path, "is there already.", "Hand it in with 'answer', or remove it.")
    done = study.calls(reader_id)
    left = [place for place in study.places(reader_id) if place not in done]
    rows = [(*place, *study.middle_mm(place), None, None) for place in left]
    names = ("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "call", "diameter_mm")
    if rows:
        write_csv(pl.DataFrame(rows, schema=names, orient="row"), path)
    return len(rows)


def answer(study: OpenStudy, reader_id: str, path: Path) -> int:
    """Hand in a table that a reader filled in, place by place; how many calls are new.

    Rows without a call stay open, and a call that stands already is passed over, so that a command
    that was stopped is completed by the same once more.

    Raises:
        InputError: with every row that cannot be; nothing is kept.
    """
    log, places = study.log(reader_id), set(study.places(reader_id))
    events = log.read()
    known = {event.place: (event.call, event.diameter_mm) for event in events}
    new: list[tuple[Place, Call, float | None]] = []
    problems: list[Problem] = []
    for row in read_table(path, ANSWERS).iter_rows(named=True):
        place, stated = (row["case_id"], row["mark_id"]), (row["call"], row["diameter_mm"])
        if row["call"] is None or known.get(place) == stated:
            continue
        if place not in places:
            where = f"{path.name} case '{place[0]}' mark '{place[1]}'"
            problems.append(Problem(where, "is not among the places to judge."))
            continue
        with collect_problems(problems):
            next_call(events, log.root, reader_id, place, *stated, 0.0)
        new.append((place, *stated))
    raise_problems(problems)
    for call in new:
        study.call(reader_id, *call)
    return len(new)


def calls_table(study: OpenStudy) -> pl.DataFrame:
    """What all readers called all places so far, as READER_CALLS."""
    rows = [
        (*call.place, reader_id, call.call, call.diameter_mm)
        for reader_id in study.study.reader_ids
        for call in study.calls(reader_id).values()
    ]
    return pl.DataFrame(rows, schema=READER_CALLS.empty().schema, orient="row")


def status_of(study: OpenStudy) -> JsonObject:
    """Who judged how many places, and the digests of the logs that say what and when."""
    logs = {}
    for reader_id in study.study.reader_ids:
        events = study.log(reader_id).read()
        digest = events[-1].digest if events else None
        logs[reader_id] = {"calls": len(events), "digest": digest}
    return {**study.study.model_dump(mode="json"), "logs": logs}
