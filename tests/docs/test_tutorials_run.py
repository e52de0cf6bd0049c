"""Every code block of the documentation runs, and shows what the page says."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest
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
from nodulebench.cli import nodulebench

PAGES = ROOT / "docs"
ELSEWHERE = ("a-test-lab-from-dicom-to-verdict",)
"""Tutorials that a journey runs: tests/journeys/test_from_dicom_to_verdict.py."""
TUTORIALS = [page for page in sorted(PAGES.glob("tutorials/*.md")) if page.stem not in ELSEWHERE]
SERVED = {
    "start-a-portal": "test_portal_in_browser.py",
    "install-a-portal": "test_portal_in_browser.py",
    "submit-by-a-program": "test_portal_in_browser.py",
    "read-scans": "test_viewer_in_browser.py",
    "read-in-a-team": "test_work_modes_in_browser.py",
    "review-and-correct": "test_work_modes_in_browser.py",
    "arbitrate": "test_work_modes_in_browser.py",
    "organise-readings": "test_work_modes_in_browser.py",
}
"""Pages about what serves until it is stopped, and the journey that starts it."""
HOW_TO = [
    page
    for page in [*sorted(PAGES.glob("how-to/*/*.md")), *sorted(PAGES.glob("start/*.md"))]
    if page.stem not in SERVED and (page.parent.name != "start" or blocks_of(page))
    if page.stem != "index"
]
EXPLANATIONS = [page for page in sorted(PAGES.glob("explanation/*.md")) if blocks_of(page)]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_every_block_of_a_tutorial_gives_the_output_of_the_page(page: Path, tmp_path: Path) -> None:
    check_page(page, tmp_path, run_block)


@pytest.mark.parametrize("page", [*HOW_TO, *EXPLANATIONS], ids=lambda page: page.stem)
def test_every_block_of_another_page_gives_the_output_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    check_page(page, tmp_path, run_block_here)


@pytest.mark.parametrize("name", SERVED)
def test_serving_commands_have_the_options_of_their_page(name: str) -> None:
    assert (ROOT / "tests" / "journeys" / SERVED[name]).exists()
    (page,) = PAGES.glob(f"how-to/*/{name}.md")
    for block in blocks_of(page):
        if block.kind == "python":
            compile(block.text, name, "exec")
        for line in block.text.splitlines():
            if line.startswith("nodulebench "):
                assert unknown_options(shlex.split(line)[1:]) == [], line
    for line in re.findall("^ExecStart=.*/bin/nodulebench (.*)$", page.read_text(), re.MULTILINE):
        assert unknown_options(shlex.split(line)) == [], line


def unknown_options(words: list[str]) -> list[str]:
    command: click.Command = nodulebench
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        subcommand = command.get_command(click.Context(command), words[0])
        if subcommand is None:
            break
        command, words = subcommand, words[1:]
    known = {opt for parameter in command.params for opt in parameter.opts}
    return [word for word in words if word.startswith("-") and word.split("=")[0] not in known]


def test_an_option_that_no_command_has_is_seen() -> None:
    assert unknown_options(["portal", "worker", "--storage", "x", "--nothing"]) == ["--nothing"]
    assert unknown_options(["portals", "--storage", "x"]) == ["--storage"]


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
