"""Values of a document -> cells of a table, and the notes that explain every dash in them."""

from string import ascii_lowercase
from typing import Any

from nodulebench.core.results import Estimate
from nodulebench.i18n.numbers import UNDEFINED, decimals, interval, significant, whole
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.svg import rate_bar
from nodulebench.report.pages.cells import NOTHING
from nodulebench.report.pages.cells import Cell as Cell

LONGEST_NAME, NAME_SHOWN = 20, 10
"""Characters: names of cases up to the first are shown whole, of longer ones the second."""


class Notes:
    """The notes of one table: equal reasons share a letter."""

    def __init__(self, say: Language) -> None:
        self.say = say
        self._letters: dict[str, str] = {}

    def letter(self, reason: Any) -> str:
        """The letter that stands for a reason."""
        told = self.say.message(reason)
        number = len(self._letters)
        letter = ascii_lowercase[number % 26] * (number // 26 + 1)
        return self._letters.setdefault(told, letter)

    def all(self) -> list[tuple[str, str]]:
        """Every letter with its reason."""
        return [(letter, told) for told, letter in self._letters.items()]


def words(text: str, hint: str = "") -> Cell:
    """A cell of words."""
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
    """A cell with the name of a case: a long one by its end, which tells it apart."""
    if len(name) <= LONGEST_NAME:
        return Cell(name, kind="code case")
    return Cell(f"…{name[-NAME_SHOWN:]}", hint=name, kind="code case")


def count(value: int | None) -> Cell:
    """A cell with a whole number."""
    return Cell(UNDEFINED if value is None else whole(value))


def undefined(reason: Any, notes: Notes, columns: int = 1) -> Cell:
    """A dash with the reason in a note; one that stands for many columns says the reason itself."""
    told = notes.say.message(reason or notes.say("cell.undefined"))
    if columns > 1:
        text = notes.say("cell.not_applicable", reason=told)
        return Cell(f"{UNDEFINED}  {text}", kind="words", columns=columns)
    return Cell(UNDEFINED, note=notes.letter(told), hint=told)


def estimate(value: Estimate | None, notes: Notes, *, bar_scale: float = 0.0) -> Cell:
    """A figure with its interval; a dash with the reason in a note where it is undefined.

    With a ``bar_scale`` a bar stands below it, from 0 to that value.
    """
    if value is None:
        return undefined(notes.say("cell.not_computed"), notes)
    if value.value is None:
        return undefined(value.reason, notes)
    reason = value.reason
    return Cell(
        decimals(value.value),
        bounds=interval(value),
        note=notes.letter(reason) if reason else "",
        picture=rate_bar(value.value, value.low, value.high, bar_scale) if bar_scale else NOTHING,
    )


def any_cell(value: Any, say: Language) -> Cell:
    """A cell for a value of any JSON kind."""
    match value:
        case None:
            return Cell(UNDEFINED)
        case bool():
            return words(say.word("yes" if value else "no"))
        case int():
            return count(value)
        case float():
            return Cell(significant(value))
        case "inf":
            return Cell("∞")
        case {"value": None}:
            return Cell(UNDEFINED, hint=say.message(value.get("reason") or ""))
        case {"value": float() | int() as figure}:
            return Cell(
                decimals(figure),
                bounds=interval(Estimate(figure, value.get("low"), value.get("high"))),
            )
        case list():
            return words(say.listed(say.word(str(item)) for item in value))
    return words(say.word(str(value)))
