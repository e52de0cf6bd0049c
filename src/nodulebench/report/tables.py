"""Table: cells in rows with a caption and notes, and any extra of a result as tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from nodulebench.report.cells import Cell, any_cell, head, words
from nodulebench.report.numbers import decimals
from nodulebench.report.words import in_words


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption and notes."""

    caption: str
    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[tuple[str, str]] = ()
    """Letter and text of each note."""
    remark: str = ""
    is_tight: bool = False
    """Whether intervals stand below their values, to save width."""
    groups: Sequence[tuple[str, int]] = ()
    """Headings above the heads: text and how many columns each covers."""

    def __html__(self) -> str:
        caption = escape(self.caption)
        remark = f'<p class="remark">{escape(self.remark)}</p>' if self.remark else ""
        heads = "".join(one.html(is_column=True) for one in self.heads)
        has_heads = any(one.text for one in self.heads)
        rows = "\n".join(f"<tr>{''.join(one.html() for one in row)}</tr>" for row in self.rows)
        notes = "".join(
            f"<span><sup>{escape(letter)}</sup> {escape(text)}</span>"
            for letter, text in self.notes
        )
        return "".join(
            [
                f'<div class="table"><h3>{caption}</h3>{remark}',
                f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">',
                '<table class="tight">' if self.is_tight else "<table>",
                f"<thead>{self._groups()}<tr>{heads}</tr></thead>" if has_heads else "",
                f"<tbody>\n{rows}\n</tbody></table></div>",
                f'<p class="notes">{notes}</p>' if notes else "",
                "</div>\n",
            ]
        )

    def _groups(self) -> str:
        if not self.groups:
            return ""
        cells = (
            f'<th colspan="{width}"{" class=group" if text else ""}>{escape(text)}</th>'
            for text, width in self.groups
        )
        return f"<tr>{''.join(cells)}</tr>"


def tables_of(name: str, value: Any) -> list[Table]:
    """Any list of rows or dictionary that belongs to a result, as tables.

    Rows ``truth, said, <count>`` become a square; numbers are shown by their kind.
    """
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return [_square(name, value) if _is_square(value) else _rows(name, value)]
    if isinstance(value, dict) and "value" not in value:
        nested = {
            key: item
            for key, item in value.items()
            if isinstance(item, list) or (isinstance(item, dict) and "value" not in item)
        }
        single = [[head(in_words(k)), any_cell(v)] for k, v in value.items() if k not in nested]
        own = [Table(in_words(name).capitalize(), [], single)] if single else []
        parts = [tables_of(f"{name}: {key}", item) for key, item in nested.items()]
        return own + [table for part in parts for table in part]
    if isinstance(value, list) and not value:
        return []
    return [Table(in_words(name).capitalize(), [], [[any_cell(value)]])]


def _rows(name: str, rows: list[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    places = {key: _places([row.get(key) for row in rows]) for key in columns}
    cells = [[_in_column(row.get(key), places[key]) for key in columns] for row in rows]
    heads = [
        words(in_words(key)) if cells[0][place].kind == "words" else Cell(in_words(key))
        for place, key in enumerate(columns)
    ]
    return Table(in_words(name).capitalize(), heads, cells)


def _places(values: list[Any]) -> int:
    """How many decimals a column needs, three at most, so that its numbers line up."""
    shown = [f"{value:.3f}".rstrip("0") for value in values if isinstance(value, float)]
    return max((len(text.partition(".")[2]) for text in shown), default=0)


def _in_column(value: Any, places: int) -> Cell:
    return Cell(decimals(value, places)) if isinstance(value, float) else any_cell(value)


def _is_square(rows: list[dict[str, Any]]) -> bool:
    return all(len(row) == 3 and {"truth", "said"} < set(row) for row in rows)


def _square(name: str, rows: list[dict[str, Any]]) -> Table:
    """Pairs of classes as a square: the reference down, what was said across."""
    counted = next(key for key in rows[0] if key not in ("truth", "said"))
    truths = list(dict.fromkeys(row["truth"] for row in rows))
    said = list(dict.fromkeys(row["said"] for row in rows))
    found = {(row["truth"], row["said"]): row[counted] for row in rows}
    return Table(
        in_words(name).capitalize(),
        [words("Reference ↓  said →"), *(Cell(in_words(str(one))) for one in said)],
        [
            [head(in_words(str(truth))), *(any_cell(found.get((truth, one))) for one in said)]
            for truth in truths
        ],
        remark=f"{in_words(counted).capitalize()} by their class in the reference and as said.",
    )


@dataclass(frozen=True, slots=True)
class Side:
    """Blocks beside each other where the page is wide enough."""

    blocks: Sequence[Any]

    def __html__(self) -> str:
        return f'<div class="side">{_joined(self.blocks)}</div>\n'


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks under a heading that can be opened and closed."""

    title: str
    blocks: Sequence[Any]
    is_open: bool = True

    def __html__(self) -> str:
        is_open = " open" if self.is_open else ""
        title = f"<summary>{escape(self.title)}</summary>"
        return f"<details{is_open}>{title}{_joined(self.blocks)}</details>\n"


def _joined(blocks: Sequence[Any]) -> Markup:
    return Markup("").join(blocks)
