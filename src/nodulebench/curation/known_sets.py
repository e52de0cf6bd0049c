"""A list of another set's scans <-> KnownSet: series UIDs, pixel digests, perceptual hashes.

A CSV file with any of the columns, or plain text with one series UID per line.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, refuse_any
from nodulebench.curation.duplicates import Fingerprint, KnownSet
from nodulebench.curation.perceptual_hash import PerceptualHash
from nodulebench.io.csv_files import read_columns, read_header, write_csv

UID_COLUMNS = ("series_uid", "seriesuid", "SeriesInstanceUID")
PIXEL_COLUMNS = ("pixel_sha256", "hu_sha256")
HASH_COLUMN = "perceptual_hash"


def read_known_set(path: Path) -> KnownSet:
    """The scans that a list names.

    Raises:
        InputError: if it has none of the columns, or a hash cannot be read.
    """
    header = read_header(path)
    columns = [name for name in (*UID_COLUMNS, *PIXEL_COLUMNS, HASH_COLUMN) if name in header]
    if not columns:
        return _plain_list(path, header)
    table = read_columns(path, text=(columns[0],), numbers=(), optional_text=tuple(columns[1:]))
    known, problems = KnownSet(path.stem), Problems()
    for row in table.iter_rows(named=True):
        text = row.get(HASH_COLUMN)
        try:
            hashed = PerceptualHash.from_text(text) if text else None
        except ValueError as error:
            problems.add(f"{path.name} line {row['line']}", f"holds {error}.")
            continue
        known.add(Fingerprint(_first(row, UID_COLUMNS), _first(row, PIXEL_COLUMNS), hashed))
    refuse_any(problems)
    return known


def write_known_set(rows: Iterable[tuple[str, str, str]], path: Path) -> None:
    """Write series UID, pixel digest and perceptual hash of scans as a list for other sets."""
    names = {UID_COLUMNS[0]: pl.String, PIXEL_COLUMNS[0]: pl.String, HASH_COLUMN: pl.String}
    write_csv(pl.DataFrame(list(rows), schema=names, orient="row"), path)


def _plain_list(path: Path, header: list[str]) -> KnownSet:
    """One series UID per line."""
    lines = path.read_text(encoding="utf-8").split() if len(header) == 1 else []
    if not lines or not all(set(one) <= set("0123456789.") for one in lines):
        wanted = ", ".join((*UID_COLUMNS, *PIXEL_COLUMNS, HASH_COLUMN))
        found = ", ".join(header[:12])
        raise InputError.at(path, f"names no series; found: {found}.", f"Columns known: {wanted}.")
    known = KnownSet(path.stem)
    for uid in lines:
        known.add(Fingerprint(uid))
    return known


def _first(row: dict[str, str | None], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := row.get(name))), "")
