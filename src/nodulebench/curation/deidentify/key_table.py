"""Who is who after de-identification: one row per series, in an age file shared by all runs.

The file opens with the SSH keys of the people for whom it was encrypted, in any program for age.
Its content is signed by the person who wrote it last, since anybody can encrypt for a public key.
"""

import json
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Reference, without_images
from nodulebench.io.atomic import locked, replace_whole
from nodulebench.io.bundle import PROVENANCE, write_reference
from nodulebench.io.csv_files import csv_content
from nodulebench.io.formats import read_reference
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import PAYLOAD, is_bag
from nodulebench.security.events import canonical
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key
from nodulebench.security.signatures import is_code_of, signature_code
from nodulebench.security.vault import decrypted_by, encrypted_for

SCHEMA = "nodulebench/key-table@2"
_AGE = b"age-encryption.org/"
_WAITS_S = 60.0
"""Waiting time for another run that adds its rows, which takes moments."""


@dataclass(frozen=True, slots=True)
class KeyTable:
    """An open key table, its key of pseudonyms included."""

    path: Path
    own_key: PrivateKey
    """The key of the person who opened the table: it opens it, and signs what is written."""
    colleagues: frozenset[PublicKey]
    """People who may have written the table and from now on can read it."""
    readers: frozenset[PublicKey]
    """All people for whom the file is encrypted."""
    pseudonym_key: bytes = field(repr=False)
    rows: tuple[JsonObject, ...] = field(repr=False)

    def add(self, rows: Iterable[JsonObject]) -> None:
        """Add rows to the current content of the file; a series has one row, the latest."""
        with file_lock(self.path):
            known = self
            if self.path.is_file():
                known = _opened(self.path, self.own_key, self.colleagues)
                if known.pseudonym_key != self.pseudonym_key:
                    raise InputError.at(self.path, "is now another key table.")
            merged = {row["series"]: row for row in (*known.rows, *rows)}
            _write(replace(known, rows=tuple(merged[series] for series in sorted(merged))))


def open_key_table(
    path: Path, own_key: PrivateKey, colleagues: Collection[PublicKey] = ()
) -> KeyTable:
    """Open a key table; create it if it does not exist, once even if several runs start together.

    ``colleagues`` may have written it, and can read what is written.
    """
    with file_lock(path):
        if path.is_file():
            return _opened(path, own_key, colleagues)
        known, pseudonym_key = frozenset(colleagues), secrets.token_bytes(32)
        table = KeyTable(path, own_key, known, frozenset(), pseudonym_key, ())
        _write(table)
        return table


def read_key_table(
    path: Path, own_key: PrivateKey, colleagues: Collection[PublicKey] = ()
) -> list[JsonObject]:
    """Who is who: one row per series."""
    if not path.is_file():
        raise InputError.at(str(path), "does not exist.")
    return list(_opened(path, own_key, colleagues).rows)


def key_table_csv(path: Path, own_key: PrivateKey, colleagues: Collection[PublicKey] = ()) -> str:
    rows = read_key_table(path, own_key, colleagues)
    return csv_content(pl.DataFrame(rows, infer_schema_length=None))


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f".{path.name}.lock"), path, waits_s=_WAITS_S):
            yield
    except OSError as error:
        raise InputError.at(path, f"cannot be written: {error.strerror or error}.") from error


def _opened(path: Path, own_key: PrivateKey, colleagues: Collection[PublicKey]) -> KeyTable:
    """The table, if this person or a colleague wrote it."""
    sealed = path.read_bytes()
    if sealed.lstrip().startswith(b"{"):
        what = "opens with a shared secret, as key tables of older versions did."
        raise InputError.at(path, what, "De-identify the slices again with a new key table.")
    if not sealed.startswith(_AGE):
        raise InputError.at(path, "is not a key table.")
    opened = decrypted_by(
        sealed,
        own_key,
        str(path),
        "Ask its writer to run deidentify with --colleague YOUR_PUBLIC_KEY, or restore a copy.",
    )
    try:
        content = json.loads(opened)
        signed = {name: value for name, value in content.items() if name != "signature"}
        signature, writer = content["signature"], parse_public_key(content["writer"])
        readers = frozenset(parse_public_key(line) for line in content["readers"])
        pseudonym_key, rows = bytes.fromhex(content["pseudonym_key"]), tuple(content["rows"])
        is_ours = content["schema"] == SCHEMA
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError.at(path, "is not a key table.") from error
    if not is_ours or not is_code_of(str(signature), canonical(signed), writer):
        raise InputError.at(
            path, "was changed: its signature is not valid.", "Restore it from a copy."
        )
    if writer not in {own_key.public, *colleagues}:
        raise InputError.at(
            path,
            f"was written with the key {writer.fingerprint}, which is neither yours nor a "
            "colleague's.",
            "Give the writer's public key with --colleague if you know that person, or restore "
            "the table from a copy.",
        )
    return KeyTable(path, own_key, frozenset(colleagues), readers, pseudonym_key, rows)


def _write(table: KeyTable) -> None:
    readers = {table.own_key.public, *table.readers, *table.colleagues}
    content: JsonObject = {
        "schema": SCHEMA,
        "writer": table.own_key.public.line,
        "readers": sorted(reader.line for reader in readers),
        "pseudonym_key": table.pseudonym_key.hex(),
        "rows": list(table.rows),
    }
    content["signature"] = signature_code(canonical(content), table.own_key)
    replace_whole(table.path, encrypted_for(json.dumps(content).encode(), *readers))


