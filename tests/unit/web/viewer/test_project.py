"""A project by its routes: three readers, a disagreement, review, arbitration."""

from pathlib import Path

import pytest

from builders.working import NEXT_TO, PLACE, Person, ball_project, handle_of, people_of
from nodulebench.annotation.project import audit_project
from nodulebench.annotation.release import export_released
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_reference
from nodulebench.web.viewer.project import open_project_session

EVERYBODY = ("r1", "r2", "r3", "lead2", "judge1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ball_project(tmp_path, "a", "b")


def reads(person: Person, half: float, *, lone: bool = False) -> None:
    """Draws the ball in case a, and perhaps something else; nothing in case b."""
    person.draw(0, "f1", PLACE, half, type="solid")
    if lone:
        person.draw(0, "f2", NEXT_TO, 3)
    person.submit(0)
    person.submit(1)


def all_read(people: dict[str, Person]) -> None:
    reads(people["r1"], 4, lone=True)
    reads(people["r2"], 5)
    reads(people["r3"], 6)


def types(people: dict[str, Person]) -> None:
    for name in ("own-1", "own-2"):
        people["r1"].answer(0, name, type="solid")
    people["r1"].submit(0)


def modes(person: Person) -> list[tuple[int, str]]:
    return [(scan["number"], scan["mode"]) for scan in person.ask("/scans")]


@pytest.mark.slow
def test_a_batch_goes_from_blind_readings_to_a_scored_reference(
    folder: Path, tmp_path: Path
) -> None:
    with people_of(folder, *EVERYBODY) as people:
        reader, leader, arbitrator = people["r1"], people["lead2"], people["judge1"]
        assert modes(reader) == [(0, "read"), (1, "read")]
        assert modes(leader) == modes(arbitrator) == []
        assert leader.client.get("/scans/0").status_code == 404
        all_read(people)
        assert modes(reader) == [(0, "type"), (1, "done")]
        asked = reader.ask("/scans/0/reading")
        assert asked["mode"] == "type"
        assert [finding["finding"]["type"] for finding in asked["findings"]] == ["solid", None]
        problem = reader.submit(0, 422)["problem"]
        assert problem == "case 'a' 'own-2': has no type yet. Choose a type before submitting."
        reader.answer(0, "own-2", type="calcified")
        reader.submit(0)
        assert modes(people["r2"]) == [(0, "done"), (1, "done")]

        assert modes(leader) == [(0, "review"), (1, "review")]
        first, second = leader.ask("/scans/0/reading")["findings"]
        assert [reading["letter"] for reading in first["known"]["readers"]] == ["A", "B", "C"]
        assert len(second["known"]["readers"]) == 1
        assert first["measured"]["slices"][1]["length_mm"] == pytest.approx(12, abs=0.9)
        assert second["known"]["inconsistent"] == [10, 11, 12]
        assert leader.submit(0, 422)["problem"].count("is not reviewed yet") == 2
        smaller = [
            {**slice_, "outline": [[x * 0.9 + PLACE[0] * 0.1, y] for x, y in slice_["outline"]]}
            for slice_ in first["finding"]["slices"]
        ]
        leader.answer(0, "candidate-1", answer="yes", slices=smaller, comment="too wide")
        leader.answer(0, "candidate-2", answer="no", comment="a vessel")
        leader.submit(0)
        assert modes(leader) == [(0, "done"), (1, "review")]
        leader.draw(1, "new", PLACE, 5, type="part_solid")
        leader.submit(1)

        assert modes(arbitrator) == [(0, "arbitrate"), (1, "arbitrate")]
        asked = arbitrator.ask("/scans/0/reading")["findings"]
        assert [candidate["known"]["is_asked"] for candidate in asked] == [False, True]
        assert asked[1]["known"]["why"] == [
            "the readers are not consistent",
            "the reviewer objects",
        ]
        assert asked[1]["known"]["comment"] == "a vessel"
        arbitrator.answer(
            0, "candidate-2", answer="no", comment="agreed", discussed_with=["judge2"]
        )
        arbitrator.submit(0)
        settled = arbitrator.ask("/scans/0/reading")["findings"]
        assert [candidate["known"]["is_nodule"] for candidate in settled] == [None, False]
        assert settled[1]["known"]["note"] == "agreed"
        assert not arbitrator.ask("/work")[0]["may_release"]
        arbitrator.answer(1, "candidate-1", answer="yes", type="part_solid")
        arbitrator.submit(1)
        assert arbitrator.ask("/work")[0]["may_release"]
        arbitrator.post("/work/b1/release")
        assert {batch["state"] for batch in arbitrator.ask("/work")} == {"released"}
        problem = reader.ask("/scans/0/reading")["findings"]
        assert [candidate["known"]["is_nodule"] for candidate in problem] == [True, False]
    lab = handle_of(folder)
    assert not audit_project(lab).problems
    made = export_released(lab, tmp_path / "bundle")
    assert made.nodules.select(
        "case_id", "type", "agreement", "corrected_by", "added_by"
    ).rows() == [
        ("a", "solid", 3, "lead2", None),
        ("b", "part_solid", 0, None, "lead2"),
    ]
    slices = read_reference(tmp_path / "bundle").slices
    assert slices is not None
    before = first["measured"]["slices"][1]["length_mm"]
    assert slices.filter(case_id="a")["length_mm"].to_list() == pytest.approx([0.9 * before] * 3)


def test_submitting_is_one_event_and_freezes_the_case(folder: Path) -> None:
    with people_of(folder, *EVERYBODY) as people:
        reader = people["r1"]
        reader.draw(0, "f1", PLACE)
        reader.submit(0)
        assert [event.step for event in handle_of(folder).log.read()] == ["open", "read"]
        refused = reader.client.post(
            "/scans/0/edits",
            json={"client": "tab", "number": 99, "finding_id": "f1", "based_on": 1},
            headers={"X-Requested-With": "nodulebench"},
        )
        assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "submitted")
        reader.submit(0, 409)
        (shown,) = reader.ask("/scans/0/reading")["findings"]
        assert shown["id"] == "f1"


