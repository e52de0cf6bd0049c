"""Content of a report -> report.pdf: the same report on paper, with vector charts.

typst sets the pages by ``pages/templates/report.typ``, in this process and without network. Texts
are passed as data, so that none is ever taken for markup. The PDF embeds the used part of every
font; the extra contains the Chinese font, so that a report is the same on every machine.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import polars as pl
from markupsafe import Markup

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.i18n.translator import LanguageName, Translator
from nodulebench.report.blocks import Fold, Paragraphs, Side, Switch, Table
from nodulebench.report.charts import FINE, Chart
from nodulebench.report.content import NOTHING, Audience, Content, ReportAttachments, report_content
from nodulebench.report.errors import Gallery
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.colours import palette
from nodulebench.report.pages.svg import standalone, text_width
from nodulebench.report.pages.templates import FOLDER, Block, printable

FONTS = ("Libertinus Serif", "Noto Sans SC")
MONOSPACED = ("DejaVu Sans Mono", "Noto Sans SC")
WIDTH, GAP = 510.0, 14.0
"""Width of the text and between charts, in points."""
PLOT_SHARE = 0.72
"""How much of the width a large plot takes."""
LARGEST_LABEL = 9.0
"""Points: labels of a chart are never larger than a table's caption."""
SIZES = (7.5, 7.0, 6.5, 6.0, 5.5)
"""Sizes of text, in points, that are tried until a table fits."""
MOST_PATCHES = 24
"""How many patches of one kind are printed."""
DIGEST_SHOWN = len("sha256:") + 12
MARKED, NOT_SUSPECT = b"/MarkInfo<</Marked true", b"/Suspects false"
"""How the tags of a PDF begin. The second entry states a default, but poppler calls it an error."""


def render_pdf(
    path: Path,
    document: Document,
    curves: pl.DataFrame,
    *,
    audience: Audience = "lab",
    language: LanguageName = "en",
    attachments: ReportAttachments = NOTHING,
    font: Path | None = None,
) -> None:
    """Write the report as PDF; the same report gives the same bytes.

    Args:
        path: the file.
        document: the content of evaluation.json.
        curves: the table in curves.parquet.
        audience: as for the page.
        language: as for the page.
        attachments: what else is reported of the evaluation.
        font: a font to set the whole report in.

    Raises:
        InputError: if typst is not installed, or the font cannot be read.
    """
    content = report_content(
        document, curves, attachments, audience=audience, language_name=language
    )
    write_print(path, content, font)


def write_print(path: Path, content: Content, font: Path | None = None) -> None:
    with TemporaryDirectory(prefix="nodulebench-print-") as name:
        folder = Path(name)
        own = () if font is None else (_family(font),)
        data = Printed(folder, content.translate, (*own, *FONTS)).data(content)
        typeset(path, "report.typ", data, folder, font)


def typeset(
    path: Path, template: str, data: JsonObject, folder: Path, font: Path | None = None
) -> None:
    """Fill a template with data and write it as PDF.

    Raises:
        InputError: if typst is not installed.
    """
    with needs("pdf", path.name):
        import pylopdf_fonts_zh_cn as chinese
        import typst

    text = printable(json.dumps(data, ensure_ascii=False))
    (folder / "content.json").write_text(text, encoding="utf-8", errors="replace")
    main = Path(copy(FOLDER / "templates" / template, folder))
    fonts = [chinese.sans_path().parent, *([] if font is None else [font.parent])]
    made = typst.compile(main, font_paths=fonts, ignore_system_fonts=True, format="pdf")
    blank = b" " * len(NOT_SUSPECT)  # as long, so that everything stays at its place in the file
    path.write_bytes(made.replace(MARKED + NOT_SUSPECT, MARKED + blank))


def _family(font: Path) -> str:
    """The family name of a font.

    Raises:
        InputError: if it is not a font.
    """
    with needs("pdf", "report.pdf"):
        import typst

    families = {
        known.family
        for known in typst.Fonts(False, False, [font.parent]).fonts()
        if known.path and Path(known.path).resolve() == font.resolve()
    }
    if not families:
        raise InputError.at(
            str(font),
            "cannot be embedded: typst does not know this font.",
            "Give a TrueType or OpenType font (.ttf, .otf, .ttc).",
        )
    return min(families)


