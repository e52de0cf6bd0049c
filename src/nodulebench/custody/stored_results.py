"""Store the result of an evaluation encrypted in the sealed set, and open it, checked by the log.

A stored result is a ZIP archive of the files that ``evaluate --out`` would have written, without
the report and derived files: evaluation.json, labels, curves, flips, the plan, and the input tables
below ``inputs``. In addition, ``stored.json`` names the developer and the algorithm, and has the
bounds corrected for repeated evaluations. Every metric, comparison and report can be made from it;
nothing of it is ever on the disk in plain form.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Evaluation
from nodulebench.custody import layout
from nodulebench.custody.events import Event, withdrawn_since
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.evaluation.recompute import Evaluated, evaluated_from
from nodulebench.evaluation.result_folder import (
    CURVE_FILE,
    EVALUATION,
    FLIP_FILE,
    PLAN,
    input_tables,
    scored_tables,
)
from nodulebench.io.atomic import create_once, locked
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import bytes_digest
from nodulebench.io.table_files import read_parquet
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject


from nodulebench.core.json_types import JsonObject

SCHEMA = "nodulebench/stored-result@1"
ABOUT = "stored.json"
STORING_LOCK, STORING_WAIT_S = f"{layout.AUDIT}/.storing.lock", 60.0
"""Lock for storing a result and naming it in the log, and how long to wait for it."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class StoredResult:
    """The stored result of an evaluation, in memory."""

    number: int
    """Number of the event that charged the evaluation."""
    about: JsonObject
    """``developer``, ``alias`` if there is one, ``name`` of the algorithm, the ``disclosed``
    feedback, and ``corrected`` bounds."""
    contents: Mapping[str, bytes]
    where: Path
    digest: str
    """SHA-256 of the sealed file."""

    def evaluated(self) -> Evaluated:
        return evaluated_from(self.contents, self.where)

    def table(self, name: str) -> pl.DataFrame | None:
        content = self.contents.get(name)
        return None if content is None else read_parquet(self.where / name, content)

    @property
    def curves(self) -> pl.DataFrame:
        return read_parquet(self.where / CURVE_FILE, self.contents[CURVE_FILE])

    @property
    def flips(self) -> pl.DataFrame | None:
        return self.table(FLIP_FILE)


@contextmanager
def stored_result(
    opened: SealedSet, number: int, evaluation: Evaluation, about: Mapping[str, object]
) -> Iterator[str]:
    """Store the result of an evaluation, encrypted, while the block writes its digest to the log.

    Only one process at a time does both. So a result that the log does not name is from an
    interrupted evaluation and is deleted. This result is deleted too if the log refuses it.
    """
    name = layout.result_file(number)
    content = _packed(_contents(evaluation, {"schema": SCHEMA, "number": number, **about}))
    sealed = opened.vault.seal(content, name.removesuffix(layout.SUFFIX))
    with locked(opened.folder / STORING_LOCK, opened.folder, waits_s=STORING_WAIT_S):
        for path in _unnamed_files(opened.folder, opened.events):
            path.unlink()
        create_once(opened.folder / name, sealed)
        try:
            yield bytes_digest(sealed)
        except InputError:  # the log does not name it, so no one may open it
            (opened.folder / name).unlink(missing_ok=True)
            raise


def stored_result_file(folder: Path, number: int) -> Path | None:
    path = folder / layout.result_file(number)
    return path if path.is_file() else None


def stored_result_files(folder: Path, events: Iterable[Event]) -> set[Path]:
    numbers = [event.facts.get("evaluation") for event in events if event.step == "evaluated"]
    paths = (stored_result_file(folder, number) for number in numbers if isinstance(number, int))
    return {path for path in paths if path is not None}


def _unnamed_files(folder: Path, events: list[Event]) -> set[Path]:
    """Return stored results of charged evaluations that the log does not name; no foreign files."""
    paths = (
        stored_result_file(folder, event.number)
        for event in events
        if event.step == "evaluation_charged"
    )
    return {path for path in paths if path is not None} - stored_result_files(folder, events)


def sealed_results(folder: Path) -> list[str]:
    """Return all stored results, also those of interrupted evaluations, as paths below the set."""
    paths = (folder / layout.RESULTS).glob(f"*{layout.SUFFIX}")
    return sorted(f"{layout.RESULTS}/{path.name}" for path in paths)


def require_no_evaluation_meanwhile(
    opened: SealedSet, events: Iterable[Event], known: set[Path]
) -> None:
    if stored_result_files(opened.folder, events) != known:
        what = "has a new evaluation by another process."
        remedy = "Run the command again; nothing was done."
        raise InputError.at(str(opened.folder), what, remedy)


def was_erased(changed: Mapping[str, str | None], number: int) -> bool:
    name = layout.result_file(number)
    return name in changed and changed[name] is None


def result_digest(listed: Mapping[str, str], event: Event, path: Path) -> Fact:
    return listed.get(f"{layout.RESULTS}/{path.name}", event.facts.get("result"))


