"""Parts of a chart -> SVG, in a page or as a file. Only this module escapes its texts."""

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from nodulebench.report.pages.colours import Medium, palette, with_colours
from nodulebench.report.pages.templates import asset, printable


def drawing(
    kind: str,
    width: float,
    height: float,
    parts: Iterable[str],
    *,
    description: str = "",
    attributes: str = "",
) -> Markup:
    """Parts as one SVG element of a class of the style sheet: plot, picture, bar or key.

    Without a description of what it shows it is only decoration. ``attributes`` are further
    attributes, of numbers and fixed words.
    """
    role = f'role="img" aria-label="{escape(description)}"' if description else 'aria-hidden="true"'
    return Markup(  # noqa: S704 - texts come through label, the rest are numbers
        f'<svg class="{kind}" viewBox="0 0 {width:.0f} {height:.0f}"{attributes} {role}>'
        f"{''.join(parts)}</svg>"
    )


def label(x: float, y: float, text: str, kind: str = "") -> str:
    """A text centred at x, or beginning (``first``) or ending (``last``) there."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def embedded_text(shapes: str, text: str) -> str:
    """Shapes with a text that is shown on pointing at them."""
    return f"<g><title>{escape(text)}</title>{shapes}</g>"


def placed(svg: str, x: int, y: int) -> str:
    """An SVG at its natural size inside another."""
    match = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    size = f' width="{match[1]}" height="{match[2]}"' if match else ""
    return str(svg).replace("<svg", f'<svg x="{x}" y="{y}"{size}', 1)


def standalone(svg: str, *, medium: Medium = "light", style: str = "") -> str:
    """A chart as an SVG file with its style sheet; ``style`` is added to it."""
    head, _, rest = str(svg).partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    filled = with_colours(asset("charts.css") + style, medium)
    return printable(f"{head}><style>{filled}</style>{rest}\n")


def on_paper(svg: str) -> str:
    """A chart as an SVG file on white ground, in the fonts of the reader's system."""
    drawn = standalone(svg, style="text { font-family: system-ui, sans-serif; }")
    ground = f'<rect width="100%" height="100%" fill="{palette("light")["paper"]}"/>'
    return drawn.replace("</style>", f"</style>{ground}", 1)
