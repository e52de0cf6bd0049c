"""Who is who after de-identification: one row per series, sealed, shared by any number of runs."""

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.io.csv_files import csv_content
from nodulebench.io.durable import replace_whole
from nodulebench.io.json_files import read_json
from nodulebench.io.lock import locked
from nodulebench.security.vault import Secret, Vault, create_vault, open_vault

SCHEMA = "nodulebench/key-table@1"
Row = dict[str, Any]
_TABLE = "key table"
_WAITS_S = 60.0
"""For another run that is adding its rows, which takes moments."""


@dataclass(frozen=True, slots=True)
class KeyTable:
    """A key table that was opened: what its pseudonyms are made with, and what it was."""

    path: Path
    header: Row
    vault: Vault

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows to what the file holds by now; one series has one row, the latest.

        Raises:
            InputError: if another table lies in its place, or the place cannot be written.
        """
        with claimed(self.path):
            header, known = self.header, []
            if self.path.is_file():
                content = _content(self.path)
                header = content["vault"]
                known = _rows(content, self.vault, self.path)
            merged = {row["series"]: row for row in (*known, *rows)}
            _write(self.path, header, self.vault, [merged[series] for series in sorted(merged)])


def open_key_table(path: Path, secret: Secret) -> KeyTable:
    """A key table to work with; made if it is not there, once, whoever comes at the same time.

    Raises:
        InputError: if it is no key table, was changed, or the secret is another.
    """
    with claimed(path):
        if path.is_file():
            return _opened(path, secret)[0]
        vault, header = create_vault(secret)
        _write(path, header, vault, [])
        return KeyTable(path, header, vault)


def read_key_table(path: Path, secret: Secret) -> list[Row]:
    """Who is who: one row per series.

    Raises:
        InputError: if it is no key table, was changed, or the secret is another.
    """
    if not path.is_file():
        raise InputError.at(str(path), "is not there.")
    return _opened(path, secret)[1]


def key_table_csv(path: Path, secret: Secret) -> str:
    """Who is who, as CSV: one row per series."""
    return csv_content(pl.DataFrame(read_key_table(path, secret), infer_schema_length=None))


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Have a file to oneself for a moment.

    Raises:
        InputError: if it cannot be written, or others keep it.
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
    found = content.get("schema") if isinstance(content, dict) else None
    if found != SCHEMA:
        raise InputError.at(str(path), f"has the schema '{found}', not '{SCHEMA}'.")
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
