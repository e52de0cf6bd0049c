"""A log in which nothing can be changed, moved or taken away unnoticed."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.word_log import Word, log_in, translate
from nodulebench.core.errors import InputError
from nodulebench.security.event_log import EventLog, FolderStore, Link, chain_problems

CHAIN = [
    Link(f"{number}.json", number, number, f"d{number - 1}", f"d{number}") for number in (1, 2, 3)
]


def problems(*links: Link) -> list[str]:
    return [
        f"{problem.where}: {problem.what}"
        for problem in chain_problems(links, "d0", "the beginning")
    ]


def test_an_unbroken_chain_has_no_problems() -> None:
    assert problems() == []
    assert problems(*CHAIN) == []


@pytest.mark.parametrize(
    ("links", "messages_of"),
    [
        (CHAIN[1:], ["2.json: follows a gap: event 1 does not exist."]),
        (CHAIN[2:], ["3.json: follows a gap: event 1 and more does not exist."]),
        (
            [replace(CHAIN[0], digest="x"), *CHAIN[1:]],
            ["2.json: does not follow from 1.json: one of the two was changed."],
        ),
        (
            [replace(CHAIN[0], previous="x"), *CHAIN[1:]],
            ["1.json: does not follow from the beginning: one of the two was changed."],
        ),
        (
            [CHAIN[0], replace(CHAIN[1], number=3), CHAIN[2]],
            ["2.json: was changed: it states the number 3."],
        ),
        (
            [CHAIN[0], replace(CHAIN[1], wrong="was changed."), CHAIN[2]],
            ["2.json: was changed."],
        ),
    ],
)
def test_every_change_is_reported(links: list[Link], messages_of: list[str]) -> None:
    assert problems(*links) == messages_of


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    assert store.append(1, b"one")
    assert store.append(2, b"two")
    assert not store.append(2, b"other")
    store.write_head(b"{}")
    assert store.read_head() == b"{}"
    assert [stored.content for stored in store.read()] == [b"one", b"two"]
    assert [stored.content for stored in store.read(2)] == [b"two"]
    assert store.read(3) == []
    (tmp_path / "00000001.json").unlink()
    assert [stored.number for stored in store.read()] == [2]


@pytest.mark.parametrize(
    "name", ["1².json", "1.json", "0000000².json", "000000001.json", "00000000.json", "x.txt"]
)
def test_a_file_of_another_program_is_not_an_event_and_is_named(tmp_path: Path, name: str) -> None:
    store = FolderStore(tmp_path)
    store.append(1, b"one")
    store.write_head(b"{}")
    (tmp_path / name).write_text("x")
    (tmp_path / ".0123456789abcdef.part").write_text("what a killed process left")
    assert [one.number for one in store.read()] == [1]
    assert store.foreign_files() == [str(tmp_path / name)]


def test_a_folder_that_does_not_exist_has_no_events(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "without a position")
    assert (store.read(), store.read_head(), store.foreign_files()) == ([], None, [])


def messages_of(log: EventLog[Word]) -> list[str]:
    return [
        str(problem).replace(f"{log.store.where()[:-9]}", "") for problem in log.check().problems
    ]


def test_a_log_is_written_and_read(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    assert [translate(log, text).text for text in "abc"] == ["a", "b", "c"]
    assert [event.text for event in log.read()] == ["a", "b", "c"]
    assert log_in(tmp_path, None).read() == log.read()


def test_what_its_reader_could_not_read_is_not_written(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    translate(log)
    with pytest.raises(InputError, match=r"00000002\.json: was not written: .*log is unchanged"):
        translate(log, "\ud800")
    assert len(log.read()) == 1


def test_the_end_of_a_log_cannot_be_taken_away(tmp_path: Path) -> None:
    log = log_in(tmp_path, None)
    for _ in range(3):
        translate(log)
    (tmp_path / "00000003.json").unlink()
    assert messages_of(log) == [
        "head.json: says that the log has 3 events, but it ends with 2: it was cut off. Restore "
        "the log from a copy."
    ]
    for number in (1, 2):
        (tmp_path / f"0000000{number}.json").unlink()
    assert "but it ends with 0" in messages_of(log)[0]
    (tmp_path / "head.json").unlink()
    assert messages_of(log) == ["head.json: does not exist, so a cut-off log cannot be detected."]


def test_the_last_event_cannot_be_written_again(tmp_path: Path) -> None:
    log = log_in(tmp_path, None)
    translate(log)
    last = translate(log)
    (tmp_path / "00000002.json").write_bytes(last.model_copy(update={"text": "other"}).to_bytes())
    assert "head.json: states another digest of event 2 than 00000002.json" in messages_of(log)[0]


def test_who_has_not_the_key_forges_neither_event_nor_head(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    translate(log)
    translate(log_in(tmp_path, None), "forged")
    assert messages_of(log_in(tmp_path, None)) == []  # the chain alone cannot tell
    assert [one.partition(" Restore")[0] for one in messages_of(log)] == [
        "00000002.json: was changed, or its author cannot open the vault.",
        "head.json: was changed: NoduleBench did not write it like this.",
    ]


def test_a_head_is_that_of_one_log(tmp_path: Path) -> None:
    for name in ("one", "two"):
        translate(log_in(tmp_path / name, root=name))
    shutil.copy(tmp_path / "one" / "head.json", tmp_path / "two" / "head.json")
    assert messages_of(log_in(tmp_path / "two", root="two")) == [
        "head.json: belongs to another log than that of the root."
    ]


def test_a_log_that_was_put_back_is_found_by_its_checkpoint(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    translate(log)
    older = (tmp_path / "head.json").read_bytes()
    translate(log)
    checkpoint = log.checkpoint(log.read(), datetime(2026, 1, 1, tzinfo=UTC)).to_bytes()
    assert log.checkpoint_problems(checkpoint, log.check().links, "mine") == []
    (tmp_path / "00000002.json").unlink()
    log.store.write_head(older)
    assert messages_of(log) == []
    (problem,) = log.checkpoint_problems(checkpoint, log.check().links, "mine")
    assert "says that the log has 2 events, but it ends with 1" in str(problem)
    (problem,) = log_in(tmp_path, root="r2").checkpoint_problems(checkpoint, [], "mine")
    assert "belongs to another log" in str(problem)
    assert "is not a checkpoint" in str(log.checkpoint_problems(b"{}", [], "mine")[0])


def test_dates_that_go_backwards_are_reported_and_the_log_is_read(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    for minute in (0, 60, 56, 54, 61):
        translate(log, minute=minute)
    (problem,) = log.check().dates
    assert "00000004.json: is dated 2026-01-01 00:54:00, before an event" in str(problem)
    assert len(log.read()) == 5


def test_a_log_longer_than_its_head_was_interrupted_and_goes_on(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    translate(log)
    older = (tmp_path / "head.json").read_bytes()
    translate(log)
    log.store.write_head(older)
    assert translate(log).number == 3
    assert messages_of(log) == []


def test_two_writers_get_a_number_each_and_the_head_names_the_last(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    translate(log)

    class Raced(FolderStore):
        """Somebody else writes just before the first writing."""

        def append(self, number: int, content: bytes) -> bool:
            if not told_once:
                told_once.append(True)
                translate(log, "faster")
            return super().append(number, content)

    told_once: list[bool] = []
    assert translate(replace(log, store=Raced(tmp_path)), "slower").number == 3
    assert [event.text for event in log.read()] == ["word", "faster", "slower"]
