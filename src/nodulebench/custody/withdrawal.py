"""Withdraw a patient from a sealed set: seal the tables again, remove images, record it.

Stored results were made with the patient and contain their nodules, so they are deleted. The same
submissions, evaluated again, are the same evaluations and are not charged.
"""

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.tables import Reference
from nodulebench.custody import layout
from nodulebench.custody.bundle import named_owner
from nodulebench.custody.changes import commit, put, put_json, staged, staging
from nodulebench.custody.datasheet import QUESTIONS, Datasheet, make_datasheet
from nodulebench.custody.events import SEPARATOR, Event
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.custody.stored_results import (
    require_no_evaluation_meanwhile,
    sealed_results,
    stored_result_files,
)
from nodulebench.io.bundle import SEALED_NOTE, reference_from
from nodulebench.io.csv_files import unmarked
from nodulebench.io.json_files import parse_json, read_json
from nodulebench.io.manifests import MANIFEST, bytes_digest
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject

_DELIMITERS = ",;\t"


def without_cases(name: str, content: bytes, ids: Collection[str]) -> bytes | None:
    """Return a file without all it says about some cases; None: it must be removed as a whole.

    Rows of tables are removed if a cell is one of ``ids``, names of cases and their patients;
    entries of JSON if an id is their key or value. The same object is returned if the file does not
    name them, None if it names them in a form that cannot be edited.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".parquet":
        return _parquet(name, content, ids)
    if not _is_named(content, ids):
        return content
    rest: bytes | None = None
    if suffix == ".csv":
        rest = _csv(content, set(ids))
    elif suffix == ".json":
        rest = _json(content, set(ids))
    return None if rest is None or _is_named(rest, ids) else rest


def _is_named(content: bytes, ids: Collection[str]) -> bool:
    """Whether a text has one of the names as a word: '1.2.3' is not in '1.2.34' or '1.2.3.4'."""
    words = b"|".join(re.escape(id_.encode()) for id_ in ids)
    return re.search(rb"(?<![\w-])(?<!\d\.)(?:" + words + rb")(?![\w-]|\.\d)", content) is not None


def _parquet(name: str, content: bytes, ids: Collection[str]) -> bytes:
    try:
        table = pl.read_parquet(io.BytesIO(content), glob=False)
    except pl.exceptions.PolarsError as error:
        raise InputError.at(name, f"cannot be read as a table: {error}.") from error
    texts = [column for column, kind in table.schema.items() if kind == pl.String]
    if not texts:
        return content
    named = pl.any_horizontal(pl.col(column).is_in(list(ids)).fill_null(False) for column in texts)
    rest = table.filter(~named)
    if rest.height == table.height:
        return content
    buffer = io.BytesIO()
    rest.write_parquet(buffer)
    return buffer.getvalue()


def _csv(content: bytes, ids: set[str]) -> bytes | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    out = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows(row for row in rows if not any(unmarked(cell.strip()) in ids for cell in row))
    return out.getvalue().encode()


def _json(content: bytes, ids: set[str]) -> bytes | None:
    try:
        document = json.loads(content)
    except ValueError:
        return None
    return (json.dumps(_without(document, ids), indent=1, ensure_ascii=False) + "\n").encode()


def _without(value: object, ids: set[str]) -> object:
    if isinstance(value, dict):
        return {name: _without(entry, ids) for name, entry in value.items() if name not in ids}
    if isinstance(value, list):
        return [_without(entry, ids) for entry in value if not _names(entry, ids)]
    return value


def _names(value: object, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(isinstance(entry, str) and entry in ids for entry in value.values())
    return isinstance(value, str) and value in ids


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was withdrawn from a set."""

    event: Event
    cases: tuple[str, ...]
    files: int
    """Removed files: images, and files other than tables that named the cases."""
    evaluations: int
    """Evaluations whose stored results were deleted."""


def withdraw(
    sealed: Path, own_key: PrivateKey, *, cases: Sequence[str] = (), patient: str = "", reason: str
) -> Withdrawn:
    """Remove cases, or all cases of a patient, permanently; the log records the reason."""
    if not reason.strip():
        raise InputError.at("withdraw", "has no reason.", "Give --reason; it is logged.")
    opened = open_sealed(sealed, own_key, "withdraw")
    reference = opened.reference()
    gone = _cases(reference, cases, patient)
    ids = [*gone, *([patient] if patient else ())]
    with staging(opened.folder) as files:
        stored, erased = (
            stored_result_files(opened.folder, opened.events),
            sealed_results(opened.folder),
        )
        removed = [*_images(opened, reference, gone), *_tables(opened, files, ids)]
        left = _check(opened, files)
        _descriptions(opened, files, left, ids)
        change = staged(opened.folder, files, [*removed, *erased], opened.manifest.files)

        def facts(events: list[Event]) -> dict[str, Fact]:
            require_no_evaluation_meanwhile(opened, events, stored)
            summary: dict[str, Fact] = {"cases": SEPARATOR.join(gone), "files": len(removed)}
            return {**summary, "erased_evaluations": len(stored), "reason": reason.strip()}

        event = commit(opened, "withdrawn", facts, change)
    return Withdrawn(event, tuple(gone), len(removed), len(stored))


