"""Content of a report -> report.pdf: the same report on paper, with vector figures."""

from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.language import Language, LanguageName
from nodulebench.model.document import Document
from nodulebench.optional_package import needs
from nodulebench.report.blocks.blocks import Section, Side
from nodulebench.report.blocks.charts import Chart
from nodulebench.report.content import NOTHING, Audience, Beside, Content, report_content
from nodulebench.report.pdf.drawing import LINE, MUTED
from nodulebench.report.pdf.flow import Flow
from nodulebench.report.pdf.fonts import PURPOSE, Fonts, load_fonts

MM = 72 / 25.4
PAGE = (210 * MM, 297 * MM)
SIDE, TOP, BOTTOM = 15 * MM, 22 * MM, 17 * MM
HEADER_SIZE = 7.5
PAGE_COUNT = "page-count"
DIGEST_SHOWN = len("sha256:") + 12


def render_pdf(
    path: Path,
    document: Document,
    curves: pl.DataFrame,
    *,
    audience: Audience = "lab",
    language: LanguageName = "en",
    beside: Beside = NOTHING,
    font: Path | None = None,
) -> None:
    """Write the report as PDF.

    Args:
        path: the file.
        document: what evaluation.json holds.
        curves: the table in curves.parquet.
        audience: as for the page.
        language: as for the page.
        beside: what else lies beside the evaluation.
        font: a TrueType font to embed for Chinese.

    Raises:
        InputError: if reportlab is not installed, or the font cannot be embedded.
    """
    content = report_content(document, curves, beside, audience=audience, language_name=language)
    _build(path, content, load_fonts(font))


def _build(path: Path, content: Content, fonts: Fonts) -> None:
    with needs("pdf", PURPOSE):
        from reportlab import platypus
    doc = platypus.BaseDocTemplate(
        str(path),
        pagesize=PAGE,
        leftMargin=SIDE,
        rightMargin=SIDE,
        topMargin=TOP,
        bottomMargin=BOTTOM,
        title=f"{content.title} – {content.protocol}",
        author="NoduleBench",
        subject=content.lead,
        lang=content.say.code,
        invariant=1,  # the same report gives the same bytes
    )
    width, height = PAGE[0] - 2 * SIDE, PAGE[1] - TOP - BOTTOM
    frame = platypus.Frame(SIDE, BOTTOM, width, height, 0, 0, 0, 0)

    doc.addPageTemplates(
        [
            platypus.PageTemplate(
                "page", [frame], onPage=lambda canvas, _: _header_and_footer(canvas, content, fonts)
            )
        ]
    )
    doc.afterFlowable = lambda flowable: _after(doc.canv, flowable, fonts, content.say)
    flow = Flow(fonts, width, content.say)
    end = flow.space(1)
    end.is_end = True
    doc.build([*_story(content, flow), end])


def _after(canvas: Any, flowable: Any, fonts: Fonts, say: Language) -> None:
    """An entry of the outline for every section; at the end, how many pages there are."""
    title = getattr(flowable, "section_title", "")
    if title:
        canvas.bookmarkPage(title)
        canvas.addOutlineEntry(title, title, level=0)
    if getattr(flowable, "is_end", False):
        # every page refers to this form, which can only be filled now
        canvas.beginForm(PAGE_COUNT, 0, 0, 60, 12)
        with needs("pdf", PURPOSE):
            from reportlab.lib import colors
        canvas.setFillColor(colors.HexColor(MUTED))
        after = say("page.of", page="", pages="\0").split("\0")[1]
        _line(canvas, fonts, 0, 2, f"{canvas.getPageNumber()}{after}", HEADER_SIZE)
        canvas.endForm()


def _header_and_footer(canvas: Any, content: Content, fonts: Fonts) -> None:
    with needs("pdf", PURPOSE):
        from reportlab.lib import colors
    say = content.say
    right, top, bottom = PAGE[0] - SIDE, PAGE[1] - 12 * MM, 10 * MM
    canvas.saveState()
    canvas.setFillColor(colors.HexColor(MUTED))
    canvas.setStrokeColor(colors.HexColor(LINE))
    digests = " · ".join(
        f"{say.word(name)} {digest[:DIGEST_SHOWN]}…" for name, digest in content.digests.items()
    )
    kind = say("page.kind" if content.audience == "lab" else "page.kind_developer")
    version = f"NoduleBench {content.version}"
    _line(canvas, fonts, SIDE, top, f"{content.title} · {content.lead}", HEADER_SIZE)
    _line(canvas, fonts, SIDE, top - 9, digests, 6.0)
    _line(canvas, fonts, SIDE, bottom, kind, 6.5)
    _line(canvas, fonts, right - fonts.width(version, 6.5), bottom, version, 6.5)
    before, after = say("page.of", page=canvas.getPageNumber(), pages="\0").split("\0")
    left = right - fonts.width(f"{before}00{after}", HEADER_SIZE)
    left = _line(canvas, fonts, left, top, before, HEADER_SIZE)
    canvas.saveState()
    canvas.translate(left, top - 2)
    canvas.doForm(PAGE_COUNT)
    canvas.restoreState()
    canvas.setLineWidth(0.5)
    canvas.line(SIDE, top - 13, right, top - 13)
    canvas.restoreState()


