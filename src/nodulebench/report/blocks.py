"""Parts of a page: tables and their cells, paragraphs, blocks that hold others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Any, ClassVar

from markupsafe import Markup

from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.i18n.numbers import UNDEFINED, decimals, interval, significant, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.pages.cells import NOTHING, Cell
from nodulebench.report.pages.svg import rate_bar
from nodulebench.report.pages.templates import Block


@dataclass(frozen=True, slots=True)
class Section(Block):
    """A part of a page with its anchor, its heading and its blocks."""

    macro: ClassVar[str] = "section"
    name: str
    title: str
    blocks: Sequence[Block | Markup]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Switch(Block):
    """Blocks of one kind of which a page shows one at a time; print shows them all."""

    macro: ClassVar[str] = "switch"
    choices: Sequence[tuple[str, Block]]
    """Name and block of each."""


@dataclass(frozen=True, slots=True)
class Side(Block):
    """Blocks side by side where the page is wide enough."""

    macro: ClassVar[str] = "side"
    blocks: Sequence[Block]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Fold(Block):
    """Blocks under a heading that can be opened and closed."""

    macro: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Block]
    is_open: bool = True
    file: str = ""
    """The file that holds the same, where print only refers to it."""


@dataclass(frozen=True, slots=True)
class Paragraphs(Block):
    """Sentences, a paragraph each."""

    macro: ClassVar[str] = "paragraphs"
    texts: Sequence[str]


Message = Notice | JsonObject | str
"""A notice, a notice as JSON, or text."""

LONGEST_NAME, NAME_SHOWN = 20, 10
"""Characters: names of cases up to the first are shown whole, of longer ones the second."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one table: equal reasons share a letter."""

    translate: Translator
    letters: dict[str, str] = field(default_factory=dict)
    """The text of each note with its letter."""

    def letter(self, reason: Message) -> str:
        number = len(self.letters)
        letter = ascii_lowercase[number % 26] * (number // 26 + 1)
        return self.letters.setdefault(self.translate.message(reason), letter)

    def all(self) -> list[tuple[str, str]]:
        """Every letter with its reason."""
        return [(letter, text) for text, letter in self.letters.items()]


def words(text: str, hint: str = "") -> Cell:
    """A cell of text that may break into lines."""
    return Cell(text, hint=hint, kind="words")


def short(text: str) -> Cell:
    """A cell with a short name that stays on one line."""
    return Cell(text, kind="name")


def head(text: str, rows: int = 1) -> Cell:
    """The cell that heads a row."""
    return Cell(text, kind="head", rows=rows)


def code(text: str) -> Cell:
    """A cell with an identifier."""
    return Cell(text, kind="code")


def case(name: str) -> Cell:
    """A cell with the name of a case; a long name is shown by its end, where names differ."""
    if len(name) <= LONGEST_NAME:
        return Cell(name, kind="code case")
    return Cell(f"…{name[-NAME_SHOWN:]}", hint=name, kind="code case")


def count(value: int | None) -> Cell:
    """A cell with a whole number."""
    return Cell(UNDEFINED if value is None else whole(value))


def undefined(reason: Message | None, notes: Notes, columns: int = 1) -> Cell:
    """A dash with the reason in a note; a dash over many columns shows the reason itself."""
    explanation = notes.translate.message(reason or notes.translate("cell.undefined"))
    if columns > 1:
        text = notes.translate("cell.not_applicable", reason=explanation)
        return Cell(f"{UNDEFINED}  {text}", kind="words", columns=columns)
    return Cell(UNDEFINED, note=notes.letter(explanation), hint=explanation)


def estimate(value: Estimate | None, notes: Notes, *, bar_scale: float = 0.0) -> Cell:
    """A metric with its interval; a dash with the reason in a note where it is undefined.

    With a ``bar_scale`` a bar from 0 to that value is drawn below it.
    """
    if value is None:
        return undefined(notes.translate("cell.not_computed"), notes)
    if value.value is None:
        return undefined(value.reason, notes)
    reason = value.reason
    return Cell(
        decimals(value.value),
        bounds=interval(value),
        note=notes.letter(reason) if reason else "",
        svg=rate_bar(value.value, value.low, value.high, bar_scale) if bar_scale else NOTHING,
    )


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
    """Whether intervals are shown below their values, to save width."""
    kind: str = ""
    """A special layout: ``signatures`` leaves space to write. Empty: as every table."""
    groups: Sequence[tuple[str, int]] = ()
    """Headings above the heads: text and how many columns each covers."""

    @classmethod
    def of(
        cls,
        caption: str,
        rows: "Sequence[Row]",
        translate: Translator,
        notes: Notes | None = None,
        *,
        columns: "Sequence[Head]" = (),
        remark: str = "",
        groups: Sequence[tuple[str, int]] = (),
        is_tight: bool = False,
    ) -> "Table | None":
        """The table of rows that have a heading and a cell for every column; None without rows.

        Args:
            caption: of the table.
            rows: a heading is the key of a text, with its explanation if it has one, or a cell; it
                is aligned as its cells. A row that ends with a cell over many columns has fewer.
            translate: the translator of the language.
            notes: reasons that cells refer to.
            columns: all headings, where all rows might have fewer.
            remark: below the caption.
            groups: headings above the headings.
            is_tight: whether intervals are shown below their values.
        """
        if not rows:
            return None
        heads, longest = [], max(rows, key=len)
        for key in columns or longest:
            if isinstance(key, str):
                cell = longest.get(key, NUMBER)
                is_number = cell.kind.startswith("number") or cell.columns > 1
                kind = "number" if is_number else "words"
                heads.append(Cell(key and translate(key), hint=translate.hint(key), kind=kind))
            else:
                heads.append(key)
        cells, letters = [list(row.values()) for row in rows], notes.all() if notes else ()
        return cls(caption, heads, cells, letters, remark, is_tight, groups=groups)


NUMBER = Cell("")
Head = str | Cell
"""The key of a heading, or the heading itself."""
Row = Mapping[Head, Cell]


def closed_if_long(table: Table | None, most_rows: int = 12, file: str = "") -> Table | Fold | None:
    """A table as it is, or a long one under its caption, closed; print refers to its file."""
    if table is None or len(table.rows) <= most_rows:
        return table
    return Fold(table.caption, [replace(table, caption="")], is_open=False, file=file)


def any_cell(value: Any, translate: Translator) -> Cell:
    """A cell for a value of any JSON kind."""
    match value:
        case None:
            return Cell(UNDEFINED)
        case bool():
            return words(translate.word("yes" if value else "no"))
        case int():
            return count(value)
        case float():
            return Cell(significant(value))
        case "inf":
            return Cell("∞")
        case {"value": None}:
            return Cell(UNDEFINED, hint=translate.message(value.get("reason") or ""))
        case {"value": float() | int() as metric}:
            return Cell(
                decimals(metric),
                bounds=interval(Estimate(metric, value.get("low"), value.get("high"))),
            )
        case list():
            return words(translate.listed(translate.word(str(item)) for item in value))
    return words(translate.word(str(value)))


def tables_of(name: str, value: Any, translate: Translator) -> list[Table]:
    """Any list of rows or dictionary that belongs to a result, as tables.

    Rows ``truth, stated, <count>`` become a square; numbers are shown by their kind.
    """
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        is_square = all(len(row) == 3 and {"truth", "stated"} < set(row) for row in value)
        return [(_square if is_square else _plain)(name, value, translate)]
    if isinstance(value, dict) and "value" not in value:
        nested = {
            key: item
            for key, item in value.items()
            if isinstance(item, list) or (isinstance(item, dict) and "value" not in item)
        }
        single = [
            [head(translate.word(key)), any_cell(item, translate)]
            for key, item in value.items()
            if key not in nested
        ]
        own = [Table(translate.heading(name), [], single)] if single else []
        parts = [tables_of(f"{name}: {key}", item, translate) for key, item in nested.items()]
        return own + [table for part in parts for table in part]
    if isinstance(value, list) and not value:
        return []
    return [Table(translate.heading(name), [], [[any_cell(value, translate)]])]


def _plain(name: str, rows: list[JsonObject], translate: Translator) -> Table:
    """Rows with the same number of decimals, three at most, in a column, so that they line up."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells: list[list[Cell]] = [[] for _ in rows]
    for key in columns:
        values = [row.get(key) for row in rows]
        shown = [f"{value:.3f}".rstrip("0") for value in values if isinstance(value, float)]
        places = max((len(text.partition(".")[2]) for text in shown), default=0)
        for value, line in zip(values, cells, strict=True):
            is_float = isinstance(value, float)
            line.append(Cell(decimals(value, places)) if is_float else any_cell(value, translate))
    heads = [
        Cell(translate.word(key), kind="words" if cell.kind == "words" else "number")
        for key, cell in zip(columns, cells[0], strict=True)
    ]
    return Table(translate.heading(name), heads, cells)


def _square(name: str, rows: list[JsonObject], translate: Translator) -> Table:
    """Pairs of classes as a square: the reference down, the answer of the algorithm across."""
    counted = next(key for key in rows[0] if key not in ("truth", "stated"))
    truths, answers = (dict.fromkeys(row[key] for row in rows) for key in ("truth", "stated"))
    counts = {(row["truth"], row["stated"]): row[counted] for row in rows}
    heads = [words(translate("square.corner"))]
    cells = [
        [
            head(translate.word(str(truth))),
            *(any_cell(counts.get((truth, answer)), translate) for answer in answers),
        ]
        for truth in truths
    ]
    return Table(
        translate.heading(name),
        heads + [Cell(translate.word(str(answer))) for answer in answers],
        cells,
        remark=translate("square.remark", counted=translate.heading(counted)),
    )
