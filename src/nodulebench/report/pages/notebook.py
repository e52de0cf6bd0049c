"""Tables and pictures -> the HTML that a notebook shows; every text is escaped here."""

from base64 import b64encode
from collections.abc import Iterable

from markupsafe import Markup

_TABLE = Markup("<table><caption>{}</caption><tr>{}</tr>{}</table>")
_HEAD, _ROW = Markup("<th>{}</th>"), Markup("<tr>{}</tr>")
_CELL = Markup('<td style="white-space: nowrap">{}</td>')
_IMAGE = Markup('<img alt="{}" style="max-width: 720px" src="data:image/svg+xml;base64,{}">')


def html_table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with its title."""
    nothing = Markup("")
    body = nothing.join(_ROW.format(nothing.join(map(_CELL.format, row))) for row in rows)
    return _TABLE.format(title, nothing.join(map(_HEAD.format, heads)), body)


def picture_apart(title: str, svg: str) -> str:
    """A picture whose styles and those of the page leave each other alone."""
    return _IMAGE.format(title, b64encode(svg.encode()).decode())
