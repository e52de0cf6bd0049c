"""A folder of an observer study: its readers, the places that they classify, and their calls.

Each reader's calls are a separate log (``calls/READER/``), whose chain begins with the digest of
the study: a reader opens no other log, and a call is never changed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self, get_args

import polars as pl
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from nodulebench.annotation.people import Name
from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError, Problem, collect_problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import MARKS
from nodulebench.io.csv_files import write_csv
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import bytes_digest, file_digest
from nodulebench.io.table_files import read_table
from nodulebench.security.event_log import EventLog, FolderStore
from nodulebench.security.events import LogEvent, canonical

Call = Literal["nodule", "small_nodule", "non_nodule"]
"""Nodule of at least 3 mm, nodule below 3 mm, false positive."""
CALLS: tuple[Call, ...] = get_args(Call)
SMALLEST_MM = 3.0
Place = tuple[str, str]


class Study(ConfigModel):
    """Who classifies the places of a study, and how these are shown."""

    reader_ids: tuple[Name, ...] = Field(min_length=1)
    """Each classifies every place without knowing the calls of others."""
    seed: int = 0
    patch_mm: float = Field(default=80.0, ge=20, le=400)

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if len(set(self.reader_ids)) < len(self.reader_ids):
            raise ValueError("a reader is named twice")
        return self


class CallEvent(LogEvent):
    """A reader's call of a place."""

    case_id: str
    mark_id: str
    call: Call
    diameter_mm: FiniteFloat | None = None
    seconds: FiniteFloat

    @property
    def place(self) -> Place:
        return self.case_id, self.mark_id


def shuffled(study: Study, reader_id: str, places: Sequence[Place]) -> list[Place]:
    """The places in the order that a reader sees; it depends only on names and the seed."""

    def drawn(place: Place) -> bytes:
        text = "\0".join((str(study.seed), reader_id, *place))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    return sorted(places, key=drawn)


def call_flaw(call: str, diameter_mm: float | None) -> str:
    if call == "nodule" and diameter_mm is None:
        return "is not measured"
    is_small = diameter_mm is not None and diameter_mm < SMALLEST_MM
    if (call == "nodule" and is_small) or (
        call == "small_nodule" and diameter_mm is not None and not is_small
    ):
        return f"measures {diameter_mm:g} mm"
    return ""


def next_call(
    events: Sequence[CallEvent],
    root: str,
    reader_id: str,
    place: Place,
    call: Call,
    diameter_mm: float | None,
    seconds: float,
) -> CallEvent:
    """The event that follows a reader's calls so far, of which none is of the same place."""
    where = f"case '{place[0]}' mark '{place[1]}'"
    flaw = call_flaw(call, diameter_mm)
    if flaw:
        remedy = f"A nodule measures at least {SMALLEST_MM:g} mm, a small nodule less."
        raise InputError.at(where, f"is called '{call}' and {flaw}.", remedy)
    if any(event.place == place for event in events):
        raise InputError.at(where, f"was called by '{reader_id}' before.", "A call is final.")
    return CallEvent(
        number=len(events) + 1,
        at=datetime.now(UTC),
        person=reader_id,
        previous=events[-1].digest if events else root,
        case_id=place[0],
        mark_id=place[1],
        call=call,
        diameter_mm=diameter_mm,
        seconds=round(seconds, 1),
    )


_PLACE = tuple(column for column in MARKS.columns if column.name in ("x_mm", "y_mm", "z_mm"))
_CALL = (
    Column("reader_id", pl.String, "the reader"),
    Column("call", pl.String, "what the reader called it", allowed=CALLS),
    Column("diameter_mm", pl.Float64, "as measured", "mm", is_required=False, minimum=0),
)
_MARK = (Column("case_id", pl.String, "the CT series"), Column("mark_id", pl.String, "the mark"))

