"""Comma-separated text -> a table of strings and numbers, with a clear word when it is neither."""

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_dialect import (
    FORMULA,
    MARKED,
    NUMBER,
    Dialect,
    dialect_of,
    marked,
    plain_csv,
    spelt,
    unmarked,
)
from nodulebench.io.csv_problems import row_problems

_HEAD_BYTES = 1 << 16
_MOST_UNPACKED_BYTES = 1 << 33
_HIGHEST_GZIP_RATIO = 1032  # deflate cannot pack better
_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is gzipped.

    Raises:
        InputError: if it cannot be opened, or its gzip stream is damaged.
    """
    try:
        with path.open("rb") as plain:
            is_gzip = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            yield cast("BinaryIO", gzip.GzipFile(fileobj=plain)) if is_gzip else plain
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError.at(
            path, f"is a damaged gzip file ({error}).", "Compress it anew."
        ) from error
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}.") from error


def read_head(path: Path) -> str:
    """The first line of a text file (also gzipped), without its line end.

    Raises:
        InputError: if the file is missing, empty, not text, or starts with an endless line.
    """
    return _first_line(_start(path), path)


def read_dialect(path: Path) -> Dialect:
    """How a CSV file separates its columns and writes fractions."""
    start = _start(path)
    return dialect_of(_first_line(start, path), start)


def read_header(
    path: Path, wanted: Iterable[str] = (), given: Mapping[str, str] | None = None
) -> list[str]:
    """The column names of a CSV file; those that are wanted in our spelling.

    Args:
        path: the file, also ``.gz``.
        wanted: names that are known under another spelling too (case, spaces, underscores).
        given: for a wanted name the one it has in this file.

    Raises:
        InputError: if it has none, or a name stands twice.
    """
    header = [unmarked(name) for name in _read_header(path)]
    if given is not None:
        require_columns(path, header, list(given.values()))
    return spelt(header, wanted, given)


def _start(path: Path) -> bytes:
    with open_bytes(path) as file:
        start = file.read(_HEAD_BYTES)
    if not start:
        raise InputError.at(path, "is empty.", "A submission without marks still needs its header.")
    for first, kind in _OTHER_KINDS.items():
        if start.startswith(first):
            raise InputError.at(
                path, f"is {kind}, not comma-separated text.", "Save it as UTF-8 CSV."
            )
    if b"\x00" in start:
        raise InputError.at(path, "is a binary file, not comma-separated text.")
    return start


def _first_line(start: bytes, path: Path) -> str:
    line, end, _ = start.partition(b"\n")
    if not end and len(start) == _HEAD_BYTES:
        raise InputError.at(path, f"has no line break in its first {_HEAD_BYTES >> 10} kB.")
    try:
        return line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError.at(
            f"{path.name} line 1", "is not UTF-8 text.", "Save it as UTF-8."
        ) from error


def _read_header(path: Path) -> list[str]:
    start = _start(path)
    line = _first_line(start, path)
    try:
        header = next(csv.reader([line], delimiter=dialect_of(line).separator), [])
    except csv.Error as error:
        raise InputError.at(
            f"{path.name} line 1",
            f"is not comma-separated text ({error}).",
            "End lines with a line feed.",
        ) from error
    repeated = [name for name, count in Counter(header).items() if count > 1]
    refuse_any(
        Problem(str(path), f"column '{name}' stands twice in the header.") for name in repeated
    )
    return header


def csv_source(path: Path, header: Sequence[str]) -> Path | bytes:
    """A CSV file as it is where it is plain, else its content with commas, points and this header.

    Raises:
        InputError: if it cannot be read so.
    """
    dialect = read_dialect(path)
    if dialect.is_plain and _read_header(path) == list(header):
        return path
    try:
        with open_bytes(path) as file:
            return plain_csv(file.read().decode("utf-8-sig"), dialect, header)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError.at(
            path, f"cannot be read as text with {dialect.word} between columns: {error}."
        ) from error


def require_columns(path: Path, header: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a file whose header lacks one of the columns that are needed."""
    missing = [name for name in needed if name not in header]
    if not missing:
        return
    found = ", ".join(header[:12])
    raise InputError(
        Problem(
            str(path),
            f"column '{name}' is missing; found: {found}.",
            f"Needed: {', '.join(needed)}.",
        )
        for name in missing
    )


