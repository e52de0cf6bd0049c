"""Comma-separated text -> a table of strings or numbers, with a clear word when it is neither."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from nodulebench.errors import InputError, Problem

_HEAD_BYTES = 1 << 20
_MOST_ROWS_NAMED = 10


def read_head(path: Path) -> str:
    """The first line of a text file (also gzipped), without its line end.

    Raises:
        InputError: if the file is missing, empty, not text, or has no line break within 1 MB.
    """
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_gzip else path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            Problem(str(path), f"is a damaged gzip file ({error}).", "Compress it anew.")
        ) from error
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}.")) from error
    if not head:
        raise InputError(
            Problem(str(path), "is empty.", "A submission without marks still needs its header.")
        )
    if b"\x00" in head:
        raise InputError(Problem(str(path), "is a binary file, not comma-separated text."))
    line, _, _ = head.partition(b"\n")
    if len(line) == _HEAD_BYTES:
        raise InputError(Problem(str(path), "has no line break in its first megabyte."))
    try:
        return line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(Problem(str(path), "is not UTF-8 text.")) from error


def read_columns(
    path: Path,
    *,
    text: tuple[str, ...],
    numbers: tuple[str, ...],
    optional_text: tuple[str, ...] = (),
    optional_numbers: tuple[str, ...] = (),
    known_cases: pl.Series | None = None,
) -> pl.DataFrame:
    """Read named columns of a CSV file; the first column of ``text`` names the case.

    Column order and further columns do not matter. The table has one more column ``line``, the
    line number in the file.

    Args:
        path: the file, also ``.gz``.
        text: columns of strings that must be there.
        numbers: columns of finite numbers that must be there.
        optional_text: columns of strings that are read where present.
        optional_numbers: columns of numbers that are read where present; may be empty.
        known_cases: rows of other cases may hold anything: their unreadable numbers become null.

    Raises:
        InputError: with one problem per missing column, unreadable number and truncated row.
    """
    header = _header(path)
    missing = [name for name in (*text, *numbers) if name not in header]
    if missing:
        raise InputError(
            Problem(
                str(path),
                f"column '{name}' is missing; found: {', '.join(header[:12])}.",
                f"Needed: {', '.join((*text, *numbers))}.",
            )
            for name in missing
        )
    strings = [name for name in (*text, *optional_text) if name in header]
    floats = [name for name in (*numbers, *optional_numbers) if name in header]
    try:
        table = pl.read_csv(
            path,
            columns=[*strings, *floats],
            schema_overrides={
                **dict.fromkeys(strings, pl.String),
                **dict.fromkeys(floats, pl.Float64),
            },
        ).with_row_index("line", offset=2)
    except pl.exceptions.PolarsError:
        return _read_carefully(path, strings, floats, numbers, known_cases)
    is_bad = _is_unusable(table, (text[0], *numbers), floats, known_cases)
    return _read_carefully(path, strings, floats, numbers, known_cases) if is_bad else table


def _header(path: Path) -> list[str]:
    header = [name.strip('"') for name in read_head(path).split(",")]
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise InputError(
            Problem(str(path), f"column '{name}' stands twice in the header.") for name in repeated
        )
    return header


def _is_unusable(
    table: pl.DataFrame,
    required: tuple[str, ...],
    floats: list[str],
    known_cases: pl.Series | None,
) -> bool:
    """Whether any row that counts lacks a value or holds one that is not finite."""
    is_bad = pl.any_horizontal(
        *(pl.col(name).is_null() for name in required),
        *(pl.col(name).is_finite().not_().fill_null(False) for name in floats),
    )
    suspects = table.filter(is_bad)
    if known_cases is not None:
        suspects = suspects.filter(pl.col(required[0]).is_in(known_cases.implode()))
    return suspects.height > 0


def _read_carefully(
    path: Path,
    strings: list[str],
    floats: list[str],
    required_numbers: tuple[str, ...],
    known_cases: pl.Series | None,
) -> pl.DataFrame:
    """Read everything as text, then say which rows cannot be used and why."""
    try:
        raw = pl.read_csv(path, infer_schema=False, truncate_ragged_lines=True)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(Problem(str(path), f"is not comma-separated text: {reason}.")) from error
    raw = raw.select(*strings, *floats).with_row_index("line", offset=2)
    case = strings[0]
    table = raw.with_columns(pl.col(floats).str.strip_chars().cast(pl.Float64, strict=False))
    counts = pl.lit(True) if known_cases is None else pl.col(case).is_in(known_cases.implode())
    nameless = raw.filter(pl.col(case).is_null()) if known_cases is None else raw.clear()
    problems = [
        Problem(f"{path.name} line {line}", f"{case} is empty.", "Name the case of every row.")
        for line in nameless["line"].head(_MOST_ROWS_NAMED)
    ]
    for name in floats:
        is_short = pl.col(name).is_null() & pl.lit(name in required_numbers)
        is_wrong = (pl.col(name).is_null() & raw[name].is_not_null()) | (
            pl.col(name).is_finite().not_().fill_null(False)
        )
        bad = table.with_columns(given=raw[name]).filter(counts & (is_short | is_wrong))
        problems.extend(_number_problems(path, name, bad))
    if problems:
        raise InputError(problems)
    return table


def _number_problems(path: Path, name: str, bad: pl.DataFrame) -> Iterator[Problem]:
    for line, given in bad.select("line", "given").head(_MOST_ROWS_NAMED).iter_rows():
        if given is None:
            yield Problem(
                f"{path.name} line {line}",
                f"{name} is missing; the row is cut short or empty there.",
                "Complete the row or remove it.",
            )
        else:
            yield Problem(
                f"{path.name} line {line}",
                f"{name} '{given}' is not a finite number.",
                "Correct the value or remove the row.",
            )
    if bad.height > _MOST_ROWS_NAMED:
        yield Problem(path.name, f"{bad.height - _MOST_ROWS_NAMED} more rows like this in {name}.")
