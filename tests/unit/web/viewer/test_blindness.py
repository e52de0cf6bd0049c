"""As a reader: no route of the room tells another's marks, before the batch is released.

Every route that the application has is tried with whatever could mean something, and every answer
is compared with the one in another world in which the other readers drew something else: what is
the same in both worlds tells nothing of what they drew.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from builders.attacked import OWN, TRIES, answers_of, filled, of_route, routes_of
from builders.working import BESIDE, PLACE, AtHome, Person, ball_project, people_of
from nodulebench.annotation.workflow import log as project_log
from nodulebench.annotation.workflow.actions import ITU

SECRET_MM = 3.7251
"""Half the side of what the other reader draws: its corners are numbers that nothing else has."""
TELLS = tuple(
    f"{PLACE[axis] + way * SECRET_MM:.4f}".rstrip("0") for axis in (0, 1) for way in (-1, 1)
)
SAID, TYPE = "seen-by-nobody-else", '"type":"part_solid"'


def answers(person: AtHome) -> dict[str, str]:
    """All that a person is answered; what would be a step is left out, these are looks."""
    steps = {f"/scans/{one['number']}/submit" for one in person.ask("/scans") if asked(one)}
    return {
        place: told.replace(person.room.name, "ROOM")
        for place, told in answers_of(person.client, but=steps)
    }


def asked(scan: dict[str, Any]) -> bool:
    return scan["mode"] != "done"


def tells(person: AtHome) -> list[str]:
    answered = "\n".join(answers(person).values())
    return [tell for tell in (*TELLS, SAID, TYPE) if tell in answered]


def draws_secretly(person: Person) -> None:
    person.draw(0, SAID, PLACE, SECRET_MM, type="part_solid", comment=SAID)
    person.hand_in(0)


@pytest.mark.slow
def test_every_route_is_tried_and_whoever_drew_it_is_told(tmp_path: Path) -> None:
    """So that the search below could find it."""
    with people_of(ball_project(tmp_path, "a"), "r2") as people:
        assert sorted(routes_of(people["r2"].app)) == sorted(TRIES)
        before = answers(people["r2"])
        unreached = {one for one in TRIES if one not in NOT_HERE} - {
            f"{place.split()[0]} {of_route(place.split()[1])}"
            for place, answer in before.items()
            if answer.startswith("200")
        }
        assert unreached == set()
        draws_secretly(people["r2"])
        assert set(TELLS) <= set(tells(people["r2"]))


NOT_HERE = {
    "GET /scans/{number}/files/{kind}",  # see below
    "GET /evaluation",
    "GET /evaluation/errors",
    "GET /scans/{number}/evaluation",
    "POST /scans/{number}/submit",
    "POST /work/{batch_id}/release",
}
"""Routes that answer nothing to a reader who is at work."""


def test_files_hold_what_their_reader_drew_and_nothing_else(tmp_path: Path) -> None:
    with people_of(ball_project(tmp_path, "a"), "r1", "r2", "lead2") as people:
        people["r2"].draw(0, SAID, PLACE, SECRET_MM, type="part_solid", comment=SAID)
        files = "/scans/0/files/slicer_markups"
        own = people["r2"].client.get(files)
        assert all(tell in own.text for tell in TELLS)
        assert people["r1"].client.get(files).status_code == 404
        people["r1"].draw(0, "f1", BESIDE, 3)
        told = people["r1"].client.get(files)
        assert told.status_code == 200
        assert not any(tell in told.text for tell in (*TELLS, SAID))
        assert people["lead2"].client.get(files).status_code == 404
        put = people["r1"].client.post(
            "/scans/0/files", params={"name": "x.mrk.json"}, content=own.content, headers=OWN
        )
        assert put.status_code == 200
        assert len(people["r1"].ask("/scans/0/reading")["findings"]) == 1
        people["r1"].hand_in(0)
        refused = people["r1"].client.post(
            "/scans/0/files", params={"name": "x.mrk.json"}, content=own.content, headers=OWN
        )
        assert refused.status_code == 409


def test_other_methods_are_not_answered(tmp_path: Path) -> None:
    with people_of(ball_project(tmp_path, "a"), "r1", "r2") as people:
        draws_secretly(people["r2"])
        for route in TRIES:
            own, _, path = route.partition(" ")
            for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}:
                if f"{method} {path}" not in TRIES:
                    place = filled(path)[-1]
                    one = people["r1"].client.request(method, place, headers=OWN)
                    assert one.status_code == 405, (method, place, own)


@pytest.mark.slow
def test_no_route_tells_a_reader_what_another_drew_or_said(tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    with people_of(folder, "r1", "r2", "r3", "lead1", "lead2", "judge1", "r4") as people:
        spy = people["r1"]
        draws_secretly(people["r2"])
        assert tells(spy) == []
        spy.draw(0, "f1", PLACE, 5, type="solid")
        spy.hand_in(0)
        assert tells(spy) == []
        people["r3"].draw(0, "f1", PLACE, 5)
        people["r3"].hand_in(0)
        assert tells(spy) == []  # typing
        for other in ("r4", "lead1", "judge1"):
            assert tells(people[other]) == []
            assert people[other].client.get("/scans/0").status_code == 404
        spy.answer(0, "own-1", type="calcified")
        spy.hand_in(0)
        people["lead2"].answer(0, "candidate-1", answer="no", comment=SAID)
        assert tells(spy) == []  # review
        people["lead2"].hand_in(0)
        assert tells(spy) == []  # arbitration
        people["judge1"].answer(0, "candidate-1", answer="yes", type="part_solid", comment=SAID)
        people["judge1"].hand_in(0)
        assert tells(spy) == []
        people["judge1"].post("/work/b1/release")
        assert set(TELLS) <= set(tells(spy))


ELSEWHERE = [PLACE[0] - 14, PLACE[1] + 9, PLACE[2]]


def draws_many(person: Person) -> None:
    """What the spy drew last of all, and two things besides."""
    for name, place in (("f1", ELSEWHERE), ("f2", BESIDE), ("f3", PLACE)):
        person.draw(0, name, place, 3, type="part_solid")
    person.hand_in(0)


def draws_nothing(person: Person) -> None:
    person.hand_in(0)


def types_all(person: Person) -> None:
    if person.ask("/scans")[0]["mode"] == "type":
        for finding in person.ask("/scans/0/reading")["findings"]:
            if finding["known"]["is_asked"]:
                person.answer(0, finding["id"], type="solid")
        person.hand_in(0)


def reviews_all(person: Person) -> None:
    for finding in person.ask("/scans/0/reading")["findings"]:
        person.answer(0, finding["id"], answer="no" if finding["id"] == "candidate-1" else "yes")
    person.hand_in(0)


@pytest.mark.slow
def test_a_reader_is_answered_the_same_whatever_the_others_drew(tmp_path: Path) -> None:
    """In every state: counts, names and order of candidates tell nothing of theirs, too."""
    everybody = ("r1", "r2", "r3", "lead2", "judge1")
    with ExitStack() as stack:
        worlds = []
        for name in ("full", "empty"):
            folder = tmp_path / name
            folder.mkdir()
            ball_project(folder, "a")
            worlds.append(stack.enter_context(people_of(folder, *everybody)))

        def same() -> None:
            full, empty = (answers(one["r1"]) for one in worlds)
            assert [place for place in full if full[place] != empty[place]] == []

        for full in (True, False):
            others = worlds[0 if full else 1]
            (draws_many if full else draws_nothing)(others["r2"])
        same()  # the spy still reads
        for world in worlds:
            world["r1"]._tab = "tab"
            world["r1"].draw(0, "mine-1", PLACE, 4)
            world["r1"].draw(0, "mine-2", [PLACE[0], PLACE[1] + 20, PLACE[2]], 2)
            world["r1"].hand_in(0)
        same()
        draws_many(worlds[0]["r3"])
        draws_nothing(worlds[1]["r3"])
        assert [one["r1"].ask("/scans")[0]["mode"] for one in worlds] == ["type", "type"]
        same()
        for world in worlds:
            for name in ("own-2", "own-1"):
                world["r1"].answer(0, name, type="solid")
            world["r1"].hand_in(0)
            for name in ("r2", "r3"):
                types_all(world[name])
        same()  # review
        for world in worlds:
            reviews_all(world["lead2"])
        assert [one["r1"].ask("/work")[0]["state"] for one in worlds] == ["arbitration"] * 2
        same()


@pytest.mark.slow
def test_what_others_handed_in_takes_no_time_of_later_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else how much they drew could be measured, again and again."""
    read: list[int] = []
    parse = project_log.parse_event

    def counted(content: bytes) -> Any:
        read.append(len(content))
        return parse(content)

    monkeypatch.setattr(project_log, "parse_event", counted)
    with people_of(ball_project(tmp_path, "a"), "r1", "r2") as people:
        draws_many(people["r2"])
        people["r1"].ask("/work")
        read.clear()
        alone = []
        for path in ("/work", "/scans", "/scans/0/reading"):
            people["r1"].ask(path)
            alone.append(sum(read))
            read.clear()
        assert alone == [0, 0, 0]


def test_an_expert_who_has_read_and_decides_sees_disputes_but_no_outline(tmp_path: Path) -> None:
    rules = ITU.model_copy(
        update={"requires_training": False, "least_years": 0, "requires_approval": False}
    )
    folder = ball_project(tmp_path, "a", rules=rules, reviewer=None, experts=("r1",))
    with people_of(folder, "r1", "r2", "r3") as people:
        draws_secretly(people["r2"])
        for other in ("r1", "r3"):
            people[other].hand_in(0)
        people["r2"].answer(0, "own-1", type="solid")
        people["r2"].hand_in(0)
        (shown,) = people["r1"].ask("/scans/0/reading")["findings"]
        assert shown["known"]["readers"] == []
        assert SAID not in "\n".join(answers(people["r1"]).values())
