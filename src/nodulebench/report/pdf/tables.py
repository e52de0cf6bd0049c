"""Table of a report -> a table of reportlab that breaks well over pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodulebench.optional_package import needs
from nodulebench.report.blocks.cells import Cell
from nodulebench.report.blocks.tables import Table
from nodulebench.report.pdf.drawing import INK, LINE, MUTED, drawing_of
from nodulebench.report.pdf.fonts import CODE, PURPOSE, Fonts, paragraph_style

SIZES = (7.5, 7.0, 6.5, 6.0, 5.5)
"""Sizes of text that are tried until a table fits."""
PADDING = 3.0
LEAST_WORDS = 46.0
"""A column of words is not made narrower than this, in points."""
MOST_WORDS = 250.0
BAR_WIDTH = 44.0
FLEXIBLE = ("words", "head", "code", "name")
"""Kinds of cells whose text may take several lines."""


@dataclass(frozen=True, slots=True)
class TableMaker:
    """Makes tables of one width and language."""

    fonts: Fonts
    width: float
    is_chinese: bool

    def made(self, table: Table) -> Any:
        """The table without its caption and notes."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        grid, spans = _grid(table)
        size, widths = self._fitted(grid)
        heads = len(grid) - len(table.rows)
        body = [
            [
                "" if cell is None else self._cell(cell, size, width, is_head=number < heads)
                for cell, width in zip(row, widths, strict=True)
            ]
            for number, row in enumerate(grid)
        ]
        made = platypus.LongTable(body, colWidths=widths, repeatRows=heads, hAlign="LEFT")
        made.setStyle(platypus.TableStyle(_rules(heads, spans)))
        return made

    def _fitted(self, grid: Sequence[Sequence[Cell | None]]) -> tuple[float, list[float]]:
        """The largest size of text at which the table fits, and the width of each column."""
        for size in SIZES:
            wanted = [self._natural(column, size) for column in zip(*grid, strict=True)]
            if sum(wanted) <= self.width:
                return size, wanted
            least = [
                min(one, self._least(column, size))
                for one, column in zip(wanted, zip(*grid, strict=True), strict=True)
            ]
            if sum(least) <= self.width:
                # what is left over goes to those that gave most
                spare = (self.width - sum(least)) / (sum(wanted) - sum(least))
                return size, [
                    low + spare * (one - low) for one, low in zip(wanted, least, strict=True)
                ]
        return SIZES[-1], [self.width * one / sum(least) for one in least]

    def _natural(self, column: Sequence[Cell | None], size: float) -> float:
        own = [cell for cell in column if cell is not None and cell.columns == 1]
        widths = [min(MOST_WORDS, self._width(cell, size)) for cell in own]
        return max(widths, default=LEAST_WORDS) + 2 * PADDING

    def _least(self, column: Sequence[Cell | None], size: float) -> float:
        """How narrow a column can be: its longest word, or its whole numbers."""
        own = [cell for cell in column if cell is not None and cell.columns == 1]
        widths = [
            self._longest_word(cell, size)
            if cell.kind in FLEXIBLE or (not cell.bounds and " " in cell.text)
            else self._width(cell, size)
            for cell in own
        ]
        return max(widths, default=0.0) + 2 * PADDING

    def _width(self, cell: Cell, size: float) -> float:
        if cell.kind == "code":
            return len(cell.text) * 0.6 * (size - 1)
        text = self.fonts.width(cell.text + cell.note, size, is_bold=cell.kind == "head")
        bounds = self.fonts.width(cell.bounds, size - 1)
        return max(text, bounds, BAR_WIDTH if cell.picture else 0.0) + 1

    def _longest_word(self, cell: Cell, size: float) -> float:
        if cell.kind == "code":
            return LEAST_WORDS
        if self.is_chinese:
            return min(LEAST_WORDS, self._width(cell, size))
        words = cell.text.split() or [""]
        widths = [self.fonts.width(one, size, is_bold=cell.kind == "head") for one in words]
        return min(MOST_WORDS, max(widths) + 1)

    def _cell(self, cell: Cell, size: float, width: float, *, is_head: bool) -> Any:
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        is_number = cell.kind.startswith("number")
        is_bold = cell.kind in ("head", "number best")
        style = paragraph_style(
            fontName=self.fonts.bold if is_bold and not is_head else self.fonts.plain,
            fontSize=size,
            leading=size * 1.25,
            alignment=2 if is_number else 0,
            textColor=MUTED if is_head else INK,
            wordWrap="CJK" if self.is_chinese or cell.kind == "code" else None,
            splitLongWords=1,
        )
        if cell.kind == "code":
            text = f'<font name="{CODE}" size="{size - 1}">{self.fonts.marked_up(cell.text)}</font>'
        else:
            text = self.fonts.marked_up(cell.text, is_bold=is_bold and not is_head)
        if cell.note:
            text += f"<super>{self.fonts.marked_up(cell.note)}</super>"
        if cell.bounds:
            bounds = self.fonts.marked_up(cell.bounds)
            text += f'<br/><font color="{MUTED}" size="{size - 1}">{bounds}</font>'
        paragraph = platypus.Paragraph(text, style)
        if not cell.picture:
            return paragraph
        bar = drawing_of(str(cell.picture), self.fonts, min(width - 2 * PADDING, BAR_WIDTH))
        bar.hAlign = "RIGHT"
        return [paragraph, bar]


def _grid(table: Table) -> tuple[list[list[Cell | None]], list[tuple[Any, ...]]]:
    """Every cell in its row and column, None where another reaches; and the spans."""
    spans: list[tuple[Any, ...]] = []
    rows: list[list[Cell | None]] = []
    columns = max(
        [len(table.heads), *(sum(cell.columns for cell in row) for row in table.rows)], default=1
    )
    if table.groups:
        line: list[Cell | None] = [None] * columns
        place = 0
        for text, reach in table.groups:
            line[place] = Cell(text, columns=reach)
            if reach > 1:
                spans.append(("SPAN", (place, 0), (place + reach - 1, 0)))
            if text:
                spans.append(("LINEBELOW", (place, 0), (place + reach - 1, 0), 0.4, LINE))
            place += reach
        rows.append(line)
    if any(cell.text for cell in table.heads):
        rows.append([*table.heads])
    taken: dict[tuple[int, int], bool] = {}
    first = len(rows)
    for number, cells in enumerate(table.rows, first):
        row: list[Cell | None] = [None] * columns
        place = 0
        for cell in cells:
            while taken.get((number, place)):
                place += 1
            row[place] = cell
            if cell.rows > 1 or cell.columns > 1:
                end = (place + cell.columns - 1, number + cell.rows - 1)
                spans.append(("SPAN", (place, number), end))
                taken |= {(number + below, place): True for below in range(1, cell.rows)}
            place += cell.columns
        rows.append(row)
    return rows, spans


def _rules(heads: int, spans: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Lines and distances; one thin line below each row."""
    return [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("VALIGN", (0, 0), (-1, max(heads - 1, 0)), "BOTTOM" if heads else "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), PADDING),
        ("RIGHTPADDING", (0, 0), (-1, -1), PADDING),
        ("TOPPADDING", (0, 0), (-1, -1), 1.6),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1.8),
        ("LINEBELOW", (0, heads), (-1, -1), 0.25, LINE),
        *([("LINEBELOW", (0, heads - 1), (-1, heads - 1), 0.6, MUTED)] if heads else []),
        *spans,
    ]