_WORD = re.compile(r"[\w.\-]+")
_DAY = re.compile(r"(\d{4})(-?)(\d{2})\2(\d{2})")
_NUMBERED = ("nodule_id", "contour")
"""Columns whose numbers may look like a patient's."""
_SHORTEST = 4
"""Shorter names also occur as ordinary words and identify no one."""


@dataclass(frozen=True, slots=True)
class RenamedReference:
    """A reference under its new names."""

    reference: Reference
    left_out: int
    """Number of cases that are not in the key table: they were not de-identified with it."""


def rename_files(
    source: Path,
    out: Path,
    key_table: Path,
    own_key: PrivateKey,
    *,
    colleagues: Collection[PublicKey] = (),
    cases: Path | None = None,
) -> RenamedReference:
    """Write a reference, with its provenance, under the names that de-identification gave."""
    rows = read_key_table(key_table, own_key, colleagues)
    renamed = rename_reference(read_reference(source, cases=cases), rows, str(key_table))
    path = (source / PAYLOAD if is_bag(source) else source) / PROVENANCE
    made = read_json(path) if path.is_file() else None
    write_reference(renamed.reference, out)
    if made is not None:
        write_json(with_new_names(made, _new_names(rows)), out / PROVENANCE)
    return renamed


def rename_reference(
    reference: Reference, rows: list[JsonObject], source: str = "key table"
) -> RenamedReference:
    """A reference with the series, studies, patients and dates of the de-identified slices.

    A case is identified by its ``series_uid`` or, without one, by its ``case_id``. No text may
    still contain an original name.
    """
    by_series = {row["series"]: row for row in rows}
    uids = reference.cases["case_id"]
    if "series_uid" in reference.cases.columns:
        uids = reference.cases["series_uid"].fill_null(uids)
    pairs = zip(reference.cases["case_id"], uids, strict=True)
    row_of_case = {case: by_series[uid] for case, uid in pairs if uid in by_series}
    if not row_of_case:
        raise InputError.at(
            source, "has no case of the reference.", "Name cases by their original series UIDs."
        )
    known_part = reference.restricted(
        pl.Series("case_id", list(row_of_case), dtype=pl.String), source
    )
    cases = _new_cases(without_images(known_part.cases), list(row_of_case.values()))
    new_name = {case: row["new_series"] for case, row in row_of_case.items()}
    renamed = replace(
        known_part,
        cases=cases,
        nodules=_with_cases(known_part.nodules, new_name),
        slices=None if known_part.slices is None else _with_cases(known_part.slices, new_name),
    )
    _require_no_leftovers(renamed, {*row_of_case, *_new_names(rows)} - set(new_name.values()))
    return RenamedReference(renamed, reference.cases.height - len(row_of_case))


def _with_cases(table: pl.DataFrame, new_name: Mapping[str, str]) -> pl.DataFrame:
    return table.with_columns(pl.col("case_id").replace_strict(new_name, return_dtype=pl.String))


def _new_cases(cases: pl.DataFrame, rows: list[JsonObject]) -> pl.DataFrame:
    columns = {"case_id": "new_series", "patient_id": "pseudonym"}
    columns |= {"series_uid": "new_series", "study_uid": "new_study"}
    new = {
        name: pl.Series(name, [row[key] for row in rows], dtype=pl.String)
        for name, key in columns.items()
        if name in cases.columns
    }
    if "study_date" in cases.columns:
        dates = cases["study_date"].cast(pl.String)
        moved = [_earlier(day, int(row["days"])) for day, row in zip(dates, rows, strict=True)]
        new["study_date"] = pl.Series("study_date", moved, dtype=pl.String)
    return cases.with_columns(new.values())


def _earlier(day: str | None, days: int) -> str | None:
    """A date, shifted to the past, in its original form; None where it is not valid."""
    match = _DAY.fullmatch(day.strip()) if day is not None else None
    if match is None:
        return None
    year, dash, month, number = match.groups()
    try:
        moved = date(int(year), int(month), int(number)) - timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    return f"{moved.year:04d}{dash}{moved.month:02d}{dash}{moved.day:02d}"


def _new_names(rows: list[JsonObject]) -> dict[str, str]:
    """Original series, studies and patients -> their replacements."""
    pairs = (("series", "new_series"), ("study", "new_study"), ("patient", "pseudonym"))
    return {row[old]: row[new] for old, new in pairs for row in rows if row[old]}


def with_new_names(content: Any, new_name: Mapping[str, str]) -> Any:
    """A document in which every original name is replaced where it is a whole word."""
    if isinstance(content, str):
        return _WORD.sub(lambda word: new_name.get(word[0], word[0]), content)
    if isinstance(content, dict):
        return {
            with_new_names(name, new_name): with_new_names(value, new_name)
            for name, value in content.items()
        }
    return (
        [with_new_names(part, new_name) for part in content]
        if isinstance(content, list)
        else content
    )


def _require_no_leftovers(reference: Reference, originals: set[str]) -> None:
    """Check that no text of a table still contains an original name as a word."""
    tables = {"cases": reference.cases, "nodules": reference.nodules}
    if reference.slices is not None:
        tables["slices"] = reference.slices
    telling = {original for original in originals if len(original) >= _SHORTEST}
    raise_problems(
        Problem(
            f"{table} column '{name}'",
            "still holds original names of patients, studies or series.",
            "Leave the column out of the reference.",
        )
        for table, content in tables.items()
        for name in content.select(pl.col(pl.String)).columns
        if name not in _NUMBERED
        and any(
            not telling.isdisjoint(_WORD.findall(text))
            for text in content[name].drop_nulls().unique()
        )
    )
