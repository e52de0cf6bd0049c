"""Combined algorithms -> tables of every combination beside its best member (LUNA16, tables 1, 2).

A combination is ``{"members": [...], "best_single": ..., "difference": ...}`` with either what a
list of candidates reaches (``sensitivity``, ``candidates``, ``per_scan``) or what combined scores
reach (``sensitivity_at_fp_rate`` by rate, ``cpm``).
"""

from collections.abc import Sequence
from typing import Any

from nodulebench.report.cells import Cell, count, words
from nodulebench.report.language import Language
from nodulebench.report.numbers import UNDEFINED, decimals, rate, signed
from nodulebench.report.tables import Table

RATES = "sensitivity_at_fp_rate"
MEMBER = "■"

Combination = dict[str, Any]


def combination_tables(tables: Sequence[dict[str, Any]], say: Language) -> list[Table]:
    """A table for each list of combinations: ``{"title": ..., "rows": [...]}``."""
    return [_table(table["rows"], table.get("title", ""), say) for table in tables if table["rows"]]


def _table(rows: list[Combination], title: str, say: Language) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row["members"]))
    rates = list(dict.fromkeys(key for row in rows for key in row.get(RATES, {})))
    columns = [
        name
        for name in ("sensitivity", "cpm", "best_single", "difference", "candidates", "per_scan")
        if any(row.get(name) is not None for row in rows)
    ]
    best = max((row.get("cpm", row.get("sensitivity")) or 0.0 for row in rows), default=0.0)
    cells = [
        [
            *(words(MEMBER if name in row["members"] else "") for name in names),
            *(_share(row.get(RATES, {}).get(key)) for key in rates),
            *(_cell(name, row, best) for name in columns),
        ]
        for row in rows
    ]
    heads = [
        *(words(name) for name in names),
        *(Cell(rate(float(key))) for key in rates),
        *(Cell(say(f"combined.{name}")) for name in columns),
    ]
    return Table(title or say("combined.caption"), heads, cells, remark=say("combined.remark"))


def _share(value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else decimals(value))


def _cell(name: str, row: Combination, best: float) -> Cell:
    value = row.get(name)
    match name:
        case _ if value is None:
            return Cell(UNDEFINED)
        case "candidates":
            return count(value)
        case "difference":
            return Cell(signed(value))
        case "per_scan":
            return Cell(decimals(value, 1))
        case "cpm" | "sensitivity" if value == best:
            return Cell(decimals(value), kind="number best")
    return Cell(decimals(value))
