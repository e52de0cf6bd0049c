"""Notebooks of the tutorials -> pages: their texts, their code, and what it shows."""

import ast
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any
from unittest.mock import patch

from generate.markdown import fence
from nodulebench.core.errors import InputError
from nodulebench.demo import DemoChoice
from nodulebench.web.client import Client
from nodulebench.web.portal.demo import fill, token_for_programs
from nodulebench.web.portal.site import Settings, Site

_TINY = DemoChoice(phantoms=2, matrix=48, slice_mm=5.0, types=("solid",), processes=1)
_ENTRIES, _LONGEST_S = 5, 300.0
"""What the demonstration of a portal has on its leaderboard, and how long that may take."""
TUTORIALS = Path(__file__).parents[1] / "tutorials"


def notebook_page(name: str) -> str:
    """The page of a notebook, which runs in its own folder."""
    cells = json.loads((TUTORIALS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    place = os.path.relpath(TUTORIALS / f"{name}.ipynb", Path(__file__).parents[1])
    with TemporaryDirectory() as folder, chdir(folder):
        shown = list(_shown(cells))
    head, *rest = shown
    return "\n\n".join([head, f"{{download}}`Notebook </{place}>`", *rest, ""])


def portal_page(name: str) -> str:
    """The page of a notebook that speaks to a portal: one is served while it runs."""
    with demo_portal() as known, patch.dict(os.environ, known):
        return notebook_page(name)


@contextmanager
def demo_portal() -> Iterator[dict[str, str]]:
    """A portal with a small demonstration; its address and a token, as variables."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with TemporaryDirectory() as storage:
        site = Site.open(Settings(Path(storage)))
        with closing(site.database):
            fill(site, _TINY, runs=False)
            token = token_for_programs(site)
        options = ["--storage", storage, "--port", str(port)]
        portal = Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "nodulebench", "portal", *options], stdout=DEVNULL
        )
        try:
            _until_scored(Client(f"http://127.0.0.1:{port}"))
            yield {"PORTAL": f"http://127.0.0.1:{port}", "TOKEN": token}
        finally:
            portal.terminate()
            portal.wait(timeout=60)


def _until_scored(portal: Client) -> None:
    """Wait until a portal answers and has scored what its demonstration sent."""
    until = monotonic() + _LONGEST_S
    while monotonic() < until:
        with suppress(InputError):  # it does not answer yet
            (benchmark,) = portal.benchmarks()
            if len(portal.leaderboard(benchmark.id).lines) == _ENTRIES:
                return
        sleep(0.2)
    raise TimeoutError(portal.address)


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
