"""report.pdf: the same report on paper, its text extractable in both languages."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pylopdf_fonts_zh_cn import sans_path

from builders.evaluation import HOSTILE, algorithm_result, curves_of, evaluation, flips_of
from builders.hidden_packages import hide_package
from builders.report import comparison, group_document, plan, rule_effects
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.errors import InputError
from nodulebench.evaluation.patches import png
from nodulebench.report.blocks import Section, Table, head, words
from nodulebench.report.content import ReportAttachments, report_content
from nodulebench.report.errors import Patch
from nodulebench.report.html import render_html
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.colours import COLOURS, palette
from nodulebench.report.pdf import render_pdf, text_size, write_print

pytest.importorskip("typst", reason="typst (extra 'pdf') is not installed")
pypdf = pytest.importorskip("pypdf", reason="pypdf, which reads PDF files back, is not installed")


def document() -> Document:
    return group_document(
        comparisons=[comparison(rule_effects=rule_effects())],
        plan=plan(verdicts={"One": "failed"}),
    )


EVALUATION = evaluation(*(algorithm_result(name, (90, 66)) for name in ("One", "Two", "Three")))


def pages_of(path: Path, **choice: Any) -> list[str]:
    render_pdf(path, document(), curves_of(EVALUATION), **choice)
    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


def words_of(pages: list[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(pages))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pdf") / "report.pdf"
    render_pdf(
        path,
        document(),
        curves_of(EVALUATION),
        attachments=ReportAttachments(flips=flips_of(EVALUATION)),
    )
    return path


@pytest.fixture(scope="module")
def english(printed: Path) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(printed).pages]


def test_every_page_has_its_number_and_the_digests(english: list[str]) -> None:
    assert len(english) > 3
    for number, page in enumerate(english, 1):
        assert f"Page {number} of" in page
        assert "protocol sha256:" in page
        assert "reference sha256:01" in page


def test_verdict_comes_first(english: list[str]) -> None:
    first = words_of(english[:1])
    assert first.index("Verdict") < first.index("Failed") < first.index("Key metrics")


def test_numbers_and_signs_survive(english: list[str]) -> None:
    text = words_of(english)
    for shown in (
        "0.750 0.720–0.780",
        "center hit → area overlap",
        "≥ 0.7",
        "✓",
        "✗",
        "−0.045",
    ):
        assert shown in text, shown


def test_every_section_of_the_page_is_printed(english: list[str]) -> None:
    html = render_html(
        document(), curves_of(EVALUATION), attachments=ReportAttachments(flips=flips_of(EVALUATION))
    )
    titles = set(re.findall(r"<h2>([^<]+)</h2>", html)) - {"Details"}
    assert len(titles) > 10
    text = words_of(english)
    assert [title for title in titles if title not in text] == []


def test_long_lists_refer_to_their_file(english: list[str]) -> None:
    assert "Too long for print: tables/differences.csv has every row." in words_of(english)


def test_metrics_are_vectors_with_text(english: list[str]) -> None:
    text = words_of(english)
    for shown in ("false positives per case (log scale)", "rank (1 is best)", "diameter, mm"):
        assert shown in text


def test_sections_are_in_the_outline(printed: Path) -> None:
    reader = pypdf.PdfReader(printed)
    titles = [entry.title for entry in reader.outline]
    assert titles[:2] == ["Verdict", "Key metrics"]
    assert titles[2].startswith("What to know before relying on the numbers")
    assert titles[-1] == "Reporting checklist"
    assert reader.metadata.title == "One, Two and Three – test-2026"


@pytest.mark.slow
def test_chinese_text_can_be_extracted(tmp_path: Path) -> None:
    text = words_of(pages_of(tmp_path / "zh.pdf", language="zh"))
    for shown in ("主要指标", "测量不确定度与溯源性", "第 1 页", "召回率", "未通过"):
        assert shown in text
    assert "Key metrics" not in text


@pytest.mark.slow
def test_developers_copy_on_paper_keeps_the_secrets(tmp_path: Path) -> None:
    attachments = ReportAttachments(flips=flips_of(EVALUATION))
    text = words_of(pages_of(tmp_path / "d.pdf", audience="developer", attachments=attachments))
    assert "developer's copy" in text
    assert re.findall(r"case-\d+|sha256:0[12]\b", text) == []


def test_same_report_gives_the_same_bytes(printed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pdf"
    render_pdf(
        again,
        document(),
        curves_of(EVALUATION),
        attachments=ReportAttachments(flips=flips_of(EVALUATION)),
    )
    assert again.read_bytes() == printed.read_bytes()


@pytest.mark.slow
def test_hostile_names_are_text(tmp_path: Path) -> None:
    evaluated = evaluation()
    render_pdf(tmp_path / "x.pdf", evaluation_document(evaluated), curves_of(evaluated))
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "x.pdf").pages]
    assert HOSTILE in words_of(pages)


@pytest.mark.slow
def test_gallery_is_printed(tmp_path: Path) -> None:
    first, second, third = (png(np.full((9, 9), grey, dtype=np.uint8)) for grey in (0, 99, 255))
    patch = Patch("One", "missed", "case-1", "n3", (first, second, third), "solid", 6.0)
    path = tmp_path / "g.pdf"
    text = words_of(pages_of(path, attachments=ReportAttachments(patches=[patch])))
    assert "One: nodules missed" in text
    assert "solid, 6.0 mm, case-1 / n3" in text
    assert sum(len(page.images) for page in pypdf.PdfReader(path).pages) == 3


def fonts_of(path: Path) -> set[str]:
    """The fonts of a file, each checked to be embedded."""
    names = set()
    for page in pypdf.PdfReader(path).pages:
        for font in page["/Resources"].get("/Font", {}).values():
            (inner,) = font.get_object()["/DescendantFonts"]
            described = inner.get_object()["/FontDescriptor"].get_object()
            assert {"/FontFile2", "/FontFile3"} & set(described)
            names.add(str(described["/FontName"]).partition("+")[2])
    return names


@pytest.mark.slow
def test_every_font_is_embedded_so_that_it_reads_the_same_everywhere(
    printed: Path, tmp_path: Path
) -> None:
    pages_of(tmp_path / "zh.pdf", language="zh")
    assert "LibertinusSerif-Regular" in fonts_of(printed)
    assert "NotoSansSC-Regular" in fonts_of(tmp_path / "zh.pdf")


def test_every_character_of_the_chinese_words_is_in_the_font() -> None:
    from nodulebench.i18n.translator import NAMES, NOTICES, PAGES, catalogue

    texttools = pytest.importorskip("fontTools.ttLib", reason="fontTools is not installed")
    known = set(texttools.TTFont(sans_path()).getBestCmap())
    texts = [
        text for domain in (*PAGES, *NOTICES, NAMES) for text in catalogue("zh", domain).values()
    ]
    used = {letter for text in texts for letter in text}
    assert {letter for letter in used if ord(letter) > 0x2E80 and ord(letter) not in known} == set()


def test_font_that_cannot_be_embedded_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "font.ttf"
    path.write_bytes(b"not a font")
    with pytest.raises(InputError, match=r"font\.ttf: cannot be embedded: .* Give a TrueType"):
        pages_of(tmp_path / "x.pdf", font=path)


@pytest.mark.slow
def test_given_font_sets_the_report(tmp_path: Path) -> None:
    pages_of(tmp_path / "x.pdf", font=sans_path())
    assert not any("Libertinus" in font for font in fonts_of(tmp_path / "x.pdf"))


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_package(monkeypatch, "typst")
    with pytest.raises(InputError, match=r"needs typst.* pip install 'nodulebench\[pdf\]'"):
        render_pdf(tmp_path / "x.pdf", document(), curves_of(EVALUATION))


def drawn_colours(path: Path) -> set[str]:
    """Every colour that fills or strokes something, as #rrggbb."""
    names = set()
    for page in pypdf.PdfReader(path).pages:
        drawn, forms = [page.get_contents().get_data()], [page]
        while forms:
            inner = forms.pop().get("/Resources", {}).get("/XObject", {})
            forms += [form.get_object() for form in inner.values()]
            drawn += [form.get_data() for form in forms if form.get("/Subtype") == "/Form"]
        set_to = re.findall(rb"(?:cs|CS) ([\d. ]+) (?:scn|SCN)\b", b"\n".join(drawn))
        for numbers in set_to:
            shades = [round(255 * float(number)) for number in numbers.split()]
            names.add("#" + "".join(f"{shade:02x}" for shade in (shades * 3)[:3]))
    return names


