"""Tables of combined algorithms -> every combination beside its best member (LUNA16, tables 1, 2).

The tables are those that ``nodulebench combine --table`` writes: ``members`` joined by ``+``,
``best_single`` and ``difference``, and either what merged candidates reach (``sensitivity``,
``candidates``) or what averaged scores reach (``cpm``, ``sensitivity_at_0.125`` and so on).
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from nodulebench.i18n.numbers import UNDEFINED, decimals, rate, signed
from nodulebench.i18n.translator import Language
from nodulebench.report.cells import Cell, count, words
from nodulebench.report.tables import Table

READING = "sensitivity_at_"
COLUMNS = (
    "hits",
    "sensitivity",
    "cpm",
    "best_single",
    "difference",
    "candidates",
    "candidates_per_case",
)
MEMBER = "■"


def combination_tables(tables: Sequence[pl.DataFrame], say: Language) -> list[Table]:
    """A table for each list of combinations."""
    return [_table(table, say) for table in tables if table.height]


def _table(table: pl.DataFrame, say: Language) -> Table:
    members = [str(one).split("+") for one in table["members"]]
    names = list(dict.fromkeys(name for one in members for name in one))
    readings = [name for name in table.columns if name.startswith(READING)]
    columns = [name for name in COLUMNS if name in table.columns]
    leading = "cpm" if "cpm" in columns else "sensitivity"
    best = max(table[leading])
    rows = [
        [
            *(words(MEMBER if name in within else "") for name in names),
            *(Cell(decimals(row[name])) for name in readings),
            *(
                _cell(name, row[name], is_best=name == leading and row[name] == best)
                for name in columns
            ),
        ]
        for within, row in zip(members, table.iter_rows(named=True), strict=True)
    ]
    heads = [
        *(words(name) for name in names),
        *(Cell(rate(float(name.removeprefix(READING)))) for name in readings),
        *(Cell(say(f"combined.{name}")) for name in columns),
    ]
    title = say("combined.by_scores" if leading == "cpm" else "combined.by_candidates")
    return Table(title, heads, rows, remark=say("combined.remark"))


def _cell(name: str, value: Any, *, is_best: bool) -> Cell:
    if value is None:
        return Cell(UNDEFINED)
    match name:
        case "hits" | "candidates":
            return count(value)
        case "difference":
            return Cell(signed(value))
        case "candidates_per_case":
            return Cell(decimals(value, 1))
    return Cell(decimals(value), kind="number best" if is_best else "number")
