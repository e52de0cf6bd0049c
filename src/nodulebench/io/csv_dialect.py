"""CSV files as people write them (';', tabs, decimal commas, other spelling) -> as we read them."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""What may stand between columns, and its name."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", re.ASCII)
FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
"""Text that a spreadsheet would work out, or that is marked as such by an apostrophe."""
MARKED = r"^'('*[=+\-@\t\r\n＝＋－＠])"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_FORMULA, _MARKED, _NUMBER = map(re.compile, (FORMULA, MARKED, NUMBER))
_NO_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file separates columns and writes fractions."""

    separator: str = ","
    has_decimal_comma: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is as we write it ourselves."""
        return self.separator == ","

    @property
    def word(self) -> str:
        """What stands between columns, in a word."""
        return SEPARATORS[self.separator]


def dialect_of(header: str, start: bytes = b"") -> Dialect:
    """The dialect of a file: its separator is the one that its header has most often.

    Args:
        header: its first line.
        start: its first bytes, to see how it writes fractions.
    """
    separator = max(SEPARATORS, key=header.count)
    if separator == ",":
        return Dialect()
    _, *rows = start.decode("utf-8", "replace").splitlines() or [""]
    cells = (cell for row in rows for cell in row.split(separator))
    return Dialect(separator, any(map(_DECIMAL_COMMA.fullmatch, cells)))


def marked(cell: str) -> str:
    """A text as we write it: with an apostrophe before what a spreadsheet takes for a formula.

    A number is none; a text that looks marked already gets one more, so that ``unmarked`` gives
    back every text as it was.
    """
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unmarked(cell: str) -> str:
    """A text as it was before ``marked``."""
    return _MARKED.sub(r"\1", cell)


def simple_name(name: str) -> str:
    """A column's name without case, spaces, dashes and underscores."""
    return _NO_LETTERS.sub("", name).lower()


def spelt(
    header: Sequence[str], wanted: Iterable[str], given: Mapping[str, str] | None = None
) -> list[str]:
    """The header with the names that are wanted, where it has them in another spelling.

    Args:
        header: the names in the file.
        wanted: the names that are looked for.
        given: for a wanted name the one it has in the file, as somebody said.
    """
    if given is not None:
        renamed = {theirs: ours for ours, theirs in given.items()}
        # a column that has the name of another one's place is none of ours
        return [renamed.get(one, f"{one}?" if one in given else one) for one in header]
    missing = {simple_name(one): one for one in wanted if one not in header}
    simple = [simple_name(one) for one in header]
    return [
        missing.get(plain, one) if simple.count(plain) == 1 else one
        for one, plain in zip(header, simple, strict=True)
    ]


def plain_csv(text: str, dialect: Dialect, header: Sequence[str]) -> bytes:
    """The text with commas between columns, decimal points, and another header; lines stay.

    Raises:
        csv.Error: if it cannot be read so.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    rows = csv.reader(io.StringIO(text), delimiter=dialect.separator, strict=True)
    next(rows, None)
    write(header)
    for row in rows:
        write([_with_point(cell) for cell in row] if dialect.has_decimal_comma else row)
    return out.getvalue().encode()


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell
