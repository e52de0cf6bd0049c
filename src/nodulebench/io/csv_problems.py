"""A CSV file that cannot be used as it is -> which of its lines are wrong, and why."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import BinaryIO

import polars as pl

from nodulebench.core.errors import Problem, Problems
from nodulebench.io.csv_dialect import unmarked

_LONGEST_LINE_BYTES = 1 << 20
_MOST_NAMED = 10
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_is_plain_number = re.compile(r"[+-]?\d{1,300}(\.\d*)?", re.ASCII).fullmatch


class _UnusableLineError(ValueError):
    """A line after which nothing more can be read."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def row_problems(
    file: BinaryIO,
    name: str,
    header: Sequence[str],
    case_column: str,
    required: Sequence[str],
    numbers: Sequence[str],
    known_cases: pl.Series | None,
) -> list[Problem]:
    """Read a file line by line, however large, and say which rows cannot be used.

    Args:
        file: the bytes of the file, from its header line on.
        name: its name, for messages.
        header: its column names.
        case_column: the column that names the case.
        required: the columns of numbers that may not be empty.
        numbers: all columns of numbers.
        known_cases: rows of other cases are passed over; None: every row counts.
    """
    known = None if known_cases is None else frozenset(known_cases)
    place = {column: header.index(column) for column in (case_column, *numbers)}
    case, width = place[case_column], len(header)
    number_places = [place[column] for column in numbers]
    problems = Problems()
    counts: Counter[str] = Counter()
    try:
        for line, row in _rows(file):
            if (
                len(row) == width
                and row[case]
                and all(_is_plain_number(row[index]) for index in number_places)
            ):
                continue  # nearly every row of a large file: worth a quick look
            if not row or (known is not None and unmarked(_cell(row, case)) not in known):
                continue
            for group, what, remedy in _complaints(row, width, case_column, required, place):
                counts[group] += 1
                if counts[group] <= _MOST_NAMED:
                    problems.add(f"{name} line {line}", what, remedy)
    except _UnusableLineError as error:
        problems.add(f"{name} line {error.line}", str(error))
    for group, number in counts.items():
        if number > _MOST_NAMED:
            where = f" in {group}" if group else ""
            problems.add(name, f"{number - _MOST_NAMED} more rows like this{where}.")
    return problems


def _rows(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """The rows under the header, each with the line it starts on."""
    reader = csv.reader(_lines(file), strict=True)
    line = 1
    try:
        for row in reader:
            if line > 1:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise _UnusableLineError(line, f"is not comma-separated text ({error}).") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    for number in count(1):
        line = file.readline(_LONGEST_LINE_BYTES)
        if not line:
            return
        if len(line) == _LONGEST_LINE_BYTES and not line.endswith(b"\n"):
            raise _UnusableLineError(number, f"is longer than {_LONGEST_LINE_BYTES >> 20} MB.")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _UnusableLineError(number, "is not UTF-8 text.") from error


def _complaints(
    row: list[str], width: int, case_column: str, required: Sequence[str], place: dict[str, int]
) -> Iterator[tuple[str, str, str]]:
    """What is wrong with one row: the group of the complaint, its words, and the remedy."""
    if any(row[width:]):
        what = f"has {len(row)} values, but the header names {width} columns."
        yield "", what, "Is there a comma inside a value? Quote the value, and write 1.5, not 1,5."
        return
    if not _cell(row, place[case_column]):
        yield case_column, f"{case_column} is empty.", "Fill it in for every row."
    for column, index in place.items():
        if column == case_column:
            continue
        value = _cell(row, index).strip()
        if not value and column in required:
            what = f"{column} is missing; the row is cut short or empty there."
            yield column, what, "Complete the row or remove it."
        elif value and not (_NUMBER.fullmatch(value) and math.isfinite(float(value))):
            what = f"{column} '{value[:60]}' is not a finite number."
            yield column, what, "Correct the value or remove the row."


def _cell(row: list[str], index: int) -> str:
    return row[index] if index < len(row) else ""