def _line(canvas: Any, fonts: Fonts, x: float, y: float, text: str, size: float) -> float:
    """Draw a line of text; where it ends."""
    for font, piece in fonts.runs(text):
        canvas.setFont(font, size)
        canvas.drawString(x, y, piece)
        x += float(canvas.stringWidth(piece, font, size))
    return x


def _story(content: Content, flow: Flow) -> list[Any]:
    say = content.say
    story = [
        flow.text(content.title, 18, is_bold=True, after=2),
        flow.text(content.lead, 11, is_muted=True, after=6),
        _facts(content, flow),
        flow.space(6),
    ]
    if content.verdict is not None:
        story += _verdict(content, flow)
    if content.notices:
        story.append(_heading(say("page.read_first"), flow))
        story += [
            flow.text(f"{about}{say('colon')} {text}", 8, after=3)
            for about, text in content.notices
        ]
    story.append(_heading(say("section.key"), flow))
    if content.headline:
        story.append(_headline(content, flow))
    else:
        story += flow.table(content.key_table)
    story += [flow.text(text, 8.5, after=4) for text in content.paragraphs]
    for section in content.sections:
        story += [
            _room_for(section, flow),
            _heading(section.title, flow),
            *flow.blocks(section.blocks),
        ]
    story.append(flow.space())
    story.append(flow.text(say("page.footer"), 7, is_muted=True))
    return story


def _room_for(section: Section, flow: Flow) -> Any:
    """A new page where the section's heading would stand alone at the foot of this one."""
    first = section.blocks[0]
    has_chart = isinstance(first, Chart) or (
        isinstance(first, Side) and any(isinstance(one, Chart) for one in first.blocks)
    )
    return flow.room(130 * MM if has_chart else 45 * MM)


def _heading(title: str, flow: Flow) -> Any:
    heading = flow.text(title, 13, is_bold=True, before=14, after=4)
    heading.section_title = title
    return heading


def _verdict(content: Content, flow: Flow) -> list[Any]:
    found = content.verdict
    if found is None:
        return []
    return [
        _heading(content.say("section.verdict"), flow),
        flow.text(found.answer, 16, is_bold=True, after=6),
        *(flow.text(text, 8.5, after=3) for text in found.sentences),
        *flow.table(found.table),
    ]


def _facts(content: Content, flow: Flow) -> Any:
    """What was tested, in columns."""
    with needs("pdf", PURPOSE):
        from reportlab import platypus
    cells = [
        [flow.text(name, 6.5, is_muted=True, after=0), flow.text(fact, 8.5)]
        for name, fact in content.facts
    ]
    share = flow.width / max(1, len(cells))
    table = platypus.Table([cells], colWidths=[share] * len(cells), hAlign="LEFT")
    table.setStyle(
        platypus.TableStyle(
            [("LEFTPADDING", (0, 0), (-1, -1), 0), ("VALIGN", (0, 0), (-1, -1), "TOP")]
        )
    )
    return table


def _headline(content: Content, flow: Flow) -> Any:
    """The key figures of a single result, large."""
    with needs("pdf", PURPOSE):
        from reportlab import platypus
    cells = [
        [
            flow.text(name, 8, is_muted=True, after=0),
            flow.text(value, 15, is_bold=True, after=0),
            flow.text(bounds, 8, after=2),
            flow.text(meaning, 6.5, is_muted=True),
        ]
        for name, value, bounds, meaning in content.headline
    ]
    share = flow.width / len(cells)
    table = platypus.Table([cells], colWidths=[share] * len(cells), hAlign="LEFT")
    table.setStyle(
        platypus.TableStyle(
            [
                ("BOX", (0, 0), (-1, -1), 0.5, LINE),
                ("INNERGRID", (0, 0), (-1, -1), 0.5, LINE),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
    )
    return table
