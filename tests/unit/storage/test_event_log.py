"""A log in which nothing can be changed, moved or taken away unnoticed."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodulebench.annotate.process.storage import FileStore
from nodulebench.errors import InputError
from nodulebench.storage.event_log import (
    Link,
    append_event,
    chain_problems,
    events_in_turn,
    stored_events,
)

CHAIN = [
    Link(f"{number}.json", number, number, f"d{number - 1}", f"d{number}") for number in (1, 2, 3)
]


def problems(*links: Link) -> list[str]:
    return [f"{one.where}: {one.what}" for one in chain_problems(links, "d0", "the beginning")]


def test_an_unbroken_chain_has_no_problems() -> None:
    assert problems() == []
    assert problems(*CHAIN) == []


@pytest.mark.parametrize(
    ("links", "told"),
    [
        (CHAIN[1:], ["2.json: follows a gap: event 1 is not there."]),
        (CHAIN[2:], ["3.json: follows a gap: event 1 and more is not there."]),
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
            ["2.json: was changed: it says that it is event 3."],
        ),
        (
            [CHAIN[0], replace(CHAIN[1], wrong="was changed."), CHAIN[2]],
            ["2.json: was changed."],
        ),
    ],
)
def test_every_change_is_told(links: list[Link], told: list[str]) -> None:
    assert problems(*links) == told


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    assert append_event(tmp_path, 1, b"one", bytes.isalpha)
    assert append_event(tmp_path, 2, b"two", bytes.isalpha)
    assert not append_event(tmp_path, 2, b"other", bytes.isalpha)
    (tmp_path / "head.json").write_bytes(b"{}")
    assert [one.content for one in stored_events(tmp_path)] == [b"one", b"two"]
    (tmp_path / "00000001.json").unlink()
    assert [one.number for one in stored_events(tmp_path)] == [2]
    assert list(events_in_turn(tmp_path)) == []


def test_what_its_reader_could_not_read_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"00000001\.json: was not written: .*log is as it was"):
        append_event(tmp_path, 1, b"1", bytes.isalpha)
    assert list(tmp_path.iterdir()) == []


OLD_LOG = (
    """{
 "number": 1,
 "at": "2026-01-02T03:04:05Z",
 "actor_id": "office",
 "step": "open",
 "batch_id": "b1",
 "case_id": null,
 "change": "2 cases for one",
 "payload": {
  "batch_id": "b1",
  "n": 1.5,
  "text": "Größe"
 },
 "payload_digest": "sha256:471f875970636c30ea9656897ca74b0d03b98544cefaf3e05d1cdd6c6ebc4988",
 "previous": ""
}
""",
    """{
 "number": 2,
 "at": "2026-01-02T03:04:06Z",
 "actor_id": "office",
 "step": "read",
 "batch_id": "b1",
 "case_id": null,
 "change": "2 cases for one",
 "payload": {
  "batch_id": "b1",
  "x": [
   1,
   2.25,
   null
  ]
 },
 "payload_digest": "sha256:924d9919e6977c9495e22ced06757a146cad31c688c9f8a61b11942834f68ec4",
 "previous": "sha256:b8fc982cc4b9a78dd91caab62cbe45049473ab95aec9ead5c99ddd1c169fd7fd"
}
""",
)


def test_a_log_of_version_0_1_is_read_and_written_on(tmp_path: Path) -> None:
    for number, text in enumerate(OLD_LOG, start=1):
        (tmp_path / f"{number:08d}.json").write_text(text, encoding="utf-8")
    events = FileStore(tmp_path).read()
    assert [event.step for event in events] == ["open", "read"]
    last = "sha256:4bc19ceac8ba37b17b5707ac2e2effcb9a7addae12bac9042ac4d12a345442b5"
    assert events[-1].digest == last
    again = FileStore(tmp_path / "again")
    for event in events:
        again.append(event)
    written = [one.content.decode() for one in stored_events(tmp_path / "again")]
    assert written == list(OLD_LOG)