def _cases(reference: Reference, cases: Sequence[str], patient: str) -> list[str]:
    table = reference.cases
    if bool(cases) == bool(patient):
        raise InputError.at("withdraw", "takes cases or a patient.", "Give --case or --patient.")
    if patient:
        gone = table.filter(pl.col("patient_id") == patient)["case_id"].to_list()
        unknown = [] if gone else [patient]
    else:
        gone, known = sorted(set(cases)), set(table["case_id"])
        unknown = [case_id for case_id in gone if case_id not in known]
    if unknown:
        raise InputError.at("withdraw", f"the set has no '{unknown[0]}'.")
    if len(gone) == table.height:
        what = "would remove all cases."
        raise InputError.at("withdraw", what, "Retire the set instead: nodulebench custody retire")
    return gone


def _images(opened: SealedSet, reference: Reference, gone: Sequence[str]) -> Iterator[str]:
    known, away = set(reference.cases["case_id"]), set(gone)
    plain = f"{layout.PAYLOAD}/{layout.IMAGES}/"
    sealed = layout.sealed_file(f"{layout.IMAGES}/").removesuffix(layout.SUFFIX)
    for name in opened.manifest.files:
        start = next((prefix for prefix in (plain, sealed) if name.startswith(prefix)), None)
        if start is not None:
            below = name.removeprefix(start).removesuffix(layout.SUFFIX)
            owner = named_owner(PurePosixPath(below), known)
            if owner is not None and owner[0] in away:
                yield name


def _tables(opened: SealedSet, files: Path, ids: Sequence[str]) -> Iterator[str]:
    """Seal again all tables that name the cases; yield the files that must be removed."""
    for name in opened.secret_names:
        if name.startswith(f"{layout.IMAGES}/") or name == MANIFEST:
            continue
        content = opened.plain(name)
        rest = without_cases(name, content, ids)
        if rest is None:
            yield layout.sealed_file(name)
        elif rest is not content:
            put(files, layout.sealed_file(name), opened.vault.seal(rest, name))


def _check(opened: SealedSet, files: Path) -> Reference:
    names = [name for name in opened.secret_names if "/" not in name and name.endswith(".parquet")]
    plain = {name: _staged_plain(opened, files, name) for name in names}
    manifest: JsonObject = parse_json(opened.plain(MANIFEST), Path(MANIFEST))
    manifest["files"] = {name: bytes_digest(plain[name]) for name in manifest["files"]}
    content = (json.dumps(manifest, indent=1) + "\n").encode()
    reference = reference_from({**plain, MANIFEST: content}, opened.folder)
    manifest |= {"cases": reference.cases.height, "nodules": reference.nodules.height}
    content = (json.dumps(manifest, indent=1) + "\n").encode()
    put(files, layout.sealed_file(MANIFEST), opened.vault.seal(content, MANIFEST))
    return reference


def _staged_plain(opened: SealedSet, files: Path, name: str) -> bytes:
    path = files / layout.sealed_file(name)
    if not path.is_file():
        return opened.plain(name)
    return opened.vault.open(path.read_bytes(), name, str(path))


def _descriptions(opened: SealedSet, files: Path, reference: Reference, ids: Sequence[str]) -> None:
    for name in (layout.RUN_CASES, f"{layout.PAYLOAD}/{layout.IMAGE_LIST}"):
        path = opened.folder / name
        if path.is_file():
            rest = without_cases(name, path.read_bytes(), ids)
            if rest is None:
                raise InputError.at(path, "names the case in a form that cannot be edited.")
            put(files, name, rest)
    note = read_json(opened.folder / SEALED_NOTE)
    put_json(files, SEALED_NOTE, {**note, "cases": reference.cases.height})
    sheet = _datasheet(opened, reference)
    put_json(files, "datasheet.json", sheet.to_json())
    put(files, "datasheet.md", sheet.to_markdown().encode())


def _datasheet(opened: SealedSet, reference: Reference) -> Datasheet:
    before: JsonObject = read_json(opened.folder / "datasheet.json")["answers"]
    earlier = {question.name: before.get(question.name, {}) for question in QUESTIONS}
    stated = {
        name: answer["answer"]
        for name, answer in earlier.items()
        if answer.get("answer") and answer.get("source") == "stated"
    }
    sheet = make_datasheet(reference, stated, opened.policy)
    answers = {name: answer["answer"] for name, answer in earlier.items() if answer.get("answer")}
    return Datasheet(
        sheet.title,
        {**answers, **sheet.answers},
        frozenset({*answers, *sheet.computed} - set(stated)),
    )
