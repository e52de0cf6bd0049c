"""The one display of how far a command is."""

import re
import sys
from pathlib import Path
from threading import Event

import pytest

from nodulebench.cli import terminal as progress
from nodulebench.cli.terminal import ProgressLine, guarded


def progress_lines(capsys: pytest.CaptureFixture[str], *steps: tuple[str, int, int]) -> str:
    with ProgressLine() as line:
        for step in steps:
            line.tell(*step)
    return capsys.readouterr().err


def test_a_log_gets_a_line_for_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = progress_lines(capsys, *(("files", done, 200) for done in range(1, 201))).splitlines()
    assert lines[0] == "files: 1 of 200"
    assert lines[-1] == "files: 200 of 200"
    assert len(lines) == 11


def test_other_work_gets_a_separate_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_lines(capsys, ("a: 3 marks", 1, 20), ("b: failed", 2, 20)).splitlines() == [
        "a: 3 marks: 1 of 20",
        "b: failed: 2 of 20",
    ]


def test_a_terminal_gets_one_line_that_is_gone_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = progress_lines(capsys, ("files", 1, 2), ("files", 2, 2), ("none", 0, 0))
    assert "\n" not in shown
    assert f"{'█' * 15}{'░' * 15} 1/2 files" in shown
    assert shown.endswith("\r\033[K")


def test_no_name_commands_the_terminal_between_our_own_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with guarded():
        with ProgressLine() as line:
            line.tell("a\x1b[2J\r\nb", 0, 0)
        shown = capsys.readouterr().err
    assert shown == "\r\033[Ka\\x1b[2J b\r\033[K"


def shown_while(
    monkeypatch: pytest.MonkeyPatch, wait: str, *steps: tuple[str, int, int]
) -> list[str]:
    """What named work shows, at least until a text has come."""
    shown: list[str] = []
    has_come = Event()

    def echo(text: str, **_: object) -> None:
        shown.append(text)
        if wait in text:
            has_come.set()

    monkeypatch.setattr(progress.click, "echo", echo)
    with ProgressLine("comparing", 0.01) as line:
        for step in steps:
            line.tell(*step)
        assert has_come.wait(20)
    return shown


def test_named_work_says_so_after_a_while_even_if_it_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown_while(monkeypatch, "comparing") == ["comparing"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = shown_while(monkeypatch, "1/2 b", ("b", 1, 2))
    assert re.search(f"{'█' * 15}{'░' * 15} 1/2 b \\d+ s", "".join(shown))
    assert shown[-1] == "\r\033[K"


def test_what_is_done_soon_is_done_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("comparing") as line:
        line.tell("a", 1, 2)
    assert capsys.readouterr().err == ""


def test_nothing_is_shown_after_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), ProgressLine("comparing", 0.0) as line:
        raise KeyboardInterrupt
    assert line._clock is not None
    assert not line._clock.is_alive()
    before = capsys.readouterr().err
    assert before in ("", "comparing\n")


def test_progress_without_a_total_has_no_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_lines(capsys, ("union", 0, 0), ("majority", 1, 0)) == "union\nmajority\n"


def test_items_are_printed_between_lines_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow work speaks while an item is made, and is silent where the item is printed."""
    names: list[str] = []

    class Line:
        def __init__(self, work: str) -> None:
            names.append(f"begin {work}")

        def __enter__(self) -> "Line":
            return self

        def __exit__(self, *_: object) -> None:
            names.append("gone")

        def tell(self, _what: str, done: int, of: int) -> None:
            names.append(f"{done} of {of}")

    monkeypatch.setattr(progress, "ProgressLine", Line)
    for item in progress.with_progress("testing", iter("ab"), 2):
        names.append(item)
    made = ["begin testing", "0 of 2", "gone", "a", "begin testing", "1 of 2", "gone", "b"]
    assert names == [*made, "begin testing", "2 of 2", "gone"]


SHOWS_PROGRESS = re.compile(r"\b(?:ProgressLine|with_progress|tell_line)\b")
SHORT = {
    "completion",
    "lists",
    "help",
    "options",
    "output",
    "read",
    "view",
    "terminal",
    "__init__",
}
"""Commands that only tell what they know, and what commands share."""


def test_every_command_tells_that_it_is_at_work() -> None:
    """A command that may take longer than two seconds has a line for every input."""
    folder = Path(progress.__file__).parent
    silent = [
        path.stem
        for path in sorted(folder.glob("*.py"))
        if path.stem not in SHORT and not SHOWS_PROGRESS.search(path.read_text(encoding="utf-8"))
    ]
    assert silent == []
