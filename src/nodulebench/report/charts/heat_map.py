"""Counts by row and column -> a heat map that is also readable as a table."""

from collections.abc import Sequence

from markupsafe import Markup

from nodulebench.report.charts.canvas import picture, shortened, text_width
from nodulebench.report.pages.svg import label

CELL_WIDTH, CELL_HEIGHT = 80, 34
TOP, BOTTOM = 8, 44
MOST_GUTTER = 170
LEAST_SHADE, MOST_SHADE = 0.05, 0.5
"""Shades stay light enough (dark enough on a dark page) for the text on them."""


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    counts: Sequence[Sequence[int | None]],
    title: str,
    description: str,
    *,
    whole: int,
    flagged: Sequence[int] = (),
) -> Markup:
    """Cells shaded by their share of a whole, each with its count.

    Args:
        rows: names of the rows.
        columns: names of the columns.
        counts: for each row its counts; None: nothing could be counted there.
        title: what the columns are.
        description: what the picture shows, for those who cannot see it.
        whole: the count of a fully shaded cell.
        flagged: numbers of columns that carry a star.
    """
    gutter = min(MOST_GUTTER, max(text_width(name) for name in rows) + 12)
    width = gutter + CELL_WIDTH * len(columns) + 4
    bottom = TOP + CELL_HEIGHT * len(rows)
    parts = []
    for number, (name, line) in enumerate(zip(rows, counts, strict=True)):
        y = TOP + CELL_HEIGHT * number
        middle = y + CELL_HEIGHT / 2 + 4.5
        parts.append(label(gutter - 8, middle, shortened(name, gutter - 8), "name last"))
        for place, count in enumerate(line):
            parts.append(_cell(gutter + CELL_WIDTH * place, y, count, whole))
    for place, name in enumerate(columns):
        text = f"{name} *" if place in flagged else name
        parts.append(label(gutter + CELL_WIDTH * (place + 0.5), bottom + 18, text))
    parts.append(label(gutter + CELL_WIDTH * len(columns) / 2, bottom + 38, title, "axis"))
    return picture(width, bottom + BOTTOM, parts, description)


def _cell(x: float, y: float, count: int | None, whole: int) -> str:
    share = 0.0 if not count or not whole else count / whole
    shade = LEAST_SHADE + (MOST_SHADE - LEAST_SHADE) * share
    text = "–" if count is None else str(count)
    return (
        f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{CELL_WIDTH - 3}"'
        f' height="{CELL_HEIGHT - 3}" fill-opacity="{shade:.3f}"/>'
        f"{label(x + (CELL_WIDTH - 3) / 2, y + CELL_HEIGHT / 2 + 3, text, 'value')}"
    )
