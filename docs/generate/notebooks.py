"""Notebooks of the tutorials -> pages: their texts, their code, and what it shows."""

import ast
import json
import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from generate.markdown import fence

TUTORIALS = Path(__file__).parents[1] / "tutorials"


def notebook_page(name: str) -> str:
    """The page of a notebook, which runs in a folder of its own."""
    cells = json.loads((TUTORIALS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    place = os.path.relpath(TUTORIALS / f"{name}.ipynb", Path(__file__).parents[1])
    with TemporaryDirectory() as folder, chdir(folder):
        shown = list(_shown(cells))
    head, *rest = shown
    return "\n\n".join([head, f"{{download}}`Notebook </{place}>`", *rest, ""])


def _shown(cells: list[dict[str, Any]]) -> Iterator[str]:
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield fence(source, "python")
        value = run_cell(source, names)
        if value is not None:
            yield _output(value)


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(source, names)  # noqa: S102 - our own tutorial
        return None
    tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def _output(value: Any) -> str:
    """As a notebook shows it: HTML where the value has any, else text."""
    shown = getattr(value, "_repr_html_", None)
    return fence(repr(value), "text") if shown is None else fence(shown(), "{raw} html")
