"""Sealed set - a patient -> the set without them: tables sealed anew, images gone, the log says so.

What was kept of looks so far was made with the patient, and holds their nodules: it is erased. The
same submissions, evaluated again, are the same looks.
"""

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.tables import Reference
from nodulebench.custody import layout
from nodulebench.custody.audit import Event
from nodulebench.custody.bundle import named_owner
from nodulebench.custody.changes import commit, put, put_json, staged, staging
from nodulebench.custody.datasheet import QUESTIONS, Datasheet, make_datasheet
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
from nodulebench.security.event_log.events import Fact
from nodulebench.security.vault import Secret

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject

_DELIMITERS = ",;\t"


def without_cases(name: str, content: bytes, ids: Collection[str]) -> bytes | None:
    """A file without whatever it says of some cases.

    Rows of tables go where a cell is one of the names, entries of JSON where they are named by one
    or hold it as a value.

    Args:
        name: of the file, whose suffix says what it is.
        content: of the file.
        ids: names of cases, and of their patients.

    Returns:
        The content, the very same where it does not speak of them; None: it does, in a form that
        cannot be taken apart, so that the file has to go as a whole.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".parquet":
        return _parquet(name, content, ids)
    if not _is_named(content, ids):
        return content
    kept: bytes | None = None
    if suffix == ".csv":
        kept = _csv(content, set(ids))
    elif suffix == ".json":
        kept = _json(content, set(ids))
    return None if kept is None or _is_named(kept, ids) else kept


def _is_named(content: bytes, ids: Collection[str]) -> bool:
    """Whether a text has one of the names as a word: '1.2.3' is none in '1.2.34' or '1.2.3.4'."""
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
    kept = table.filter(~named)
    if kept.height == table.height:
        return content
    buffer = io.BytesIO()
    kept.write_parquet(buffer)
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
    writer.writerows(row for row in rows if not any(unmarked(one.strip()) in ids for one in row))
    return out.getvalue().encode()


def _json(content: bytes, ids: set[str]) -> bytes | None:
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return (json.dumps(_without(found, ids), indent=1, ensure_ascii=False) + "\n").encode()


def _without(value: Any, ids: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(one, ids) for name, one in value.items() if name not in ids}
    if isinstance(value, list):
        return [_without(one, ids) for one in value if not _names(one, ids)]
    return value


def _names(value: Any, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(isinstance(one, str) and one in ids for one in value.values())
    return isinstance(value, str) and value in ids


SEPARATOR = ", "


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was taken out of a set."""

    event: Event
    cases: tuple[str, ...]
    files: int
    """Files that are no longer there: images, and what named the cases and is no table."""
    looks: int
    """Looks of which nothing is kept any more."""


def withdraw(
    sealed: Path,
    secret: Secret,
    person: str,
    *,
    cases: Sequence[str] = (),
    patient: str = "",
    reason: str,
) -> Withdrawn:
    """Take cases out of a sealed set for good.

    Args:
        sealed: the set.
        secret: a curator's key, or the shared one.
        person: who acts; with a key it may be empty.
        cases: by their names.
        patient: all cases of a patient, by the patient's name in the table of cases.
        reason: stands in the log.

    Raises:
        InputError: if the person may not, gives no reason, a case is unknown, or none would stay.
    """
    if not reason.strip():
        raise InputError.at("withdraw", "has no reason.", "Say why in --reason; it is logged.")
    opened = open_sealed(sealed, secret, person, "withdraw")
    reference = opened.reference()
    gone = _cases(reference, cases, patient)
    ids = [*gone, *([patient] if patient else ())]
    with staging(opened.folder) as files:
        kept, erased = (
            stored_result_files(opened.folder, opened.events),
            sealed_results(opened.folder),
        )
        removed = [*_images(opened, reference, gone), *_tables(opened, files, ids)]
        left = _check(opened, files)
        _descriptions(opened, files, left, ids)
        change = staged(opened.folder, files, [*removed, *erased], opened.manifest.files)

        def facts(events: list[Event]) -> dict[str, Fact]:
            require_no_evaluation_meanwhile(opened, events, kept)
            told: dict[str, Fact] = {"cases": SEPARATOR.join(gone), "files": len(removed)}
            return {**told, "erased_looks": len(kept), "reason": reason.strip()}

        event = commit(opened, "withdrawn", facts, change)
    return Withdrawn(event, tuple(gone), len(removed), len(kept))


def withdrawn_since(events: Sequence[Event], number: int) -> tuple[str, ...]:
    """The cases that were taken out after an event: what was made before was made with them."""
    named = (
        str(event.facts.get("cases"))
        for event in events
        if event.step == "withdrawn" and event.number > number
    )
    return tuple(one for names in named for one in names.split(SEPARATOR))


