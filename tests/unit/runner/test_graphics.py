"""Memory of graphics cards is what NVIDIA's program tells; where it tells none, it is unknown."""

from pathlib import Path

import pytest

from nodulebench.runner import slot as graphics
from nodulebench.runner.slot import used_mb, watched_cards


def cards(folder: Path, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in place of NVIDIA's."""
    program = folder / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{message}')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_memory_of_a_slot_s_own_cards_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards(tmp_path, "echo 1024; echo 512", monkeypatch)
    assert used_mb((0, 3)) == 1536.0
    asked = (tmp_path / "asked").read_text()
    assert asked == "--query-gpu=memory.used --format=csv,noheader,nounits --id=0,3\n"


@pytest.mark.parametrize("message", ["echo '[N/A]'", "exit 9", "echo 1; echo 2; echo 3", ":"])
def test_an_invalid_answer_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    cards(tmp_path, message, monkeypatch)
    assert used_mb((0,)) is None


def test_without_the_program_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with watched_cards((0,)) as seen:
        pass
    assert seen.peak_mb is None


def test_the_highest_of_all_readings_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([100.0, 900.0, None])
    ended = []

    def read_memory(_: object) -> float | None:
        reading = next(readings, 200.0)
        ended.append(reading)
        return reading

    monkeypatch.setattr(graphics, "used_mb", read_memory)
    monkeypatch.setattr(graphics, "ASKS_S", 0.001)
    with watched_cards((1,)) as seen:
        while len(ended) < 5:
            pass
    assert seen.peak_mb == 900.0


def test_a_slot_without_cards_does_not_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphics, "used_mb", lambda _: pytest.fail("asked"))
    with watched_cards(()) as seen:
        assert seen.peak_mb is None