def test_print_has_the_colours_of_the_table_and_no_other(printed: Path) -> None:
    colours = palette("print")
    drawn = drawn_colours(printed)
    assert drawn <= set(colours.values())
    wanted = ("ink", "muted", "line", "soft", "share", "less", "accent", "c1", "c2", "c3")
    assert {colours[name] for name in wanted} <= drawn


@pytest.mark.slow
def test_a_colour_that_changes_in_the_table_changes_in_print(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = {name: ("#123456",) * 3 if name == "c1" else of for name, of in COLOURS.items()}
    monkeypatch.setattr("nodulebench.report.pages.colours.COLOURS", changed)
    pages_of(tmp_path / "x.pdf")
    drawn = drawn_colours(tmp_path / "x.pdf")
    assert "#123456" in drawn
    assert COLOURS["c1"][2] not in drawn


def test_file_states_no_date_that_is_not_true(printed: Path) -> None:
    """A report does not know its day; that of the print would not be that of the evaluation."""
    metadata = pypdf.PdfReader(printed).metadata
    assert metadata.creation_date is None
    assert metadata.modification_date is None


@pytest.mark.slow
def test_headings_of_a_long_table_are_on_each_of_its_pages(tmp_path: Path) -> None:
    rows = [[head(f"row {number}"), Cell("0.5")] for number in range(200)]
    long = Table("long", [words("First"), Cell("Second")], rows)
    content = report_content(document(), curves_of(EVALUATION))
    content = replace(content, sections=[Section("long", "Long", [long])])
    write_print(tmp_path / "x.pdf", content)
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "x.pdf").pages]
    having = [page for page in pages if "row " in page]
    assert len(having) > 2
    assert all("First" in page and "Second" in page for page in having)


def test_wide_table_gets_smaller_text() -> None:
    row = [head("a long name of an algorithm"), *(Cell("0.123", bounds="0.100–0.150"),) * 16]
    wide = Table("wide", [words("h"), *(Cell("head"),) * 16], [row] * 3)
    narrow = Table("narrow", [words("h"), Cell("head")], [row[:2]] * 3)
    assert text_size(wide) < text_size(narrow) == 7.5
