"""Table: cells in rows with a caption and notes, and any extra of a result as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Language
from nodulebench.report.blocks import Fold
from nodulebench.report.cells import Cell, any_cell, head, words
from nodulebench.report.pages.templates import Block


@dataclass(frozen=True, slots=True)
class Table(Block):
    """A table with its caption and notes."""

    macro: ClassVar[str] = "table"
    caption: str
    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[tuple[str, str]] = ()
    """Letter and text of each note."""
    remark: str = ""
    is_tight: bool = False
    """Whether intervals stand below their values, to save width."""
    kind: str = ""
    """How the page shows it, where not as every table: signatures, with room to write."""
    groups: Sequence[tuple[str, int]] = ()
    """Headings above the heads: text and how many columns each covers."""

    @property
    def has_heads(self) -> bool:
        """Whether anything stands above the columns."""
        return any(one.text for one in self.heads)


def tables_of(name: str, value: Any, say: Language) -> list[Table]:
    """Any list of rows or dictionary that belongs to a result, as tables.

    Rows ``truth, said, <count>`` become a square; numbers are shown by their kind.
    """
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return [_square(name, value, say) if _is_square(value) else _rows(name, value, say)]
    if isinstance(value, dict) and "value" not in value:
        nested = {
            key: item
            for key, item in value.items()
            if isinstance(item, list) or (isinstance(item, dict) and "value" not in item)
        }
        single = [
            [head(say.word(key)), any_cell(item, say)]
            for key, item in value.items()
            if key not in nested
        ]
        own = [Table(say.heading(name), [], single)] if single else []
        parts = [tables_of(f"{name}: {key}", item, say) for key, item in nested.items()]
        return own + [table for part in parts for table in part]
    if isinstance(value, list) and not value:
        return []
    return [Table(say.heading(name), [], [[any_cell(value, say)]])]


def _rows(name: str, rows: list[dict[str, Any]], say: Language) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    places = {key: _places([row.get(key) for row in rows]) for key in columns}
    cells = [[_in_column(row.get(key), places[key], say) for key in columns] for row in rows]
    heads = [
        words(say.word(key)) if cells[0][place].kind == "words" else Cell(say.word(key))
        for place, key in enumerate(columns)
    ]
    return Table(say.heading(name), heads, cells)


def _places(values: list[Any]) -> int:
    """How many decimals a column needs, three at most, so that its numbers line up."""
    shown = [f"{value:.3f}".rstrip("0") for value in values if isinstance(value, float)]
    return max((len(text.partition(".")[2]) for text in shown), default=0)


def _in_column(value: Any, places: int, say: Language) -> Cell:
    return Cell(decimals(value, places)) if isinstance(value, float) else any_cell(value, say)


def _is_square(rows: list[dict[str, Any]]) -> bool:
    return all(len(row) == 3 and {"truth", "said"} < set(row) for row in rows)


def _square(name: str, rows: list[dict[str, Any]], say: Language) -> Table:
    """Pairs of classes as a square: the reference down, what was said across."""
    counted = next(key for key in rows[0] if key not in ("truth", "said"))
    truths = list(dict.fromkeys(row["truth"] for row in rows))
    said = list(dict.fromkeys(row["said"] for row in rows))
    found = {(row["truth"], row["said"]): row[counted] for row in rows}
    return Table(
        say.heading(name),
        [words(say("square.corner")), *(Cell(say.word(str(one))) for one in said)],
        [
            [head(say.word(str(truth))), *(any_cell(found.get((truth, one)), say) for one in said)]
            for truth in truths
        ],
        remark=say("square.remark", counted=say.heading(counted)),
    )


def closed_if_long(table: Table | None, most_rows: int = 12, file: str = "") -> Any:
    """A table as it is, or a long one under its caption, closed; print refers to its file."""
    if table is None or len(table.rows) <= most_rows:
        return table
    return Fold(table.caption, [replace(table, caption="")], is_open=False, file=file)
