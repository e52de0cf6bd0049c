"""Who is who after de-identification: one encrypted row per series, shared by all runs."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from nodulebench.security.vault import Secret, Vault, create_vault, open_vault

SCHEMA = "nodulebench/key-table@1"
Row = JsonObject
_TABLE = "key table"
_WAITS_S = 60.0
"""Waiting time for another run that adds its rows, which takes moments."""


@dataclass(frozen=True, slots=True)
class KeyTable:
    """An open key table, with the vault that holds the key of its pseudonyms."""

    path: Path
    header: Row
    vault: Vault

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows to the current content of the file; a series has one row, the latest.

        Raises:
            InputError: if the file is now another table, or cannot be written.
        """
        with file_lock(self.path):
            header, known = self.header, []
            if self.path.is_file():
                content = _content(self.path)
                header = content["vault"]
                known = _rows(content, self.vault, self.path)
            merged = {row["series"]: row for row in (*known, *rows)}
            _write(self.path, header, self.vault, [merged[series] for series in sorted(merged)])


def open_key_table(path: Path, secret: Secret) -> KeyTable:
    """Open a key table; create it if it does not exist, once even if several runs start together.

    Raises:
        InputError: if it is not a key table, was changed, or the secret does not open it.
    """
    with file_lock(path):
        if path.is_file():
            return _opened(path, secret)[0]
        vault, header = create_vault(secret)
        _write(path, header, vault, [])
        return KeyTable(path, header, vault)


def read_key_table(path: Path, secret: Secret) -> list[Row]:
    """Who is who: one row per series.

    Raises:
        InputError: if it is not a key table, was changed, or the secret does not open it.
    """
    if not path.is_file():
        raise InputError.at(str(path), "does not exist.")
    return _opened(path, secret)[1]


def key_table_csv(path: Path, secret: Secret) -> str:
    """Who is who, as CSV: one row per series."""
    return csv_content(pl.DataFrame(read_key_table(path, secret), infer_schema_length=None))


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Lock a file for a short time.

    Raises:
        InputError: if it cannot be written, or stays locked by others.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f".{path.name}.lock"), path, waits_s=_WAITS_S):
            yield
    except OSError as error:
        raise InputError.at(path, f"cannot be written: {error.strerror or error}.") from error


def _opened(path: Path, secret: Secret) -> tuple[KeyTable, list[Row]]:
    content = _content(path)
    vault = open_vault(content.get("vault"), secret, str(path))
    return KeyTable(path, content["vault"], vault), _rows(content, vault, path)


def _content(path: Path) -> Row:
    content = read_json(path)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise InputError.at(str(path), f"has the schema '{schema}', not '{SCHEMA}'.")
    return dict(content)


def _rows(content: Row, vault: Vault, path: Path) -> list[Row]:
    try:
        sealed = base64.b64decode(content["sealed"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError.at(str(path), "was changed: it holds no sealed table.") from error
    rows: list[Row] = json.loads(vault.open(sealed, _TABLE, str(path)))
    return rows


def _write(path: Path, header: Row, vault: Vault, rows: list[Row]) -> None:
    sealed = vault.seal(json.dumps(rows).encode(), _TABLE)
    content = {"schema": SCHEMA, "vault": header, "sealed": base64.b64encode(sealed).decode()}
    replace_whole(path, (json.dumps(content, indent=1) + "\n").encode())


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
    source: Path, out: Path, key_table: Path, secret: Secret, cases: Path | None = None
) -> RenamedReference:
    """Write a reference, with its provenance, under the names that de-identification gave.

    Args:
        source: a reference of any format, by original names.
        out: folder of the new bundle.
        key_table: who is who, sealed.
        secret: opens it.
        cases: table of cases, where the reference has none.

    Raises:
        InputError: if no case is in the key table, or an original name would be left.
    """
    rows = read_key_table(key_table, secret)
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

    A case is identified by its ``series_uid`` or, without one, by its ``case_id``.

    Args:
        reference: by original names.
        rows: the rows of the key table, one per series.
        source: the key table, for messages.

    Raises:
        InputError: if no case is known, or a text would still contain an original name.
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
    """CASES with the new names and dates of the key table."""
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
