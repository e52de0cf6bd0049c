"""The package has no code that only tests call: every name is used outside its definition."""

import ast
import re
from collections import Counter

import pytest

from builders.places import ROOT

TEXTS = {".py", ".md", ".toml", ".html", ".js"}
FOLDERS = ("src", "docs", "benchmarks")


@pytest.mark.slow
def test_every_function_and_class_is_named_outside_of_tests() -> None:
    words: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in TEXTS and "_build" not in path.parts:
                words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    lone = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.decorator_list  # a decorator registers what it decorates
        and not node.name.startswith("__")
        and words[node.name] < 2
    ]
    assert lone == [], "reach it from a command, or remove it with its tests"
