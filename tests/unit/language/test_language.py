"""Both languages say the same things; nothing in a report is left without words."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import nodulebench
from builders.evaluation import algorithm_result, curves_of, evaluation, flips_of
from nodulebench.language import LANGUAGES, PARTS, language
from nodulebench.match.rules import RULES as REGISTERED_RULES
from nodulebench.metrics import FACTS
from nodulebench.metrics import FIGURES as REGISTERED_FIGURES
from nodulebench.model.document import evaluation_document
from nodulebench.model.labels import LABEL_NAMES
from nodulebench.model.tables import NODULE_TYPES
from nodulebench.report.html_page.html import render_html

PACKAGE = Path(nodulebench.__file__).parent
SPEAKING = (PACKAGE / "report", PACKAGE / "language")
"""Where keys are used."""
NAME_TABLES = ("FIGURES", "TERMS", "RULES", "COUNTS", "STRATA", "NAMES")


def texts(name: str) -> dict[str, str]:
    return {
        key: text
        for part in PARTS
        for key, text in import_module(f"nodulebench.language.{name}.{part}").TEXTS.items()
    }


def names(name: str):
    return import_module(f"nodulebench.language.{name}.names")


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def keys_in_source() -> tuple[set[str], list[str]]:
    """Texts that look like keys, and patterns of those that are put together."""
    whole, patterns = set(), []
    for path in (path for folder in SPEAKING for path in folder.rglob("*.py")):
        if path.parent.parent.name == "language":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr):
                parts = (
                    re.escape(part.value) if isinstance(part, ast.Constant) else ".+"
                    for part in node.values
                )
                patterns.append("".join(parts))
    for path in (PACKAGE / "pages" / "templates").glob("*.html"):
        whole |= set(re.findall(r'say\("([^"]+)"', path.read_text(encoding="utf-8")))
    return whole, patterns


def test_languages_have_the_same_keys() -> None:
    english, *others = (set(texts(name)) for name in LANGUAGES)
    assert [english ^ other for other in others] == [set()]


def test_texts_of_a_key_take_the_same_values() -> None:
    english, chinese = texts("en"), texts("zh")
    assert [key for key in english if fields(english[key]) != fields(chinese[key])] == []


@pytest.mark.parametrize("table", NAME_TABLES)
def test_languages_name_the_same_things(table: str) -> None:
    english, *others = (list(getattr(names(name), table)) for name in LANGUAGES)
    assert [sorted(other) for other in others] == [sorted(english)]


def test_rules_for_uses_are_the_same() -> None:
    english, *others = ([rule for rule, _ in language(name).uses] for name in LANGUAGES)
    assert others == [english]


def test_every_text_is_used_somewhere() -> None:
    whole, patterns = keys_in_source()
    unused = [
        key
        for key in texts("en")
        if key not in whole and not any(re.fullmatch(one, key) for one in patterns if "\\." in one)
    ]
    assert unused == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_figure_rule_label_and_type_has_words(name: str) -> None:
    say = language(name)
    figures = [figure for figure in REGISTERED_FIGURES if figure != "f_beta"]
    assert [one for one in figures if not say.figure(one).meaning] == []
    assert [rule for rule in REGISTERED_RULES if not say.rule(rule)] == []
    assert set(say.counts) >= set(LABEL_NAMES)
    known = set(names(name).NAMES)
    assert known >= {*NODULE_TYPES, *LABEL_NAMES, *REGISTERED_RULES}


def test_terms_are_those_of_the_figures_own_facts() -> None:
    stated = {
        "f1" if name == "f_beta" else name: facts.ieee_2802
        for name, facts in FACTS.items()
        if facts.ieee_2802
    }
    assert stated == names("en").TERMS


def test_list_in_a_sentence() -> None:
    assert language("en").joined(["a", "b", "c"]) == "a, b and c"
    assert language("en").joined(["a"]) == "a"
    assert language("zh").joined(["甲", "乙", "丙"]) == "甲、乙和丙"


def chinese_page() -> str:
    one = evaluation(algorithm_result("Alpha", (90, 66)), algorithm_result("Beta", (84, 70)))
    return render_html(evaluation_document(one), curves_of(one), flips_of(one), language="zh")


def shown_texts(html: str) -> Iterator[str]:
    """Every text between tags, scripts and styles left out."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    for text in re.findall(r">([^<]+)<", body):
        yield text.strip()


def test_chinese_report_says_no_heading_or_sentence_in_english() -> None:
    shown = set(shown_texts(chinese_page()))
    same = {text for key, text in texts("zh").items() if text == texts("en")[key]}
    english = {text for text in texts("en").values() if not fields(text) and len(text) > 3} - same
    assert shown & english == set()
    assert "主要指标" in shown
    assert "测量不确定度与溯源性" in shown


def test_chinese_page_states_its_language_and_fonts() -> None:
    html = chinese_page()
    assert '<html lang="zh-CN">' in html
    assert '"Noto Sans CJK SC"' in html
    assert "@font-face" not in html


def test_chinese_is_punctuated_as_chinese() -> None:
    found = [
        key
        for key, text in texts("zh").items()
        if re.search(r"[\u4e00-\u9fff][,;:]|[,;:][\u4e00-\u9fff]", text)
    ]
    assert found == []


def test_numbers_are_the_same_in_every_language() -> None:
    one = evaluation(algorithm_result("Alpha", (90, 66)))
    pages = [
        render_html(evaluation_document(one), curves_of(one), language=name) for name in LANGUAGES
    ]
    cells = [re.findall(r'<td class="number"[^>]*>([\d.,]+)', page) for page in pages]
    assert len(cells[0]) > 100
    assert cells[0] == cells[1]
