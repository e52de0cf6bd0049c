"""The revision of a reading: others' marks by letter, the reader's own to change."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.working import NEXT_TO, PLACE, Person, ball_project, handle_of, people_of
from nodulebench.annotation.actions import LIDC
from nodulebench.annotation.release import export_released
from nodulebench.io.readings import read_findings

RULES = LIDC.model_copy(update={"readers": 3})
READERS = ("r1", "r2", "r3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ball_project(tmp_path, "a", "b", rules=RULES, reviewer=None)


def reads(person: Person, number: int, *places: list[float]) -> None:
    for at, place in enumerate(places):
        person.draw(number, f"f{at}", place)
    person.submit(number)


def modes(person: Person) -> list[str]:
    return [scan["mode"] for scan in person.ask("/scans")]


def drawn(person: Person, number: int = 0) -> tuple[list[str], dict[str, int]]:
    """The reader's own findings, and the number of each other reader."""
    reading: dict[str, Any] = person.ask(f"/scans/{number}/reading")
    others = {other["letter"]: len(other["findings"]) for other in reading["others"]}
    return [finding["id"] for finding in reading["findings"]], others


def test_blind_before_and_open_after(folder: Path) -> None:
    with people_of(folder, *READERS) as people:
        first, second, third = (people[name] for name in READERS)
        reads(first, 0, PLACE, NEXT_TO)
        reads(second, 0, PLACE)
        for person in (first, second, third):
            assert drawn(person)[1] == {}
        assert modes(first) == ["done", "read"]
        reads(third, 0)
        assert modes(first) == ["revise", "read"]
        own, others = drawn(first)
        assert own == ["f0", "f1"]
        assert sorted(others.values()) == [0, 1]
        assert sorted(drawn(third)[1].values()) == [1, 2]
        assert drawn(first, 1)[1] == {}  # the other case stays blind
        text = json.dumps(first.ask("/scans/0/reading"))
        assert not [name for name in READERS if f'"{name}"' in text]


def test_a_revision_changes_only_what_the_reader_edits(folder: Path) -> None:
    with people_of(folder, *READERS) as people:
        for name, places in zip(READERS, ((PLACE, NEXT_TO), (PLACE,), (PLACE,)), strict=True):
            reads(people[name], 0, *places)
        first, second, third = (people[name] for name in READERS)
        first.post(
            "/scans/0/edits",
            {"client": "tab", "number": 1, "finding_id": "f1", "based_on": 0, "finding": None},
        )
        assert drawn(first)[0] == ["f0"]
        first.submit(0)
        second.draw(0, "mine", NEXT_TO)
        assert drawn(second)[0] == ["f0", "mine"]
        assert sorted(drawn(third)[1].values()) == [1, 2]  # what others revised is not shown
        second.submit(0)
        third.submit(0)
        third.submit(0, code=409)
        assert modes(third) == ["done", "read"]
    batch = handle_of(folder).batch("b1")
    blind, last = batch.readings, batch.last_readings
    assert [finding.finding_id for finding in blind["a", "r1"].findings] == ["f0", "f1"]
    assert last["a", "r1"].findings == blind["a", "r1"].findings[:1]
    assert [finding.finding_id for finding in last["a", "r2"].findings] == ["f0", "mine"]
    assert last["a", "r3"] == blind["a", "r3"]


def test_both_phases_are_exported_with_their_names(folder: Path, tmp_path: Path) -> None:
    with people_of(folder, *READERS, "office") as people:
        for name in READERS:
            for number in range(2):
                reads(people[name], number, *([PLACE] if name == "r1" else []))
        for name in READERS[1:]:
            for number in range(2):
                people[name].draw(number, "taken", PLACE)
                people[name].submit(number)
        for number in range(2):
            people["r1"].submit(number)
        (status,) = people["office"].ask("/work")
        assert (status["state"], status["may_release"]) == ("arbitration", True)
        people["office"].post("/work/b1/release")
    parts = {"findings": tmp_path / "last", "blind_findings": tmp_path / "blind"}
    reference = export_released(handle_of(folder), tmp_path / "bundle", **parts)
    assert reference.nodules["agreement"].to_list() == [3, 3]
    last, blind = (read_findings(tmp_path / name) for name in ("last", "blind"))
    assert (last.findings.height, blind.findings.height) == (6, 2)
    assert set(last.sessions["phase"]) == {"unblinded"}
    assert set(blind.sessions["phase"]) == {"blind"}
    steps = json.loads((tmp_path / "bundle" / "provenance.json").read_text())["events"]
    assert sum(step["step"] == "revise" for step in steps) == 6
