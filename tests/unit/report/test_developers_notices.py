"""Of every value of every notice: it reaches a developer only where the allow-list says so."""

import json
import re
from dataclasses import replace
from functools import cache
from string import Formatter
from typing import Any

import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation
from builders.report import comparison, criterion, group_content, plan, typed
from builders.sentences import sentence_json
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.i18n.translator import NOTICES, catalogue, fields
from nodulebench.report.csv_tables import csv_tables
from nodulebench.report.developer_copy import developers_document
from nodulebench.report.disclosure import FOR_DEVELOPERS
from nodulebench.report.html import render_html

WORDS = {code: text for domain in NOTICES for code, text in catalogue("en", domain).items()}
FIELDS = [(code, field) for code in WORDS for field in sorted(fields(WORDS[code]))]
KINDS = ("text", "number", "list")
CURVES = curves_of(evaluation(algorithm_result("One", (90, 66))))


def token(code: str, field: str, kind: str) -> str:
    """A text that represents exactly one value."""
    number = FIELDS.index((code, field))
    return str(73_100_000 + number) if kind == "number" else f"zq{number:03}qz"


def tokens_in(text: str, kind: str) -> set[tuple[str, str]]:
    """The fields whose tokens occur in a text."""
    pattern = r"731\d{5}" if kind == "number" else r"zq\d{3,}qz"
    numbers = {int(re.sub(r"\D", "", token)) for token in re.findall(pattern, text)}
    start = 73_100_000 if kind == "number" else 0
    return {FIELDS[number - start] for number in numbers}


def canary(code: str, field: str, kind: str) -> Any:
    """A value that does its best to get out."""
    secret = token(code, field, kind)
    if kind == "number":
        return int(secret)
    text = f"O'Brien's {secret} <b>'x'"
    return [text, text] if kind == "list" else text


def notice_of(code: str, kind: str) -> Notice:
    return Notice(code, {field: canary(code, field, kind) for field in fields(WORDS[code])})


@cache
def document(kind: str) -> Document:
    """A document with every code in every place where one can occur."""
    everything = [notice_of(code, kind) for code in WORDS]
    each = [notice.to_json() for notice in everything]
    content = group_content(notices=each, comparisons=[comparison(notices=each)])
    stated = [
        {**criterion("recall", "low", ">=", 0.7, met=None), "reason": notice} for notice in each
    ]
    content["plan"] = plan(matches=False, differences=each, criteria=stated)
    first = content["algorithms"][0]
    first["notices"] = each
    rule = first["rules"]["center_hit"]
    rule["notices"], rule["remarks"] = each, each
    content_document = typed(content)
    algorithm = content_document.algorithms[0]
    undefined = {
        f"f{number}": Estimate(None, reason=notice) for number, notice in enumerate(everything)
    }
    made = {f"m{number}": Estimate(0.5, method=notice) for number, notice in enumerate(everything)}
    with_notices = replace(algorithm.rules["center_hit"], metrics=undefined | made)
    algorithm = replace(algorithm, rules={**algorithm.rules, "center_hit": with_notices})
    return replace(content_document, algorithms=(algorithm, *content_document.algorithms[1:]))


@cache
def as_json(kind: str) -> str:
    return json.dumps(developers_document(document(kind)).to_json(), ensure_ascii=False)


@cache
def as_tables(kind: str) -> str:
    tables = csv_tables(developers_document(document(kind)))
    return "\n".join(table.write_csv() for table in tables.values())


@cache
def as_page(kind: str, audience: str = "developer", language: str = "en") -> str:
    return render_html(document(kind), CURVES, audience=audience, language=language)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    pypdf = pytest.importorskip("pypdf")
    from nodulebench.report.pdf import render_pdf

    path = tmp_path_factory.mktemp("printed") / "report.pdf"
    render_pdf(path, document("text"), CURVES, audience="developer")
    return "".join(page.extract_text() for page in pypdf.PdfReader(path).pages)


def is_shown(code: str, field: str) -> bool:
    """Whether the words show a value itself; some only choose between words by it."""
    parts = Formatter().parse(WORDS[code])
    return any(name == field and "*=" not in (form or "") for _, name, form, _ in parts)


def is_allowed(code: str, field: str) -> bool:
    return field in FOR_DEVELOPERS.get(code, ())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_in_the_developers_document_if_it_is_allowed(kind: str) -> None:
    tokens = tokens_in(as_json(kind), kind)
    assert tokens == {field for field in FIELDS if is_allowed(*field)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_on_the_developers_pages_and_tables_only_if_it_is_allowed(kind: str) -> None:
    for text in (as_tables(kind), as_page(kind), as_page(kind, language="zh")):
        assert [field for field in tokens_in(text, kind) if not is_allowed(*field)] == []


def test_the_laboratory_sees_every_value_that_has_a_place_in_the_text() -> None:
    shown = tokens_in(as_page("text", "lab"), "text")
    assert [field for field in FIELDS if is_shown(*field) and field not in shown] == []


def test_a_value_is_on_the_developers_print_only_if_it_is_allowed(printed: str) -> None:
    assert token("marks_dropped", "marks", "text") in printed
    leaked = [
        field for field in FIELDS if not is_allowed(*field) and token(*field, "text") in printed
    ]
    assert leaked == []


def test_the_laboratorys_remarks_are_not_handed_to_developers() -> None:
    shown = developers_document(document("text"))
    assert [rule.remarks for _, _, rule in shown.results if rule.remarks] == []
    for code in ("nodule_regions", "overlap_of_hits"):
        assert code not in FOR_DEVELOPERS
        assert f'"{code}"' not in as_json("text")


def test_sentences_of_others_are_not_handed_to_developers() -> None:
    sentence = sentence_json("no nodule of case O'Brien's <b>'x' was found")
    content = group_content()
    content["algorithms"][0]["notices"] = [sentence]
    rule = content["algorithms"][0]["rules"]["center_hit"]
    rule["notices"] = rule["remarks"] = [sentence]
    rule["metrics"]["recall"] = {"value": None, "reason": sentence}
    rule["metrics"]["precision"] = {"value": 0.5, "method": sentence}
    content["algorithms"][0]["rules"]["center_distance"] = {"undefined": sentence}
    shown = developers_document(typed(content))
    assert "Brien" not in json.dumps(shown.to_json())
    assert shown.algorithms[0].rules["center_hit"].metric("recall") == Estimate(
        None, reason=Notice("withheld")
    )
    assert shown.algorithms[0].rules["center_hit"].metric("precision") == Estimate(
        0.5, method=Notice("withheld")
    )
    assert "Brien" in render_html(typed(content), CURVES)
