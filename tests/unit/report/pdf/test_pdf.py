"""report.pdf: the same report on paper, its text extractable in both languages."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.evaluation import HOSTILE, algorithm_result, curves_of, evaluation, flips_of
from builders.hidden_packages import hide_package
from builders.report import comparison, group_document, plan, rule_effects
from nodulebench.errors import InputError
from nodulebench.model.document import Document, evaluation_document
from nodulebench.report.blocks.cells import Cell, head, words
from nodulebench.report.blocks.tables import Table
from nodulebench.report.content import Beside
from nodulebench.report.html_page.html import render_html
from nodulebench.report.pdf import render_pdf
from nodulebench.report.pdf.drawing import absolute_steps, look_of
from nodulebench.report.pdf.fonts import load_fonts
from nodulebench.report.pdf.tables import TableMaker
from nodulebench.report.sections.results.gallery import Patch
from nodulebench.workflows.evaluate.cut_patches import png

pytest.importorskip("reportlab", reason="reportlab (extra 'pdf') is not installed")
pypdf = pytest.importorskip("pypdf", reason="pypdf, which reads PDF files back, is not installed")


def document() -> Document:
    return group_document(
        comparisons=[comparison(rule_effects=rule_effects())],
        plan=plan(verdicts={"One": "failed"}),
    )


ONE = evaluation(*(algorithm_result(name, (90, 66)) for name in ("One", "Two", "Three")))


def pages_of(path: Path, **choice: Any) -> list[str]:
    render_pdf(path, document(), curves_of(ONE), **choice)
    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


def words_of(pages: list[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(pages))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pdf") / "report.pdf"
    render_pdf(path, document(), curves_of(ONE), beside=Beside(flips=flips_of(ONE)))
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
    assert first.index("Verdict") < first.index("Failed") < first.index("Read this first")


def test_numbers_and_signs_survive(english: list[str]) -> None:
    text = words_of(english)
    for shown in (
        "0.750 0.720–0.780",
        "center hit → area overlap",
        "≥ 0.7",
        "✓",
        "✗",
        "65.0 ± 13.2 %",
        "−0.045",
    ):
        assert shown in text, shown


def test_every_section_of_the_page_is_printed(english: list[str]) -> None:
    html = render_html(document(), curves_of(ONE), beside=Beside(flips=flips_of(ONE)))
    titles = re.findall(r"<h2 id=[^>]*>([^<]+)</h2>", html)
    assert len(titles) > 10
    text = words_of(english)
    assert [title for title in titles if title not in text] == []


def test_long_lists_refer_to_their_file(english: list[str]) -> None:
    assert "Too long for print: tables/differences.csv has every row." in words_of(english)


def test_figures_are_vectors_with_text(english: list[str]) -> None:
    text = words_of(english)
    for shown in ("false positives per case (log scale)", "rank (1 is best)", "diameter, mm"):
        assert shown in text


def test_sections_are_in_the_outline(printed: Path) -> None:
    reader = pypdf.PdfReader(printed)
    titles = [entry.title for entry in reader.outline]
    assert titles[:3] == ["Verdict", "Read this first", "Key figures"]
    assert titles[-1] == "Reporting checklist"
    assert reader.metadata.title == "3 algorithms – test-2026"


def test_chinese_text_can_be_extracted(tmp_path: Path) -> None:
    text = words_of(pages_of(tmp_path / "zh.pdf", language="zh"))
    for shown in ("主要指标", "测量不确定度与溯源性", "第 1 页", "召回率", "未通过"):
        assert shown in text
    assert "Key figures" not in text


def test_developers_copy_on_paper_keeps_the_secrets(tmp_path: Path) -> None:
    beside = Beside(flips=flips_of(ONE))
    text = words_of(pages_of(tmp_path / "d.pdf", audience="developer", beside=beside))
    assert "developer's copy" in text
    assert re.findall(r"case-\d+|sha256:0[12]\b", text) == []


def test_same_report_gives_the_same_bytes(printed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pdf"
    render_pdf(again, document(), curves_of(ONE), beside=Beside(flips=flips_of(ONE)))
    assert again.read_bytes() == printed.read_bytes()


def test_hostile_names_are_text(tmp_path: Path) -> None:
    one = evaluation()
    render_pdf(tmp_path / "x.pdf", evaluation_document(one), curves_of(one))
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "x.pdf").pages]
    assert HOSTILE in words_of(pages)


def test_gallery_is_printed(tmp_path: Path) -> None:
    first, second, third = (png(np.full((9, 9), grey, dtype=np.uint8)) for grey in (0, 99, 255))
    patch = Patch("One", "missed", "case-1", "n3", (first, second, third), "solid", 6.0)
    path = tmp_path / "g.pdf"
    text = words_of(pages_of(path, beside=Beside(patches=[patch])))
    assert "One: nodules missed" in text
    assert "solid, 6.0 mm, case-1 / n3" in text
    assert sum(len(page.images) for page in pypdf.PdfReader(path).pages) == 3


def test_font_that_cannot_be_embedded_is_told(tmp_path: Path) -> None:
    path = tmp_path / "font.ttf"
    path.write_bytes(b"not a font")
    with pytest.raises(InputError, match=r"font\.ttf: cannot be embedded: .* Give a TrueType font"):
        load_fonts(path)


def test_given_font_is_used_for_chinese() -> None:
    import reportlab

    path = Path(reportlab.__file__).parent / "fonts" / "VeraIt.ttf"
    fonts = load_fonts(path)
    assert fonts.runs("a召→✓") == [
        ("Vera", "a"),
        ("given-VeraIt", "召"),
        ("Symbol", "→"),
        ("ZapfDingbats", "✓"),
    ]


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    load_fonts.cache_clear()
    hide_package(monkeypatch, "reportlab")
    with pytest.raises(InputError, match=r"needs reportlab.* pip install 'nodulebench\[pdf\]'"):
        render_pdf(tmp_path / "x.pdf", document(), curves_of(ONE))


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("M1 2h3v4l-1-1z", [["M", 1, 2], ["L", 4, 2], ["L", 4, 6], ["L", 3, 5], ["Z"]]),
        ("M1 2L3 4H5V6", [["M", 1, 2], ["L", 3, 4], ["L", 5, 4], ["L", 5, 6]]),
        ("M0 0C1 2 3 4 5 6c1 1 2 2 3 3", [["M", 0, 0], ["C", 1, 2, 3, 4, 5, 6],
                                           ["C", 6, 7, 7, 8, 8, 9]]),
        ("M-4.5.5zm1 1l2 2", [["M", -4.5, 0.5], ["Z"], ["M", -3.5, 1.5], ["L", -1.5, 3.5]]),
        ("M1 1 2 2 3 3", [["M", 1, 1], ["L", 2, 2], ["L", 3, 3]]),
    ],
)  # fmt: skip
def test_paths_become_absolute_steps(path: str, steps: list[list[Any]]) -> None:
    assert absolute_steps(path) == steps


def test_every_class_of_our_pictures_has_a_look() -> None:
    """A class that print does not know would be drawn as a black outline."""
    from xml.etree import ElementTree

    known = set()
    html = render_html(document(), curves_of(ONE), beside=Beside(flips=flips_of(ONE)))
    for picture in re.findall(r"<svg\b.*?</svg>(?:<g class=\"points\">.*?</g></svg>)?", html):
        for tag, kinds in re.findall(r'<(path|rect)[^>]*class="([^"]+)"', picture):
            known |= {(tag, kinds)}
    plain = look_of(("unknown",), ElementTree.Element("path"))
    for _, kinds in known:
        assert look_of(tuple(kinds.split()), ElementTree.Element("path")) != plain, kinds


def test_wide_table_gets_smaller_text_and_never_leaves_the_page() -> None:
    fonts = load_fonts()
    row = [head("a long name of an algorithm"), *(Cell("0.123", bounds="0.100–0.150"),) * 16]
    maker = TableMaker(fonts, 480.0, is_chinese=False)
    table = maker.made(Table("wide", [words("h"), *(Cell("head"),) * 16], [row] * 3))
    assert sum(table._colWidths) <= 480.5