def test_drafts_survive_a_restart(folder: Path) -> None:
    with people_of(folder, *EVERYBODY) as people:
        all_read(people)
        people["r1"].answer(0, "own-1", type="calcified")
    with people_of(folder, "r1") as people:
        first, _ = people["r1"].ask("/scans/0/reading")["findings"]
        assert (first["finding"]["type"], first["version"]) == ("calcified", 1)
        people["r1"].save(0, "own-1", None, 1)  # taken back: as it was given
        first, _ = people["r1"].ask("/scans/0/reading")["findings"]
        assert first["finding"]["type"] == "solid"


def test_a_nodule_needs_an_outline(folder: Path) -> None:
    with people_of(folder, "r1") as people:
        reader = people["r1"]
        reader.save(0, "f1", {"position_mm": PLACE})
        assert "a nodule without an outline" in reader.submit(0, 422)["problem"]
        assert len(handle_of(folder).log.read()) == 1
        reader.save(0, "f1", {"position_mm": PLACE, "kind": "small_nodule"}, 1)
        reader.submit(0)
        assert handle_of(folder).batch("b1").readings["a", "r1"].findings == ()


def test_the_remaining_time_follows_from_finished_cases(folder: Path) -> None:
    with people_of(folder, "r1") as people:
        reader = people["r1"]
        assert reader.ask("/work")[0]["seconds_left"] is None
        reader.draw(0, "f1", PLACE)
        reader.submit(0)
        (status,) = reader.ask("/work")
        assert (status["done"], status["total"], status["seconds_left"]) == (1, 2, 2.0)


def test_cases_of_a_project_with_repeats_have_numbers(tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a", "b", repeats={"case-0123456789ab": "a"})
    with people_of(folder, "r1") as people:
        scans = people["r1"].ask("/scans")
        assert [scan["case_id"] for scan in scans] == ["1", "2", "3"]
        assert "case-0123456789ab" not in people["r1"].client.get("/scans/2").text
        for number in range(3):
            people["r1"].submit(number)
    readings = handle_of(folder).batch("b1").readings
    assert sorted(case_id for case_id, _ in readings) == ["a", "b", "case-0123456789ab"]


def test_a_repeated_case_cannot_be_recognised(tmp_path: Path) -> None:
    cases = ("first-a", "first-b", "first-c", "first-d")
    repeats = {f"case-{number}23456789abc": name for number, name in enumerate(cases[:2])}
    folder = ball_project(tmp_path, *cases, repeats=repeats)
    orders = []
    with people_of(folder, "r1", "r2") as people:
        for name, person in people.items():
            tasks = [task.case_id for task in person.session.tasks().values()]
            for again, case_id in repeats.items():
                assert tasks.index(again) - tasks.index(case_id) >= 2
            orders.append(tasks)
            texts = [person.client.get("/").text, person.client.get("/scans").text]
            for number in range(6):
                person.save(number, "far", {"position_mm": PLACE, "slices": FAR})
                answer = person.submit(number, code=422)["problem"]
                assert f"case '{number + 1}'" in answer
                texts += [answer, person.client.get(f"/scans/{number}/reading").text]
                texts += [person.client.get(f"/scans/{number}").text]
            assert not [case for case in (*cases, *repeats) if case in "".join(texts)], name
    assert orders[0] != orders[1]


FAR = [{"slice_index": 3, "outline": [[900, 900], [910, 900], [910, 910]]}]
"""An outline outside the image."""


def test_strangers_and_missing_images_are_refused(folder: Path) -> None:
    with (
        pytest.raises(InputError, match="person 'nobody': is not known"),
        open_project_session(folder / "panel", folder / "scans", "nobody"),
    ):
        pass
    (folder / "scans" / "b.mhd").unlink()
    (folder / "scans" / "b.raw").unlink(missing_ok=True)
    with (
        pytest.raises(InputError, match="holds no scan of 'b'"),
        open_project_session(folder / "panel", folder / "scans", "r1"),
    ):
        pass