def open_stored_result(opened: SealedSet, event: Event) -> StoredResult:
    charged = event.facts.get("evaluation")
    number = charged if isinstance(charged, int) else 0
    path = stored_result_file(opened.folder, number)
    if path is None:
        where = str(opened.folder / layout.result_file(number))
        raise InputError.at(where, f"is named by event {event.number}, but does not exist.")
    sealed = path.read_bytes()
    if bytes_digest(sealed) != result_digest(opened.manifest.files, event, path):
        what = f"was changed: event {event.number} names another digest."
        raise InputError.at(str(path), what)
    contents = _unpacked(unsealed(opened, path, sealed))
    return StoredResult(number, json.loads(contents[ABOUT]), contents, path, bytes_digest(sealed))


def unsealed(opened: SealedSet, path: Path, sealed: bytes) -> bytes:
    name = f"{layout.RESULTS}/{path.name.removesuffix(layout.SUFFIX)}"
    return opened.vault.open(sealed, name, str(path))


def shown_result(content: bytes) -> JsonObject:
    """Return what an auditor sees of a stored result: the evaluation and the corrected bounds."""
    contents = _unpacked(content)
    about = json.loads(contents[ABOUT])
    return {"evaluation": json.loads(contents[EVALUATION]), **about}


def _contents(evaluation: Evaluation, about: Mapping[str, object]) -> dict[str, bytes]:
    documents = {ABOUT: dict(about), EVALUATION: evaluation_document(evaluation).to_json()}
    if evaluation.plan is not None:
        from nodulebench.evaluation.plans import plan_document

        documents[PLAN] = plan_document(evaluation.plan.plan)
    tables = scored_tables(evaluation) | input_tables(evaluation)
    return {
        **{
            name: (json.dumps(document, allow_nan=False) + "\n").encode()
            for name, document in documents.items()
        },
        **{name: _parquet(table) for name, table in tables.items()},
    }


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    table.write_parquet(buffer, compression="lz4", statistics=False)
    return buffer.getvalue()


def _packed(contents: Mapping[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content)
    return buffer.getvalue()


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


EVALUATIONS, EVALUATIONS_SCHEMA = "evaluations.json", "nodulebench/stored-evaluations@1"


def evaluations_note(
    opened: SealedSet, results: Sequence[StoredResult], audience: str
) -> JsonObject:
    return {
        "schema": EVALUATIONS_SCHEMA,
        "test_set": opened.name,
        "bundle": opened.bundle,
        "audience": audience,
        "evaluations": [
            {"evaluation": result.number, "result": result.digest} for result in results
        ],
    }


def is_from_stored_results(folder: Path) -> bool:
    return (folder / EVALUATIONS).is_file()


def read_evaluations(folder: Path) -> JsonObject:
    note = read_json(folder / EVALUATIONS)
    if (
        not isinstance(note, dict)
        or note.get("schema") != EVALUATIONS_SCHEMA
        or not _names_evaluations(note)
    ):
        what = "does not name the evaluations from which the folder was made."
        raise InputError.at(str(folder / EVALUATIONS), what)
    return note


def _names_evaluations(note: JsonObject) -> bool:
    evaluations = note.get("evaluations")
    return (
        note.get("audience") in ("lab", "developer")
        and isinstance(evaluations, list)
        and bool(evaluations)
        and all(
            isinstance(evaluation, dict)
            and isinstance(evaluation.get("evaluation"), int)
            and isinstance(evaluation.get("result"), str)
            for evaluation in evaluations
        )
    )


def require_not_withdrawn(events: Sequence[Event], numbers: Iterable[object]) -> None:
    raise_problems(
        Problem(
            f"evaluation {number}",
            "was made with cases that were withdrawn since.",
            "Evaluate the same file again: marks on these cases are ignored, and it is not "
            "charged.",
        )
        for number in numbers
        if isinstance(number, int) and withdrawn_since(events, number)
    )


def open_result(sealed: Path, own_key: PrivateKey, number: int) -> JsonObject:
    opened = open_sealed(sealed, own_key, "inspect")
    path, gone = stored_result_file(sealed, number), withdrawn_since(opened.events, number)
    if path is None and gone:
        what = f"was deleted: it was made with {', '.join(gone)}, withdrawn since."
        raise InputError.at(str(sealed / layout.result_file(number)), what)
    if path is None:
        stored = sorted(file.name for file in (sealed / layout.RESULTS).glob(f"*{layout.SUFFIX}"))
        listed = ", ".join(str(int(name.partition(".")[0])) for name in stored) or "none"
        where = str(sealed / layout.result_file(number))
        raise InputError.at(where, "does not exist.", f"Stored results: {listed}.")
    opened.record("inspected", {"evaluation": number})
    shown = shown_result(unsealed(opened, path, path.read_bytes()))
    return {**shown, "withdrawn_since": list(gone)} if gone else shown