def read_columns(
    path: Path,
    *,
    text: tuple[str, ...],
    numbers: tuple[str, ...],
    optional_text: tuple[str, ...] = (),
    optional_numbers: tuple[str, ...] = (),
    known_cases: pl.Series | None = None,
    given: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Read named columns of a CSV file; the first column of ``text`` names the case.

    Column order and further columns do not matter, blank lines are passed over. Columns may be
    separated by semicolons or tabs, numbers then have decimal commas, and names may be spelt with
    other cases and signs. The table has one more column ``line``, the line number in the file.

    Args:
        path: the file, also ``.gz``.
        text: columns of strings that must be there.
        numbers: columns of finite numbers that must be there.
        optional_text: columns of strings that are read where present.
        optional_numbers: columns of numbers that are read where present; may be empty.
        known_cases: rows of other cases may hold anything: their unreadable numbers become null.
        given: for each of these names the one that it has in this file; None: they are ours.

    Raises:
        InputError: with one problem per missing column, unreadable number and truncated row.
    """
    header = read_header(path, (*text, *numbers, *optional_text, *optional_numbers), given)
    require_columns(path, header, (*text, *numbers))
    refuse_flood(path)
    source = csv_source(path, header)
    strings = [name for name in (*text, *optional_text) if name in header]
    floats = [name for name in (*numbers, *optional_numbers) if name in header]
    try:
        types = dict.fromkeys(strings, pl.String) | dict.fromkeys(floats, pl.Float64)
        table = pl.read_csv(source, glob=False, columns=list(types), schema_overrides=types)
        table = without_marks(table).with_row_index("line", offset=2)
    except (pl.exceptions.PolarsError, OSError):
        table = None
    if table is None or _is_doubtful(table, (text[0], *numbers), floats, known_cases):
        with open_bytes(path) if isinstance(source, Path) else BytesIO(source) as file:
            refuse_any(row_problems(file, path.name, header, text[0], numbers, floats, known_cases))
        table = _read_tolerantly(path, header, strings, floats)
    return table


def refuse_flood(path: Path) -> None:
    """Refuse a gzip file that unpacks to more than memory can be expected to hold."""
    if path.stat().st_size * _HIGHEST_GZIP_RATIO <= _MOST_UNPACKED_BYTES:
        return
    with open_bytes(path) as file:
        if not isinstance(file, gzip.GzipFile):
            return
        unpacked = 0
        while chunk := file.read(1 << 24):
            unpacked += len(chunk)
            if unpacked > _MOST_UNPACKED_BYTES:
                raise InputError.at(
                    path,
                    f"unpacks to more than {_MOST_UNPACKED_BYTES / 2**30:g} GB.",
                    "Split it, or give it unpacked.",
                )


def _is_doubtful(
    table: pl.DataFrame, required: tuple[str, ...], floats: list[str], known_cases: pl.Series | None
) -> bool:
    """Whether any row that counts lacks a value or holds one that is not finite."""
    finite = table.select(pl.col(floats).is_finite().all()).row(0) if floats else ()
    if all(finite) and not any(table[name].null_count() for name in required):
        return False
    if known_cases is None:
        return True
    is_bad = pl.any_horizontal(
        *(pl.col(name).is_null() for name in required),
        *(pl.col(name).is_finite().not_().fill_null(False) for name in floats),
    )
    counts = pl.col(required[0]).is_in(known_cases.implode()) | pl.col(required[0]).is_null()
    return table.filter(is_bad & counts).height > 0


def read_strings(path: Path, header: Sequence[str], **options: Any) -> pl.DataFrame:
    """A CSV file as text under this header, with further options of ``polars.read_csv``.

    Raises:
        InputError: if it is none.
    """
    source = csv_source(path, header)
    try:
        return without_marks(pl.read_csv(source, glob=False, infer_schema=False, **options))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError.at(path, f"is not comma-separated text: {reason}.") from error


def _read_tolerantly(
    path: Path, header: Sequence[str], strings: list[str], floats: list[str]
) -> pl.DataFrame:
    """The table with null where a number cannot be read, for rows that do not count."""
    raw = read_strings(path, header, columns=[*strings, *floats], truncate_ragged_lines=True)
    return (
        raw.with_row_index("line", offset=2)
        .filter(~pl.all_horizontal(pl.col(*strings, *floats).is_null()))
        .with_columns(pl.col(floats).str.strip_chars().cast(pl.Float64, strict=False))
    )


def csv_content(table: pl.DataFrame, *, has_header: bool = True) -> str:
    """A table as CSV in which a spreadsheet finds no formula: such text has an apostrophe before.

    Our own readers take it off again.
    """
    risky = [
        name
        for name, kind in table.schema.items()
        if kind == pl.String and table[name].str.contains(FORMULA).any()
    ]
    text = pl.col(risky)
    is_number = text.str.contains(NUMBER)
    harmless = pl.when(is_number).then(text).otherwise(text.str.replace(FORMULA, "'${0}"))
    kept = table.with_columns(harmless) if risky else table
    return kept.rename(marked).write_csv(include_header=has_header)


def without_marks(table: pl.DataFrame) -> pl.DataFrame:
    """A table that was read from CSV, with its text as it was before ``csv_content``."""
    marked = [
        column.name
        for column in table
        if column.dtype == pl.String and column.str.starts_with("'").any()
    ]
    return table.with_columns(pl.col(marked).str.replace(MARKED, "${1}")) if marked else table


def write_csv(table: pl.DataFrame, path: Path, *, has_header: bool = True) -> None:
    """Write a table as CSV, gzipped where the name ends in .gz, whole or not at all."""
    content = csv_content(table, has_header=has_header).encode()
    with staged_file(path) as stage:
        # without a time stamp, the same table gives the same bytes
        stage.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
