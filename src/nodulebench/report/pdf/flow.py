"""Blocks of a report -> what flows over the pages of its print."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from nodulebench.language import Language
from nodulebench.optional_package import needs
from nodulebench.report.blocks.blocks import Fold, Paragraphs, Side
from nodulebench.report.blocks.charts import Chart
from nodulebench.report.blocks.tables import Table
from nodulebench.report.pdf.drawing import INK, MUTED, drawing_of
from nodulebench.report.pdf.fonts import PURPOSE, Fonts, paragraph_style
from nodulebench.report.pdf.tables import TableMaker
from nodulebench.report.sections.results.gallery import Gallery

PLOT_SHARE = 0.72
"""How much of the page's width a large plot takes."""
GAP = 14.0
PATCH = 52.0
LEGEND_SIZE = 7.5


@dataclass(frozen=True, slots=True)
class Flow:
    """Turns blocks into what reportlab lays out."""

    fonts: Fonts
    width: float
    say: Language

    @property
    def is_chinese(self) -> bool:
        """Whether lines may break between any two characters."""
        return self.say.name == "zh"

    def blocks(self, blocks: Sequence[Any]) -> Iterator[Any]:
        """Every block, one after another."""
        for block in blocks:
            match block:
                case Table():
                    yield from self.table(block)
                case Chart():
                    yield from self.chart(block, self.width)
                case Side():
                    yield from self.side(block)
                case Fold() if block.file:
                    yield self.room(40)
                    yield self.text(block.title, 9, is_bold=True, before=8)
                    yield self.text(self.say("print.in_file", file=block.file), 7.5, is_muted=True)
                case Fold():
                    yield self.room(120)
                    yield self.text(block.title, 10, is_bold=True, before=8)
                    yield from self.blocks(block.blocks)
                case Paragraphs():
                    yield from (self.text(text, 8.5, after=4) for text in block.texts)
                case Gallery():
                    yield from self.gallery(block)

    def text(
        self,
        text: str,
        size: float,
        *,
        is_bold: bool = False,
        is_muted: bool = False,
        before: float = 0.0,
        after: float = 2.0,
    ) -> Any:
        """A paragraph."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        style = paragraph_style(
            fontName=self.fonts.bold if is_bold else self.fonts.plain,
            fontSize=size,
            leading=size * 1.4,
            textColor=MUTED if is_muted else INK,
            spaceBefore=before,
            spaceAfter=after,
            wordWrap="CJK" if self.is_chinese else None,
        )
        return platypus.Paragraph(self.fonts.marked_up(text, is_bold=is_bold), style)

    def space(self, height: float = 8.0) -> Any:
        """Empty room."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        return platypus.Spacer(1, height)

    def room(self, height: float) -> Any:
        """A new page where less than this height is left on the page."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        return platypus.CondPageBreak(height)

    def table(self, table: Table) -> Iterator[Any]:
        """A table under its caption, its notes below; the caption never stands alone."""
        yield self.room(115)
        if table.caption:
            yield self.text(table.caption, 9, is_bold=True, before=8)
        if table.remark:
            yield self.text(table.remark, 7, is_muted=True)
        yield TableMaker(self.fonts, self.width, self.is_chinese).made(table)
        for letter, note in table.notes:
            yield self.text(f"{letter}  {note}", 6.5, is_muted=True, after=0)
        yield self.space()

    def chart(self, chart: Chart, width: float) -> Iterator[Any]:
        """A chart with its legend and remarks, together on one page."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        yield platypus.KeepTogether([*self._chart_parts(chart, width), self.space()])

    def _chart_parts(self, chart: Chart, width: float) -> list[Any]:
        is_small = chart.readings is None
        is_plot = 'class="plot"' in str(chart.picture)
        size = 19.0 if is_small and is_plot else 13.0
        drawn = drawing_of(
            str(chart.picture), self.fonts, width * (1 if is_small else PLOT_SHARE), font_size=size
        )
        return [
            self.text(chart.title, 9, is_bold=True, before=6),
            drawn,
            *([self._legend(chart, width)] if chart.legend else []),
            *(self.text(text, 7, is_muted=True, after=1) for text in chart.remarks),
        ]

    def _legend(self, chart: Chart, width: float) -> Any:
        """Samples and names in lines as wide as the chart."""
        with needs("pdf", PURPOSE):
            from reportlab.graphics import shapes
        places, x, row = [], 0.0, 0
        for name, _ in chart.legend:
            reach = 34 + self.fonts.width(name, LEGEND_SIZE) + 12
            if x and x + reach > width:
                x, row = 0.0, row + 1
            places.append((x, row))
            x += reach
        height = 13.0 * (row + 1) + 4
        drawing = shapes.Drawing(width, height)
        for (left, line), (name, style) in zip(places, chart.legend, strict=True):
            bottom = height - 13.0 * (line + 1)
            sample = drawing_of(str(style.sample), self.fonts, 28.0)
            drawing.add(shapes.Group(*sample.contents, transform=(1, 0, 0, 1, left, bottom)))
            at = left + 32
            for font, piece in self.fonts.runs(name):
                text = shapes.String(at, bottom + 2, piece, fontName=font, fontSize=LEGEND_SIZE)
                drawing.add(text)
                at += text.getEast() - text.x
        return drawing

    def side(self, side: Side) -> Iterator[Any]:
        """Charts side by side; tables one after another, since they need the width."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        charts = [block for block in side.blocks if isinstance(block, Chart)]
        others = [block for block in side.blocks if not isinstance(block, Chart)]
        across = 3 if charts and all(chart.is_narrow for chart in charts) else 2
        width = (self.width - GAP * (across - 1)) / across
        for start in range(0, len(charts), across):
            row: list[Any] = [
                self._chart_parts(chart, width) for chart in charts[start : start + across]
            ]
            row += [""] * (across - len(row))
            beside = platypus.Table([row], colWidths=[width + GAP] * across, hAlign="LEFT")
            beside.setStyle(
                platypus.TableStyle(
                    [
                        ("VALIGN", (0, 0), (-1, -1), "TOP"),
                        ("LEFTPADDING", (0, 0), (-1, -1), 0),
                        ("RIGHTPADDING", (0, 0), (-1, -1), GAP),
                        ("TOPPADDING", (0, 0), (-1, -1), 0),
                    ]
                )
            )
            yield beside
        if side.remark:
            yield self.text(side.remark, 7, is_muted=True, after=6)
        yield from self.blocks(others)

    def gallery(self, gallery: Gallery) -> Iterator[Any]:
        """Patches in rows of two, each with its three views."""
        with needs("pdf", PURPOSE):
            from reportlab import platypus
        yield self.room(120)
        yield self.text(gallery.title, 9, is_bold=True, before=8)
        yield self.text(gallery.say("gallery.remark"), 7, is_muted=True)
        cells: list[Any] = []
        for patch in gallery.patches:
            views = [platypus.Image(BytesIO(one), PATCH, PATCH) for one in patch.views]
            line = platypus.Table([views], colWidths=[PATCH + 4] * 3, hAlign="LEFT")
            line.setStyle(platypus.TableStyle([("LEFTPADDING", (0, 0), (-1, -1), 0)]))
            cells.append([line, self.text(patch.caption(gallery.say), 6.5, is_muted=True)])
        rows = [cells[start : start + 2] for start in range(0, len(cells), 2)]
        rows[-1] += [""] * (2 - len(rows[-1]))
        yield platypus.Table(rows, colWidths=[self.width / 2] * 2, hAlign="LEFT")
        yield self.space()
