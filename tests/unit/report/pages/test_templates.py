"""Templates: compiled once, loaded late, and never a reason for a page to fail."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemBytecodeCache, UndefinedError

from nodulebench.report.pages.templates import environment, printable


@pytest.mark.slow
def test_jinja2_is_loaded_when_the_first_page_is_made() -> None:
    program = (
        "import sys, nodulebench.report.html, nodulebench.curation.page\n"
        "from nodulebench.report.pages.templates import environment\n"
        "assert 'jinja2' not in sys.modules\nenvironment()\nassert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


def test_characters_that_no_page_may_hold_are_replaced() -> None:
    assert printable("a\0b\x1f\tc\n") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}\tc\n"


def fresh(monkeypatch: pytest.MonkeyPatch, folder: Callable[[object], str]) -> Environment:
    """The environment as a process makes it whose user has that folder for caches."""
    monkeypatch.setattr(FileSystemBytecodeCache, "_get_default_cache_dir", folder)
    return environment.__wrapped__()


def test_compiled_templates_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        fresh(monkeypatch, lambda _: str(tmp_path)).get_template("blocks.html")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fresh(monkeypatch, lambda _: str(tmp_path / "not" / "there"))
    assert "{{" not in made.get_template("blocks.html").render()


def test_without_an_own_folder_no_bytecode_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> str:
        raise RuntimeError("not yours")

    assert fresh(monkeypatch, refuse).bytecode_cache is None
