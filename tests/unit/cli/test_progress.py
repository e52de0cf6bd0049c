"""The one display of how far a command is."""

import sys

import pytest

from nodulebench.cli.progress import ProgressLine


def told(capsys: pytest.CaptureFixture[str], *steps: tuple[str, int, int]) -> str:
    with ProgressLine() as line:
        for step in steps:
            line.tell(*step)
    return capsys.readouterr().err


def test_a_log_gets_a_line_for_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, *(("files", done, 200) for done in range(1, 201))).splitlines()
    assert lines[0] == "files: 1 of 200"
    assert lines[-1] == "files: 200 of 200"
    assert len(lines) == 11


def test_another_thing_gets_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, ("a: 3 marks", 1, 20), ("b: failed", 2, 20)).splitlines() == [
        "a: 3 marks: 1 of 20",
        "b: failed: 2 of 20",
    ]


def test_a_terminal_gets_one_line_that_is_gone_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = told(capsys, ("files", 1, 2), ("files", 2, 2), ("none", 0, 0))
    assert "\n" not in shown
    assert f"{'█' * 15}{'░' * 15} 1/2 files" in shown
    assert shown.endswith("\r\033[K")