def require_not_withdrawn(events: Sequence[Event], looks: Iterable[object]) -> None:
    """Refuse looks that were made with cases that were withdrawn since: nothing is made of them.

    Raises:
        InputError: for each of them.
    """
    raise_problems(
        Problem(
            f"look {look}",
            "was made with cases that were withdrawn since.",
            "Evaluate the same file again: marks on those are left out, and it costs no look.",
        )
        for look in looks
        if isinstance(look, int) and withdrawn_since(events, look)
    )


def _cases(reference: Reference, cases: Sequence[str], patient: str) -> list[str]:
    table = reference.cases
    if bool(cases) == bool(patient):
        raise InputError.at("withdraw", "takes cases or a patient.", "Give --case or --patient.")
    if patient:
        gone = table.filter(pl.col("patient_id") == patient)["case_id"].to_list()
        unknown = [] if gone else [patient]
    else:
        gone, known = sorted(set(cases)), set(table["case_id"])
        unknown = [one for one in gone if one not in known]
    if unknown:
        raise InputError.at("withdraw", f"the set has no '{unknown[0]}'.")
    if len(gone) == table.height:
        raise InputError.at(
            "withdraw", "nothing would be left.", "Retire the set: nodulebench custody retire"
        )
    return gone


def _images(opened: SealedSet, reference: Reference, gone: Sequence[str]) -> Iterator[str]:
    """The image files of cases, plain or sealed."""
    known, away = set(reference.cases["case_id"]), set(gone)
    plain = f"{layout.PAYLOAD}/{layout.IMAGES}/"
    sealed = layout.sealed_file(f"{layout.IMAGES}/").removesuffix(layout.SUFFIX)
    for name in opened.manifest.files:
        start = next((one for one in (plain, sealed) if name.startswith(one)), None)
        if start is not None:
            below = name.removeprefix(start).removesuffix(layout.SUFFIX)
            owner = named_owner(PurePosixPath(below), known)
            if owner is not None and owner[0] in away:
                yield name


def _tables(opened: SealedSet, files: Path, ids: Sequence[str]) -> Iterator[str]:
    """Seal anew what names the cases; the files that have to go as a whole."""
    for name in opened.secret_names:
        if name.startswith(f"{layout.IMAGES}/") or name == MANIFEST:
            continue
        content = opened.plain(name)
        kept = without_cases(name, content, ids)
        if kept is None:
            yield layout.sealed_file(name)
        elif kept is not content:
            put(files, layout.sealed_file(name), opened.vault.seal(kept, name))


def _check(opened: SealedSet, files: Path) -> Reference:
    """Write the tables' own manifest anew; the reference that is left."""
    names = [name for name in opened.secret_names if "/" not in name and name.endswith(".parquet")]
    plain = {name: _staged_plain(opened, files, name) for name in names}
    told: JsonObject = parse_json(opened.plain(MANIFEST), Path(MANIFEST))
    told["files"] = {name: bytes_digest(plain[name]) for name in told["files"]}
    content = (json.dumps(told, indent=1) + "\n").encode()
    reference = reference_from({**plain, MANIFEST: content}, opened.folder)
    told |= {"cases": reference.cases.height, "nodules": reference.nodules.height}
    content = (json.dumps(told, indent=1) + "\n").encode()
    put(files, layout.sealed_file(MANIFEST), opened.vault.seal(content, MANIFEST))
    return reference


def _staged_plain(opened: SealedSet, files: Path, name: str) -> bytes:
    path = files / layout.sealed_file(name)
    if not path.is_file():
        return opened.plain(name)
    return opened.vault.open(path.read_bytes(), name, str(path))


def _descriptions(opened: SealedSet, files: Path, reference: Reference, ids: Sequence[str]) -> None:
    """What describes the set in plain form, without the cases."""
    for name in (layout.RUN_CASES, f"{layout.PAYLOAD}/{layout.IMAGE_LIST}"):
        path = opened.folder / name
        if path.is_file():
            kept = without_cases(name, path.read_bytes(), ids)
            if kept is None:
                raise InputError.at(path, "names the case where it cannot be taken out.")
            put(files, name, kept)
    note = read_json(opened.folder / SEALED_NOTE)
    put_json(files, SEALED_NOTE, {**note, "cases": reference.cases.height})
    sheet = _datasheet(opened, reference)
    put_json(files, "datasheet.json", sheet.to_json())
    put(files, "datasheet.md", sheet.to_markdown().encode())


def _datasheet(opened: SealedSet, reference: Reference) -> Datasheet:
    """The datasheet with what the tables say now; what nobody computes from them stays."""
    before: JsonObject = read_json(opened.folder / "datasheet.json")["answers"]
    told = {question.name: before.get(question.name, {}) for question in QUESTIONS}
    stated = {
        name: one["answer"]
        for name, one in told.items()
        if one.get("answer") and one.get("source") == "stated"
    }
    sheet = make_datasheet(reference, stated, opened.policy)
    kept = {name: one["answer"] for name, one in told.items() if one.get("answer")}
    return Datasheet(
        sheet.title, {**kept, **sheet.answers}, frozenset({*kept, *sheet.computed} - set(stated))
    )
