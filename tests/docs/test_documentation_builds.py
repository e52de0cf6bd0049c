"""The documentation builds without a warning, needs no network, and its notebooks run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from builders.places import ROOT

DOCS = ROOT / "docs"
GENERATED = DOCS / "reference" / "generated"
SHOWN = {
    "score-from-python": [
        "60 cases, 90 nodules; protocol luna16",
        "<td>0.5</td><td>0.25</td><td>0.8</td>",
    ],
    "submit-from-a-notebook": [
        "('Phantoms', 'luna16', 'open')",
        "my_marks.csv line 2",
        "('luna16_csv', 2, ())",
        "<td>null</td><td>&quot;Two guesses&quot;</td><td>false</td>",
    ],
}
"""Some of what the pages of notebooks show."""
NOTEBOOKS = sorted(DOCS.glob("tutorials/*.ipynb"))
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b(?=[^>]*rel=["'](?:stylesheet|preload|icon|preconnect)["'])[^>]*href=["'](?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built documentation; generated pages are made again if they changed."""
    pytest.importorskip("furo", reason="the extra 'docs' is not installed")
    pytest.importorskip("myst_parser", reason="the extra 'docs' is not installed")
    pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
    folder = tmp_path_factory.mktemp("docs")
    places = ["-d", folder / "doctrees", DOCS, folder / "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", *places],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_pages_need_no_network(pages: Path) -> None:
    built = [*pages.rglob("*.html"), *pages.rglob("*.css")]
    assert pages / "explanation" / "rules" / "center_hit.html" in built
    assert pages / "reference" / "generated" / "metrics.html" in built
    loading = {
        path.name: match.group()
        for path in built
        if (match := LOADED.search(path.read_text(encoding="utf-8")))
    }
    assert loading == {}


def test_every_page_has_a_markdown_twin_and_an_entry_in_llms_txt(pages: Path) -> None:
    listed = (pages / "llms.txt").read_text(encoding="utf-8")
    twins = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    linked = set(re.findall(r"\]\(([^)]+\.md)\)", listed))
    assert linked <= twins
    assert twins - linked == {"index.md"}
    assert len(re.findall(r"^## ", listed, re.M)) == 10
    assert all((pages / twin).with_suffix(".html").is_file() for twin in twins)


@pytest.mark.parametrize(
    "word", ["instal", "subgroup", "yolo", "loop", "iou", "contain", "glossari"]
)
def test_search_finds_what_newcomers_look_for(pages: Path, word: str) -> None:
    index = (pages / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index[index.index("{") : index.rindex("}") + 1])["terms"]
    assert word in terms


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_is_stored_without_outputs_and_has_a_page(
    pages: Path, notebook: Path
) -> None:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    cells = document["cells"]
    assert (document["nbformat"], len({cell["id"] for cell in cells})) == (4, len(cells))
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    page = (GENERATED / f"{notebook.stem}.md").read_text(encoding="utf-8")
    assert all("".join(cell["source"]) in page for cell in cells)
    for shown in SHOWN[notebook.stem]:
        assert shown in page
    assert (pages / "reference" / "generated" / f"{notebook.stem}.html").is_file()


@pytest.mark.parametrize(
    ("text", "is_loading"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', True),
        ('<link href="https://example.org/a.css" rel="stylesheet">', True),
        ("@import url('https://fonts.example.org/a.css');", True),
        ('<a href="https://doi.org/10.1016/j.media.2017.06.015">paper</a>', False),
        ('<script src="_static/x.js"></script>', False),
    ],
)
def test_what_loads_from_the_network_is_recognised(text: str, is_loading: bool) -> None:
    assert bool(LOADED.search(text)) == is_loading
