"""Journal of a run, one line per case, so that a killed run can continue.

The first line identifies the run; of several lines of a case the last one counts.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice, read_notice
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import MARK_SLICES, MARKS
from nodulebench.io.atomic import locked
from nodulebench.runner.slot import CaseRun

JOURNAL = "journal.jsonl"


@dataclass
class RunJournal:
    """The outcomes in a folder, and the file to append to."""

    secret: bytes
    """Secret for pseudonyms and order of the cases; the same for all starts of a run."""
    known: dict[str, CaseRun]
    _file: TextIO

    def add(self, case_id: str, run: CaseRun) -> None:
        self.known[case_id] = run
        self._file.write(json.dumps(_line(case_id, run), allow_nan=False) + "\n")
        self._file.flush()


@contextmanager
def open_journal(folder: Path, identity: Mapping[str, object]) -> Iterator[RunJournal]:
    """Open the journal of a run; a line that a killed process left incomplete is dropped.

    ``identity``: algorithm, limits and test set, which must not change during a run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    with locked(folder / ".run.lock", folder):
        head, known, whole = _read(path)
        if head is not None:
            _require_same_run(head["identity"], identity, folder)
        with path.open("a", encoding="utf-8") as file:
            file.truncate(whole)
            if head is None:
                head = {"identity": dict(identity), "secret": secrets.token_hex(32)}
                file.write(json.dumps(head) + "\n")
                file.flush()
            yield RunJournal(bytes.fromhex(head["secret"]), known, file)


def _require_same_run(
    before: Mapping[str, object], now: Mapping[str, object], folder: Path
) -> None:
    other = [name for name in now if before.get(name) != json.loads(json.dumps(now[name]))]
    if other:
        what = f"contains a run that differs in: {', '.join(other)}."
        raise InputError.at(folder, what, "Choose another folder with --out.")


def _read(path: Path) -> tuple[JsonObject | None, dict[str, CaseRun], int]:
    """Return the first line, the outcomes, and the number of bytes in complete lines."""
    head: JsonObject | None = None
    known: dict[str, CaseRun] = {}
    whole = 0
    if not path.is_file():
        return head, known, whole
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                content = json.loads(line)
                if head is None:
                    head = {"identity": content["identity"], "secret": content["secret"]}
                else:
                    known[content["case_id"]] = _run(content)
            except (ValueError, TypeError, KeyError) as error:
                what = f"line {number} cannot be read."
                remedy = "Choose another folder with --out, and run again."
                raise InputError.at(path, what, remedy) from error
            whole += len(line)
    return head, known, whole


def _line(case_id: str, run: CaseRun) -> JsonObject:
    return {
        "case_id": case_id,
        "state": run.state,
        "why": None if run.why is None else run.why.to_json(),
        "measured": run.measured,
        "notices": [notice.to_json() for notice in run.notices],
        "marks": _rows(run.marks),
        "slices": _rows(run.slices),
    }


def _rows(table: pl.DataFrame) -> list[tuple[object, ...]]:
    columns = (column.to_list() for column in table if column.name != "case_id")
    return list(zip(*columns, strict=True))


def _run(content: JsonObject) -> CaseRun:
    case_id = content["case_id"]
    why: Notice | None = None if content["why"] is None else read_notice(content["why"])
    return CaseRun(
        content["state"],
        why,
        dict(content["measured"]),
        _table(MARKS, case_id, content["marks"]),
        _table(MARK_SLICES, case_id, content["slices"]),
        tuple(read_notice(notice) for notice in content["notices"]),
    )


def _table(schema: TableSchema, case_id: str, rows: list[list[object]]) -> pl.DataFrame:
    types = {column.name: column.dtype for column in schema.columns if column.name != "case_id"}
    table = pl.DataFrame(rows, schema=types, orient="row")
    return schema.arrange(table.with_columns(pl.lit(case_id).alias("case_id")))
