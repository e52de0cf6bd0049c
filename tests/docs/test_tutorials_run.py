"""Every code block of the documentation runs, and shows what the page says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from generate import PAGES as GENERATED
from generate.notebooks import run_cell

from builders.doc_blocks import (
    Block,
    blocks_of,
    blocks_to_run,
    lines_not_shown,
    run_block,
    run_block_here,
)
from builders.places import ROOT

PAGES = ROOT / "docs"
ELSEWHERE = ("a-test-lab-from-dicom-to-verdict",)
"""Tutorials that a journey runs: tests/journeys/test_from_dicom_to_verdict.py."""
TUTORIALS = [page for page in sorted(PAGES.glob("tutorials/*.md")) if page.stem not in ELSEWHERE]
NOTEBOOKS = sorted(PAGES.glob("tutorials/*.ipynb"))
HOW_TO = sorted(PAGES.glob("how-to/*/*.md"))
EXPLANATIONS = [page for page in sorted(PAGES.glob("explanation/*.md")) if blocks_of(page)]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_every_block_of_a_tutorial_runs_and_shows_what_the_page_says(
    page: Path, tmp_path: Path
) -> None:
    check_page(page, tmp_path, run_block)


@pytest.mark.parametrize("page", [*HOW_TO, *EXPLANATIONS], ids=lambda page: page.stem)
def test_every_block_of_another_page_runs_and_shows_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    check_page(page, tmp_path, run_block_here)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_is_kept_without_outputs_and_has_its_page(notebook: Path) -> None:
    kept = json.loads(notebook.read_text(encoding="utf-8"))
    cells = kept["cells"]
    assert (kept["nbformat"], len({cell["id"] for cell in cells})) == (4, len(cells))
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    page = GENERATED[f"{notebook.stem}.md"]()
    assert all("".join(cell["source"]) in page for cell in cells)
    assert "60 cases, 90 nodules; protocol luna16" in page
    assert "<td>0.5</td><td>0.25</td><td>0.8</td>" in page


def test_a_cell_shows_its_last_line_and_fails_aloud() -> None:
    names: dict[str, object] = {}
    assert run_cell("a = 2\na + 1", names) == 3
    assert run_cell("b = a", names) is None
    assert names["b"] == 2
    with pytest.raises(NameError):
        run_cell("c", names)


def check_page(page: Path, folder: Path, run: Callable[[Block, Path], str]) -> None:
    blocks = list(blocks_to_run(page, PAGES))
    assert any(block.kind in ("bash", "python") for block in blocks), f"{page} runs nothing"
    for block in blocks:
        output = run(block, folder)
        missing = lines_not_shown(block.shown, output)
        assert not missing, "\n".join([block.text, "does not show:", *missing, "but:", output])


def test_shown_lines_must_come_in_order_and_all() -> None:
    output = "one\ntwo  \nthree\n"
    assert lines_not_shown("one\n...\nthree\n", output) == []
    assert lines_not_shown("two\none\n", output) == ["one"]
    assert lines_not_shown("one\nfour\n", output) == ["four"]


def test_a_block_that_fails_unannounced_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exit 3"):
        run_block(Block("bash", "exit 3"), tmp_path)
    with pytest.raises(AssertionError, match="exit 0"):
        run_block(Block("bash", "true", shown="error: no such file\n"), tmp_path)
