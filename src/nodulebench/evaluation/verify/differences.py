"""Two documents or tables -> where they differ, one place each."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from nodulebench.core.notices import is_notice
from nodulebench.i18n.translator import english

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Numbers this near are the same: other processors may round the last digits otherwise."""

MOST_ROWS = 5
"""How many rows of a table are named; the others are counted."""

_NAME = re.compile(r"\w[\w.-]*")


class _Nothing:
    """What stands for a value that is not there."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where what is written is not what was recomputed."""

    file: str
    where: str
    written: Any = NOTHING
    recomputed: Any = NOTHING

    def __str__(self) -> str:
        if self.written is NOTHING and self.recomputed is NOTHING:
            return f"{self.file} {self.where}"
        found = f"written {_shown(self.written)}, recomputed {_shown(self.recomputed)}"
        return f"{self.file} {self.where}: {found}"


def count_values(value: Any) -> int:
    """How many texts, numbers and the like a document holds."""
    if isinstance(value, dict):
        return sum(map(count_values, value.values()))
    return sum(map(count_values, value)) if isinstance(value, list) else 1


def document_differences(
    written: Any, recomputed: Any, file: str, where: str = ""
) -> Iterator[Difference]:
    """Where two JSON values differ; keys may stand in any order."""
    if isinstance(written, dict) and isinstance(recomputed, dict):
        for key in dict.fromkeys((*written, *recomputed)):
            place = _below(where, key)
            yield from document_differences(
                written.get(key, NOTHING), recomputed.get(key, NOTHING), file, place
            )
    elif isinstance(written, list) and isinstance(recomputed, list):
        for index, one, other in _beside(written, recomputed):
            yield from document_differences(one, other, file, f"{where}[{index}]")
    elif not _is_same(written, recomputed):
        yield Difference(file, where, written, recomputed)


def _beside(written: list[Any], recomputed: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """What stands in two lists at the same place; notices that both have may stand anywhere."""
    places, others = list(range(len(written))), recomputed
    if all(map(is_notice, (*written, *recomputed))):
        places = [place for place in places if written[place] not in recomputed]
        others = [one for one in recomputed if one not in written]
    further = range(len(written), len(written) + len(others) - len(places))
    for number, place in enumerate((*places, *further)):
        one = written[place] if place < len(written) else NOTHING
        yield place, one, others[number] if number < len(others) else NOTHING


def table_differences(
    written: pl.DataFrame, recomputed: pl.DataFrame, file: str
) -> Iterator[Difference]:
    """Where two tables differ: their columns, their height, and the first rows that do."""
    if written.columns != recomputed.columns:
        yield Difference(file, "columns", written.columns, recomputed.columns)
        return
    if written.height != recomputed.height:
        yield Difference(file, "number of rows", written.height, recomputed.height)
        return
    is_other = pl.Series([False]).new_from_index(0, written.height)
    for column in written.columns:
        is_other |= _is_other(written[column], recomputed[column])
    rows = is_other.arg_true()
    for row in rows.head(MOST_ROWS):
        pairs = zip(written.row(row), recomputed.row(row), strict=True)
        for name, (value, other) in zip(written.columns, pairs, strict=True):
            if not _is_same(value, other):
                yield Difference(file, f"row {row} {name}", value, other)
    if len(rows) > MOST_ROWS:
        yield Difference(file, f"{len(rows) - MOST_ROWS} more rows differ")


def _is_other(written: pl.Series, recomputed: pl.Series) -> pl.Series:
    """For each row whether two columns differ; NaN is NaN, and empty is empty."""
    if not (written.dtype.is_float() and recomputed.dtype.is_float()):
        return written.cast(pl.String).ne_missing(recomputed.cast(pl.String))
    room = pl.max_horizontal(written.abs() * RELATIVE, recomputed.abs() * RELATIVE, ABSOLUTE)
    is_near = pl.select((written - recomputed).abs() <= room).to_series()
    # NaN would count as near everything, and infinity as far from itself
    is_near &= written.is_finite() & recomputed.is_finite()
    return ~is_near.fill_null(False) & written.ne_missing(recomputed)


def _is_same(written: Any, recomputed: Any) -> bool:
    if isinstance(written, bool) or isinstance(recomputed, bool):
        return written is recomputed
    if isinstance(written, int) and isinstance(recomputed, int):
        return written == recomputed
    if isinstance(written, int | float) and isinstance(recomputed, int | float):
        both_nan = math.isnan(written) and math.isnan(recomputed)
        return both_nan or math.isclose(written, recomputed, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(written) is type(recomputed) and bool(written == recomputed)


def _below(where: str, key: str) -> str:
    if not _NAME.fullmatch(key):
        return f"{where}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{where}.{key}" if where else key


def _shown(value: Any) -> str:
    value = english(value) if is_notice(value) else value
    text = repr(value) if value is NOTHING else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else f"{text[:117]}..."
