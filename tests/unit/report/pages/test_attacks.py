"""Names, notices and reasons are shown as text: on every page, in every field."""

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

import nodulebench
from builders.evaluation import algorithm_result, curves_of, evaluation, flips_of
from builders.report import comparison, group_document, plan, rule_effects
from builders.tables import case, nodule, reference
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.curation.coverage import cover
from nodulebench.curation.design import CoverageRule, DesignInput
from nodulebench.curation.page import Card, SeriesBrowser
from nodulebench.i18n.translator import LANGUAGES, Translator, translator
from nodulebench.imaging.rasters import png
from nodulebench.report.blocks import Paragraphs, Section
from nodulebench.report.content import Audience, ReportAttachments, report_content
from nodulebench.report.coverage import render_coverage
from nodulebench.report.errors import Patch
from nodulebench.report.html import page
from nodulebench.report.pages.templates import PageFrame, framed_page

PACKAGE = Path(nodulebench.__file__).parent
ATTACK = (
    "</script><script>evil()</script>\"'><img src=x onerror=evil()>{{ 7 * 191 }}{% raw %}\0\x0b"
)
OURS = ("kind", "outcome", "audience")
"""Fields that hold only our words, never text of others."""


class Skeleton(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))


def skeleton(html: str) -> list[tuple[str, ...]]:
    parser = Skeleton()
    parser.feed(html)
    return parser.elements


def attacked(value: Any) -> Any:
    """The value with an attack at the end of every text in it; charts and our words stay."""
    match value:
        case Markup() | Translator():
            return value
        case str():
            return value + ATTACK if value else value
        case list() | tuple():
            return type(value)([attacked(element) for element in value])
        case dict():
            return {key: attacked(element) for key, element in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    own = [field.name for field in fields(value) if field.name not in OURS]
    return replace(value, **{name: attacked(getattr(value, name)) for name in own})


def assert_harmless(attacked_page: str, page_itself: str) -> None:
    assert "evil()" in attacked_page
    assert skeleton(attacked_page) == skeleton(page_itself)
    assert "<script>evil" not in attacked_page
    assert "<img src=x" not in attacked_page
    assert "{{ 7 * 191 }}" in attacked_page
    assert "1337" not in attacked_page
    assert re.findall(r"[\0-\x08\x0b\x0c\x0e-\x1f]", attacked_page) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", ["lab", "developer"])
def test_report_shows_every_text_as_text(audience: Audience, language: Any) -> None:
    evaluated = evaluation(*(algorithm_result(name, (90, 66)) for name in ("One", "Two", "Three")))
    document = group_document(
        comparisons=[comparison(rule_effects=rule_effects())],
        plan=plan(verdicts={"One": "failed"}),
    )
    view = png(np.zeros((9, 9), dtype=np.uint8))
    attachments = ReportAttachments(
        flips=flips_of(evaluated),
        patches=[Patch("One", "hit", "c", "n", (view, view, view), "solid")],
    )
    content = report_content(
        document, curves_of(evaluated), attachments, audience=audience, language_name=language
    )
    assert_harmless(page(attacked(content)), page(content))


def test_names_in_charts_and_data_of_the_script_are_text() -> None:
    names = [f"{name}{ATTACK}" for name in ("A", "B", "C")]
    evaluated = evaluation(*(algorithm_result(name, (90, 66)) for name in names))
    plain = evaluation(*(algorithm_result(name[0], (90, 66)) for name in names))
    pages = [
        page(
            report_content(
                evaluation_document(it), curves_of(it), ReportAttachments(flips=flips_of(it))
            )
        )
        for it in (evaluated, plain)
    ]
    assert_harmless(*pages)


def test_curation_page_shows_every_text_as_text() -> None:
    reason = ("Slices are 5 mm.", "thick")
    card = Card(
        name="1.2.3", code="thick", state="thick", reasons=[reason], waived=[reason],
        pictures=[("axial cut", "AAAA")], patient="P", modality="CT", size="1", scanner="S",
        folder="f",
    )  # fmt: skip
    cards = [card, replace(card, pictures=())]
    browser = SeriesBrowser([("thick", "thick", 1)], cards, translator("en"))
    plain: dict[str, Any] = {
        "title": "t", "kind": "k", "lead": "l", "facts": [("a", "b")], "footer": ["f"],
        "version": "1", "sections": [Section("s", "Title", [browser, Paragraphs(["a", "b"])])],
    }  # fmt: skip
    asked = {"style": "curation.css", "script": "curation.js"}
    hostile = {name: attacked(value) for name, value in plain.items()}
    assert_harmless(
        framed_page(PageFrame(**hostile, **asked)), framed_page(PageFrame(**plain, **asked))
    )


def test_page_of_a_composition_shows_every_text_as_text() -> None:
    rule = CoverageRule(name="patients", source="3.1", minimum_rows=2)
    document = cover(reference(case("a", nodule(5))), DesignInput(name="x", rules=(rule,)))
    hostile = dict(document)
    for key in ("name", "design", "commission"):
        hostile[key] = attacked(document[key])
    assert_harmless(render_coverage(hostile), render_coverage(document))


def test_nothing_is_escaped_by_hand_outside_report_pages() -> None:
    """A text that a developer must remember to escape is forgotten one day."""
    by_hand = re.compile(
        r"import .*\bescape\b|(?<![.\w])escape\(|\bMarkup\(\w?[\"'\w]|html\.escape"
    )
    places = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "report" / "pages")
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line) and "re.escape(" not in line
    ]
    assert places == []


def test_templates_let_nothing_through_unescaped() -> None:
    templates = list((PACKAGE / "report" / "pages" / "templates").rglob("*.html"))
    assert len(templates) > 8
    for path in templates:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"\|\s*safe\b|autoescape\s+false", text) == [], path.name
