"""The documentation builds without a warning, needs no network, and its notebooks run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from builders.browser import started_browser
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
QUESTIONS = {
    "install": "start/install",
    "score a csv": "how-to/evaluate/use-my-file-format",
    "other columns": "how-to/evaluate/use-my-file-format",
    "decimal comma": "how-to/evaluate/use-my-file-format",
    "YOLO boxes": "how-to/evaluate/use-my-file-format",
    "masks": "how-to/evaluate/use-my-file-format",
    "one fold only": "how-to/evaluate/score-one-fold",
    "training loop": "how-to/evaluate/score-during-training",
    "threshold at 1 FP per scan": "how-to/evaluate/read-thresholds",
    "subgroups": "how-to/evaluate/strata-from-a-cases-table",
    "figure for a paper": "how-to/evaluate/find-every-number",
    "LaTeX": "how-to/evaluate/find-every-number",
    "what does a warning code mean": "reference/generated/messages",
    "IoU": "start/choose-a-rule",
    "compare two models": "how-to/compare/compare-algorithms",
    "how many scans do I need": "how-to/plan/plan-a-test",
    "de-identify": "how-to/curate/deidentify",
    "read scans with two readers": "how-to/annotate/make-a-reference",
    "viewer": "how-to/read/read-scans",
    "seal a test set": "how-to/custody/seal-a-test-set",
    "verify a result": "how-to/custody/verify-and-sign",
    "run a docker image": "how-to/run/run-an-algorithm",
    "container": "how-to/run/run-an-algorithm",
    "host a leaderboard": "how-to/host/start-a-portal",
}
"""What a newcomer types -> the page that the search lists first."""
FIRST_RESULT = """(question) => {
    const results = Search._performSearch(...Search._parseQuery(question));
    return results.at(-1)?.[0];
}"""
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


def test_the_search_answers_typical_questions_at_the_first_try(pages: Path) -> None:
    first = {}
    with started_browser() as browser:
        page = browser.new_page()
        for question in QUESTIONS:
            page.goto(f"{(pages / 'search.html').as_uri()}?q={quote(question)}")
            page.wait_for_function("() => Search.hasIndex()")
            first[question] = page.evaluate(FIRST_RESULT, question)
    assert first == QUESTIONS


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
