"""The words of the portal: the same in both languages, all used, none missing."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import nodulebench
from nodulebench.annotation.actions import ASPECTS
from nodulebench.annotation.batch import State
from nodulebench.annotation.people import Role
from nodulebench.i18n.translator import LANGUAGES, PAGES, PORTAL, catalogue

PACKAGE = Path(nodulebench.__file__).parent
TEMPLATES = sorted((PACKAGE / "report" / "pages" / "templates" / "portal").glob("*.html"))
SOURCES = sorted((PACKAGE / "web" / "portal").rglob("*.py"))
FAMILIES = ("portal.refused.", "portal.action.", "portal.role.", "portal.state.", "portal.job.",
            "portal.nav.", "portal.done.", "portal.declared.", "portal.feedback.", "portal.terms.",
            "portal.lay.", "portal.count_of.", "portal.track.", "portal.trained.",
            "portal.trained_tag.", "portal.verdict.", "portal.release.", "portal.digest_of.",
            "portal.certificate.", "portal.batch.", "portal.part.", "portal.aspect.",
            "portal.exam.", "portal.exam_open.")  # fmt: skip
"""Keys that templates put together."""


def texts(name: str) -> dict[str, str]:
    return dict(catalogue(name, PORTAL))


def keys_in_templates() -> set[str]:
    """Keys that are written whole in a template."""
    pages = (page.read_text(encoding="utf-8") for page in TEMPLATES)
    return {key for page in pages for key in re.findall(r'\bt(?:ranslate)?\("([^"]+)"[,)]', page)}


def constants() -> set[str]:
    """Every text in the code of the portal, and what is put before a value."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES)
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_both_languages_have_the_same_keys_and_values() -> None:
    english, chinese = (texts(name) for name in LANGUAGES)
    assert english.keys() == chinese.keys()
    fields = {key: set(re.findall(r"\{(\w+)\}", text)) for key, text in english.items()}
    assert {key: set(re.findall(r"\{(\w+)\}", text)) for key, text in chinese.items()} == fields


def of_reports(name: str) -> set[str]:
    """Keys of what every page says, which the portal has, too."""
    return {key for domain in PAGES for key in catalogue(name, domain)}


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_key_is_one_of_a_report(name: str) -> None:
    assert texts(name).keys() & of_reports(name) == set()


def test_every_key_of_a_template_has_a_text_and_every_text_is_used() -> None:
    keys = set(texts("en"))
    whole = keys_in_templates()
    assert whole - keys - of_reports("en") == set()
    put_together = {key for key in keys if key.startswith(FAMILIES)}
    assert keys - whole - constants() - put_together == set()


def test_every_key_that_is_put_together_has_an_owner() -> None:
    values = constants() | {"heading", "benchmark_before", "benchmark_closed", "undecided", "sheet"}
    values |= {*get_args(State), *get_args(Role), *ASPECTS}
    ends = {
        key: key.partition(".")[2].partition(".")[2]
        for key in texts("en")
        if key.startswith(FAMILIES)
    }
    states = {"job_failed", "job_cancelled"}  # put together of a job's state
    whole = keys_in_templates()
    assert {
        key for key, end in ends.items() if end not in values | states and key not in whole
    } == set()


def test_every_action_and_refusal_of_the_code_has_a_text() -> None:
    keys, wanted = set(texts("en")), set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            if name == "DeniedError" and given and isinstance(given[0], str):
                wanted.add(f"portal.refused.{given[0]}")
            if name in ("acting", "record") and given and isinstance(given[-1], str) and given[-1]:
                wanted.add(f"portal.action.{given[-1]}")
    assert len(wanted) > 40
    assert wanted - keys == set()
    assert sum(key.startswith("portal.action.") for key in keys) > 25
