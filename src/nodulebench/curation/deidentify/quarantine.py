"""Files that were not de-identified, with the code of each: a list beside the key table.

It names files of the originals, so it is kept where the key table is, apart from what goes out.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from nodulebench.core.notices import Notice
from nodulebench.curation.deidentify.key_table import claimed
from nodulebench.i18n.translator import english
from nodulebench.io.csv_files import read_columns, write_csv
from nodulebench.io.durable import settle

COLUMNS = ("file", "code", "reason")


def quarantine_of(key_table: Path) -> Path:
    """Where the list is."""
    return key_table.with_name(f"{key_table.name}.quarantine.csv")


def list_quarantine(
    path: Path, files: Iterable[str], left_out: Iterable[tuple[str, Notice]]
) -> None:
    """Bring the list up to date: files that were looked at now stand in it if they were left out.

    Args:
        path: of the list; there is none where nothing is left out.
        files: that were looked at.
        left_out: those of them that were left out, and why.

    Raises:
        InputError: if the place cannot be written.
    """
    with claimed(path):
        seen = {_writable(file) for file in files}
        rows = [row for row in _listed(path) if row["file"] not in seen]
        rows += [
            {"file": _writable(file), "code": why.code, "reason": english(why)}
            for file, why in left_out
        ]
        if rows:
            schema = dict.fromkeys(COLUMNS, pl.String)
            write_csv(pl.DataFrame(rows, schema=schema).sort("file"), path)
        elif path.exists():
            path.unlink()
            settle(path.resolve().parent)


def _listed(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    return list(read_columns(path, text=COLUMNS, numbers=()).select(COLUMNS).to_dicts())


def _writable(name: str) -> str:
    """The name of a file as text: bytes that are none are written out."""
    return name.encode("utf-8", "backslashreplace").decode()
