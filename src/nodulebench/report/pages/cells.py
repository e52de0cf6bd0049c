"""Cells of tables as HTML; a page has thousands, so they are written without a template."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup, escape

NOTHING = Markup()


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    bounds: str = ""
    """The interval, shown in brackets after the text."""
    note: str = ""
    """The letter of the note that explains it."""
    hint: str = ""
    """A longer form, shown on pointing."""
    svg: Markup = NOTHING
    """A bar below the text."""
    kind: str = "number"
    """number, words, name, head (heads its row) or code."""
    rows: int = 1
    columns: int = 1

    def __html__(self, heads: str = "") -> Markup:
        """The cell as HTML; ``heads`` is ``col`` for the head of a column."""
        heads = heads or ("row" if self.kind == "head" else "")
        tag = "th" if heads else "td"
        parts = [f'<{tag} class="{self.kind}"']
        if heads:
            parts.append(f' scope="{heads}"')
        if self.rows > 1:
            parts.append(f' rowspan="{self.rows}"')
        if self.columns > 1:
            parts.append(f' colspan="{self.columns}"')
        if self.hint:
            parts.append(f' title="{escape(self.hint)}"')
        parts.append(f">{escape(self.text)}")
        if self.bounds:
            parts.append(f' <span class="bounds">({escape(self.bounds)})</span>')
        if self.note:
            parts.append(f"<sup>{escape(self.note)}</sup>")
        parts.append(f"{escape(self.svg)}</{tag}>")
        return Markup("".join(parts))  # noqa: S704 - escaped in parts


def hidden_field(name: str, value: str) -> Markup:
    """A value that a form carries along."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(name, value)


def time_in_utc(at: datetime) -> Markup:
    """A time in UTC, which a script of the page may put into the viewer's zone."""
    text = Markup('<time datetime="{}">{} UTC</time>')
    return text.format(at.isoformat(timespec="seconds"), f"{at:%Y-%m-%d %H:%M}")


_TABLE = Markup("<table><caption>{}</caption><tr>{}</tr>{}</table>")
_HEAD, _ROW = Markup("<th>{}</th>"), Markup("<tr>{}</tr>")
_CELL = Markup('<td style="white-space: nowrap">{}</td>')
_IMAGE = Markup('<img alt="{}" style="max-width: 720px" src="data:image/svg+xml;base64,{}">')


def html_table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    nothing = Markup("")
    body = nothing.join(_ROW.format(nothing.join(map(_CELL.format, row))) for row in rows)
    return _TABLE.format(title, nothing.join(map(_HEAD.format, heads)), body)


def chart_of(title: str, svg: str) -> str:
    """An SVG chart as an image, so that its styles and those of the page do not mix."""
    return _IMAGE.format(title, b64encode(svg.encode()).decode())
