"""Look at a sealed set -> what it gave, kept encrypted in the set; and back, checked by the log.

What is kept is a ZIP archive of the files that ``evaluate --out`` would have written, without the
report and what follows from the rest: evaluation.json, labels, curves, flips, the plan, and the
judged tables below ``inputs``. Beside them ``kept.json`` says whose algorithm it is, what it is
called, and which bounds hold after so many looks. Every metric, comparison and report can be made
from it; nothing of it is ever on the disk in plain form.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Evaluation
from nodulebench.custody import layout
from nodulebench.custody.audit import Event
from nodulebench.custody.sealed_set import SealedSet
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
from nodulebench.security.event_log.events import Fact

SCHEMA = "nodulebench/kept@1"
ABOUT = "kept.json"
KEEPING, KEEPING_WAITS_S = f"{layout.AUDIT}/.keeping.lock", 60.0
"""The claim to keep a result and name it in the log."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class StoredResult:
    """What was kept of a look, in memory."""

    look: int
    about: JsonObject
    """``developer``, ``alias`` where it has one, ``name`` of the algorithm, what the developer was
    ``told``, and ``corrected`` bounds."""
    contents: Mapping[str, bytes]
    """By the names that the files have in a folder of results."""
    where: Path
    digest: str
    """SHA-256 of the sealed file."""

    def evaluated(self) -> Evaluated:
        """The evaluation as if it were read from a folder."""
        return evaluated_from(self.contents, self.where)

    def table(self, name: str) -> pl.DataFrame | None:
        """A table beside the evaluation; None: it has none."""
        content = self.contents.get(name)
        return None if content is None else read_parquet(self.where / name, content)

    @property
    def curves(self) -> pl.DataFrame:
        """Every point of every curve."""
        return read_parquet(self.where / CURVE_FILE, self.contents[CURVE_FILE])

    @property
    def flips(self) -> pl.DataFrame | None:
        """Marks that rules judge differently."""
        return self.table(FLIP_FILE)


@contextmanager
def stored_result(
    opened: SealedSet, look: int, evaluation: Evaluation, about: Mapping[str, Any]
) -> Iterator[str]:
    """Keep what a look gave, encrypted, while the block writes its digest to the log.

    One process at a time does both. So what was kept of another look, and the log does not name by
    then, came to no end, and goes; as this one does where the log does not take it.

    Raises:
        InputError: if other processes are at it all the time.
    """
    name = layout.result_file(look)
    content = _packed(_contents(evaluation, {"schema": SCHEMA, "look": look, **about}))
    sealed = opened.vault.seal(content, name.removesuffix(layout.SUFFIX))
    with locked(opened.folder / KEEPING, opened.folder, waits_s=KEEPING_WAITS_S):
        for path in _unnamed_files(opened.folder, opened.events):
            path.unlink()
        create_once(opened.folder / name, sealed)
        try:
            yield bytes_digest(sealed)
        except InputError:  # nobody could open it any more, or ought to
            (opened.folder / name).unlink(missing_ok=True)
            raise


def stored_result_file(folder: Path, look: int) -> Path | None:
    """Where the result of a look lies in a sealed set; None: it is not there."""
    path = folder / layout.result_file(look)
    return path if path.is_file() else None


def stored_result_files(folder: Path, events: Iterable[Event]) -> set[Path]:
    """The results that a log names; others were kept for looks that came to no end."""
    looks = [event.facts.get("look") for event in events if event.step == "evaluated"]
    found = (stored_result_file(folder, look) for look in looks if isinstance(look, int))
    return {path for path in found if path is not None}


def _unnamed_files(folder: Path, events: list[Event]) -> set[Path]:
    """What was kept of looks whose results the log does not name; nothing that others put there."""
    found = (stored_result_file(folder, event.number) for event in events if event.step == "look")
    return {path for path in found if path is not None} - stored_result_files(folder, events)


def sealed_results(folder: Path) -> list[str]:
    """All that was kept of looks, named by the log or left by killed ones; paths below the set."""
    found = (folder / layout.RESULTS).glob(f"*{layout.SUFFIX}")
    return sorted(f"{layout.RESULTS}/{path.name}" for path in found)


def require_no_evaluation_meanwhile(
    opened: SealedSet, events: Iterable[Event], known: set[Path]
) -> None:
    """Refuse to go on with what was kept if a look has given a result meanwhile.

    Raises:
        InputError: if there are other results than those known.
    """
    if stored_result_files(opened.folder, events) != known:
        what = "was looked at by somebody else meanwhile."
        raise InputError.at(str(opened.folder), what, "Call again; nothing was done.")


def was_erased(changed: Mapping[str, str | None], look: int) -> bool:
    """Whether a change of the set has removed what was kept of a look."""
    name = layout.result_file(look)
    return name in changed and changed[name] is None


def result_digest(listed: Mapping[str, str], event: Event, path: Path) -> Fact:
    """The digest that a kept result has to have.

    Args:
        listed: the files of the set as changes of the log left them, with their digests.
        event: which says what was kept.
        path: where it lies.
    """
    return listed.get(f"{layout.RESULTS}/{path.name}", event.facts.get("result"))


def open_stored_result(opened: SealedSet, event: Event) -> StoredResult:
    """What was kept of a look, by the event that says that it was evaluated.

    Raises:
        InputError: if it is not there, or was changed.
    """
    look = event.facts.get("look")
    number = look if isinstance(look, int) else 0
    path = stored_result_file(opened.folder, number)
    if path is None:
        where = str(opened.folder / layout.result_file(number))
        raise InputError.at(where, f"is named by event {event.number}, but is not there.")
    sealed = path.read_bytes()
    if bytes_digest(sealed) != result_digest(opened.manifest.files, event, path):
        what = f"was changed: event {event.number} names another content."
        raise InputError.at(str(path), what)
    contents = _unpacked(unsealed(opened, path, sealed))
    return StoredResult(number, json.loads(contents[ABOUT]), contents, path, bytes_digest(sealed))


def unsealed(opened: SealedSet, path: Path, sealed: bytes) -> bytes:
    """A kept file in plain form, in memory.

    Raises:
        InputError: if it was changed.
    """
    name = f"{layout.RESULTS}/{path.name.removesuffix(layout.SUFFIX)}"
    return opened.vault.open(sealed, name, str(path))


def shown_result(content: bytes) -> JsonObject:
    """What is shown of a kept result: the evaluation and the corrected bounds."""
    contents = _unpacked(content)
    about = json.loads(contents[ABOUT])
    return {"evaluation": json.loads(contents[EVALUATION]), **about}


def _contents(evaluation: Evaluation, about: Mapping[str, Any]) -> dict[str, bytes]:
    documents = {ABOUT: dict(about), EVALUATION: evaluation_document(evaluation).to_json()}
    if evaluation.plan is not None:
        from nodulebench.evaluation.plans.freeze import plan_document

        documents[PLAN] = plan_document(evaluation.plan.plan)
    tables = scored_tables(evaluation) | input_tables(evaluation)
    return {
        **{name: _json_bytes(document) for name, document in documents.items()},
        **{name: _parquet(table) for name, table in tables.items()},
    }


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    table.write_parquet(buffer, compression="lz4", statistics=False)
    return buffer.getvalue()


def _packed(contents: Mapping[str, bytes]) -> bytes:
    """Files as one archive; equal files give equal bytes."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content)
    return buffer.getvalue()


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, allow_nan=False) + "\n").encode()


LOOKS, LOOKS_SCHEMA = "looks.json", "nodulebench/looks@1"


def evaluations_note(opened: SealedSet, kept: Sequence[StoredResult], audience: str) -> JsonObject:
    """What looks.json says of a folder that is made from kept results."""
    return {
        "schema": LOOKS_SCHEMA,
        "test_set": opened.name,
        "bundle": opened.bundle,
        "audience": audience,
        "looks": [{"look": one.look, "result": one.digest} for one in kept],
    }


def is_from_stored_results(folder: Path) -> bool:
    """Whether a folder says that it was made from kept results."""
    return (folder / LOOKS).is_file()


def read_evaluations(folder: Path) -> JsonObject:
    """From which looks of which sealed set a folder was made.

    Raises:
        InputError: if it does not say so.
    """
    note = read_json(folder / LOOKS)
    if (
        not isinstance(note, dict)
        or note.get("schema") != LOOKS_SCHEMA
        or not _names_evaluations(note)
    ):
        raise InputError.at(str(folder / LOOKS), "does not say from which looks it was made.")
    return note


def _names_evaluations(note: JsonObject) -> bool:
    looks = note.get("looks")
    return (
        note.get("audience") in ("lab", "developer")
        and isinstance(looks, list)
        and bool(looks)
        and all(
            isinstance(look, dict)
            and isinstance(look.get("look"), int)
            and isinstance(look.get("result"), str)
            for look in looks
        )
    )