@dataclass(frozen=True, slots=True)
class Printed:
    """Converts content into the data of the print template; images become files."""

    folder: Path
    translate: Translator
    fonts: Sequence[str] = FONTS

    def data(self, content: Content) -> JsonObject:
        """The data that the template ``report.typ`` reads."""
        translate = content.translate
        before, middle, after = re.split("[\0\1]", translate("page.of", page="\0", pages="\1"))
        return {
            "title": content.title,
            "window": f"{content.title} – {content.protocol}",
            "lead": content.answer,
            "about": content.protocol,
            "date": content.date,
            "kind": translate("page.kind" if content.audience == "lab" else "page.kind_developer"),
            "version": f"NoduleBench {content.version}",
            "language": translate.name,
            "page": [before, middle, after],
            "digests": " · ".join(
                f"{translate.word(name)} {digest[:DIGEST_SHOWN]}…"
                for name, digest in content.digests.items()
            ),
            "facts": content.facts,
            "parts": list(self._parts(content)),
            "footer": translate("page.footer"),
            "fonts": self.fonts,
            "mono": MONOSPACED,
            "colours": palette("print"),
        }

    def _parts(self, content: Content) -> Iterator[JsonObject]:
        translate, verdict = content.translate, content.verdict
        if verdict is not None:
            blocks: list[Block] = [Paragraphs(verdict.sentences)]
            blocks += [] if verdict.table is None else [verdict.table]
            yield self._part(translate("section.verdict"), blocks, answer=verdict.answer)
        key_table = content.key_table
        first = [] if content.headline or key_table is None else [key_table]
        blocks = [*first, Paragraphs([*content.paragraphs, content.about_intervals])]
        yield self._part(translate("section.key"), blocks, headline=content.headline)
        if content.notices:
            messages = [f"{about}{translate('colon')} {text}" for about, text in content.notices]
            title = translate("page.read_first", count=len(messages))
            yield self._part(title, [Paragraphs(messages)])
        for section in (*content.sections, *content.details):
            yield self._part(section.title, section.blocks)
        if content.signatures is not None:
            yield self._part(translate("section.signatures"), [content.signatures])

    def _part(
        self,
        title: str,
        blocks: Sequence[Block | Markup],
        *,
        answer: str = "",
        headline: Sequence[tuple[str, ...]] = (),
    ) -> JsonObject:
        shown = [part for block in blocks for part in self._block(block)]
        return {"title": title, "answer": answer, "headline": headline, "blocks": shown}

    def _block(self, block: Block | Markup) -> Iterator[JsonObject]:
        match block:
            case Table():
                yield self._table(block)
            case Chart():
                yield self._chart(block, WIDTH)
            case Side():
                yield from self._side(block)
            case Fold():
                yield {"block": "caption", "text": block.title}
                if block.file:
                    remark = self.translate("print.in_file", file=block.file)
                    yield {"block": "remark", "text": remark}
                else:
                    yield from (part for inner in block.blocks for part in self._block(inner))
            case Switch():
                yield from (part for _, inner in block.choices for part in self._block(inner))
            case Paragraphs():
                yield from ({"block": "text", "text": text} for text in block.texts)
            case Gallery():
                yield self._gallery(block)

    def _side(self, side: Side) -> Iterator[JsonObject]:
        """Charts side by side; tables one after another, since they need the width."""
        charts = [block for block in side.blocks if isinstance(block, Chart)]
        across = 3 if charts and all(chart.is_narrow for chart in charts) else 2
        width = (WIDTH - GAP * (across - 1)) / across
        if charts:
            drawn = [self._chart(chart, width) for chart in charts]
            yield {"block": "charts", "across": across, "charts": drawn}
        if side.remark:
            yield {"block": "remark", "text": side.remark}
        for block in side.blocks:
            if not isinstance(block, Chart):
                yield from self._block(block)

    def _gallery(self, gallery: Gallery) -> JsonObject:
        patches = []
        for patch in gallery.patches[:MOST_PATCHES]:
            number = len(list(self.folder.glob("*.png")))
            names = [f"{number + view}.png" for view in range(len(patch.views))]
            for name, png in zip(names, patch.views, strict=True):
                (self.folder / name).write_bytes(png)
            lines = [patch.caption(gallery.translate), *patch.details(gallery.translate)]
            patches.append({"views": names, "caption": "\n".join(lines)})
        left = len(gallery.patches) - len(patches)
        remarks = [replace(gallery, left_out=gallery.left_out + left).remark]
        return {"block": "gallery", "title": gallery.title, "remarks": remarks, "patches": patches}

    def _chart(self, chart: Chart, width: float) -> JsonObject:
        is_small = chart.readings is None
        label = 19.0 if is_small and 'class="plot"' in chart.svg else 13.0
        match = re.search(r'viewBox="0 0 ([\d.]+)', chart.svg)
        own = float(match[1]) if match else width
        wanted = width if is_small else PLOT_SHARE * width
        return {
            "block": "chart",
            "title": chart.title,
            "svg": self._drawn(chart.svg, label),
            "width": min(wanted, own * LARGEST_LABEL / label),
            "legend": [[self._drawn(style.sample), name] for name, style in chart.legend],
            "remarks": chart.remarks,
        }

    def _drawn(self, svg: str, label: float = 13.0) -> str:
        """An SVG with its style inside; typst scales strokes with what they are drawn in."""
        family = ", ".join(f'"{font}"' for font in self.fonts)
        style = f"""text {{ font-family: {family}; }} .plot text {{ font-size: {label}px; }}
.inside .curve {{ stroke-width: {2 * FINE}px; }}
.inside .beyond {{ stroke-width: {1.5 * FINE}px; stroke-dasharray: {FINE} {4 * FINE}; }}"""
        before, opened, rest = str(svg).partition('class="inside"')
        inside, closed, after = rest.partition("</svg>")
        dashed = re.sub(
            r'(?<=stroke-dasharray=")[\d. ]+',
            lambda match: " ".join(str(FINE * float(length)) for length in match[0].split()),
            inside,
        )
        whole = f"{before}{opened}{dashed}{closed}{after}"
        return standalone(whole, medium="print", style=style)

    def _table(self, table: Table) -> JsonObject:
        heads = []
        if table.groups:
            heads.append([self._cell(Cell(text, columns=reach)) for text, reach in table.groups])
        if table.heads:
            heads.append([self._cell(head) for head in table.heads])
        columns = max(
            len(table.heads), *(sum(cell.columns for cell in row) for row in table.rows), 1
        )
        return {
            "block": "table",
            "caption": table.caption,
            "remarks": [table.remark] if table.remark else [],
            "columns": columns,
            "kind": table.kind,
            "size": text_size(table),
            "heads": heads,
            "rows": [[self._cell(cell) for cell in row] for row in table.rows],
            "notes": table.notes,
        }

    def _cell(self, cell: Cell) -> JsonObject:
        return {
            "text": cell.text,
            "bounds": cell.bounds,
            "note": cell.note,
            "kind": cell.kind.partition(" ")[0],
            "strong": cell.kind in ("head", "number best"),
            "svg": self._drawn(cell.svg) if cell.svg else "",
            "rows": cell.rows,
            "columns": cell.columns,
        }


def text_size(table: Table) -> float:
    """The largest size of text at which the longest word of every column fits."""
    needed: dict[int, float] = {}
    for row in (table.heads, *table.rows):
        for place, cell in enumerate(row):
            if cell.columns == 1:
                words = cell.text.split() if cell.kind != "number" else [cell.text]
                longest = max((text_width(word) for word in [*words, cell.bounds]), default=0.0)
                needed[place] = max(needed.get(place, 0.0), min(longest, 130.0))
    letters = sum(needed.values()) / 13  # text_width is that of letters of 13 points
    padding = 6 * len(needed)
    return next((siz for siz in SIZES if letters * siz + padding <= WIDTH), SIZES[-1])