SUSPECTS = TableSchema(
    "SUSPECTS",
    "One row per false positive that is to be read.",
    (*_MARK, *_PLACE, Column("score", pl.Float64, "the algorithm's score")),
    key=("case_id", "mark_id"),
)
PRESCREEN = TableSchema(
    "PRESCREEN",
    "One row per false positive that a scientist checked.",
    (*_MARK, Column("is_obvious", pl.Boolean, "whether it is obviously not a nodule")),
    key=("case_id", "mark_id"),
)
READER_CALLS = TableSchema(
    "READER_CALLS",
    "One row per false positive and reader: what the reader called it.",
    (*_MARK, *_CALL),
    key=("case_id", "mark_id", "reader_id"),
)
EARLIER_CALLS = TableSchema(
    "EARLIER_CALLS",
    "One row per place and reader of an earlier study.",
    (Column("case_id", pl.String, "the CT series"), *_PLACE, *_CALL),
    key=("case_id", "x_mm", "y_mm", "z_mm", "reader_id"),
)


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

    def places(self, reader_id: str) -> list[Place]:
        if reader_id not in self.study.reader_ids:
            names = ", ".join(self.study.reader_ids)
            raise InputError.at(f"reader '{reader_id}'", "has no part in it.", f"Readers: {names}.")
        return shuffled(self.study, reader_id, self.suspects.select("case_id", "mark_id").rows())

    def middle_mm(self, place: Place) -> tuple[float, float, float]:
        (row,) = self.suspects.filter(case_id=place[0], mark_id=place[1]).iter_rows(named=True)
        return row["x_mm"], row["y_mm"], row["z_mm"]

    def log(self, reader_id: str) -> EventLog[CallEvent]:
        files = {name: file_digest(self.folder / name) for name in (STUDY, TO_READ)}
        root = bytes_digest(canonical({**files, "reader": reader_id}))
        store = FolderStore(self.folder / LOGS / reader_id)
        return EventLog(store, root, "the study", CallEvent, headed_from=1)

    def calls(self, reader_id: str) -> dict[Place, CallEvent]:
        return {event.place: event for event in self.log(reader_id).read()}

    def call(
        self,
        reader_id: str,
        place: Place,
        call: Call,
        diameter_mm: float | None = None,
        seconds: float = 0.0,
    ) -> CallEvent:
        if place not in self.places(reader_id):
            where = f"case '{place[0]}' mark '{place[1]}'"
            raise InputError.at(where, "is not among the places of the study.")
        log = self.log(reader_id)
        return log.append(
            lambda events: next_call(events, log.root, reader_id, place, call, diameter_mm, seconds)
        )


def begin_study(
    folder: Path, reader_ids: Sequence[str], *, seed: int = 0, patch_mm: float = 80.0
) -> OpenStudy:
    if not (folder / TO_READ).is_file():
        what = "holds no places to classify."
        raise InputError.at(folder, what, "Select them from an algorithm's false positives first.")
    if (folder / STUDY).exists():
        raise InputError.at(
            folder / STUDY, "already exists.", "The readers of a study cannot be changed."
        )
    if not read_table(folder / TO_READ, SUSPECTS).height:
        raise InputError.at(folder / TO_READ, "holds no place to classify.")
    fields = {"reader_ids": tuple(reader_ids), "seed": seed, "patch_mm": patch_mm}
    study = checked(Study, fields, "study")
    write_json(study.model_dump(mode="json"), folder / STUDY)
    return open_study(folder)


def open_study(folder: Path) -> OpenStudy:
    if not (folder / STUDY).is_file():
        what = "is not a study that was opened for readers."
        raise InputError.at(folder, what, "Open it for its readers first.")
    try:
        study = Study.model_validate(read_json(folder / STUDY))
    except ValidationError as error:
        raise InputError.at(folder / STUDY, "is damaged.") from error
    return OpenStudy(folder, study, read_table(folder / TO_READ, SUSPECTS))


def export_places(study: OpenStudy, reader_id: str, path: Path) -> int:
    if path.exists():
        raise InputError.at(path, "already exists.", "Submit it, or remove it.")
    done = study.calls(reader_id)
    left = [place for place in study.places(reader_id) if place not in done]
    rows = [(*place, *study.middle_mm(place), None, None) for place in left]
    names = ("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "call", "diameter_mm")
    if rows:
        write_csv(pl.DataFrame(rows, schema=names, orient="row"), path)
    return len(rows)


def import_calls(study: OpenStudy, reader_id: str, path: Path) -> int:
    """Submit a table that a reader filled in, all or nothing; returns how many calls are new.

    Rows without a call stay open. A call that is stored already is skipped, so that repeating an
    interrupted command completes it.
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
            problems.append(Problem(where, "is not among the places of the study."))
            continue
        with collect_problems(problems):
            next_call(events, log.root, reader_id, place, *stated, 0.0)
        new.append((place, *stated))
    raise_problems(problems)
    for call in new:
        study.call(reader_id, *call)
    return len(new)


def calls_table(study: OpenStudy) -> pl.DataFrame:
    rows = [
        (*call.place, reader_id, call.call, call.diameter_mm)
        for reader_id in study.study.reader_ids
        for call in study.calls(reader_id).values()
    ]
    return pl.DataFrame(rows, schema=READER_CALLS.empty().schema, orient="row")


def status_of(study: OpenStudy) -> JsonObject:
    logs = {}
    for reader_id in study.study.reader_ids:
        events = study.log(reader_id).read()
        digest = events[-1].digest if events else None
        logs[reader_id] = {"calls": len(events), "digest": digest}
    return {**study.study.model_dump(mode="json"), "logs": logs}
