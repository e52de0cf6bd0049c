"""No route shows a reader the marks of another before the batch is released.

Every route of the application is tried with every input that could matter. Every response is
compared with the one in another world, in which the other readers drew something else. A response
that is the same in both worlds reveals nothing of what they drew.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from builders.attacked import OWN, TRIES, answers_of, filled, of_route, routes_of
from builders.working import NEXT_TO, PLACE, AtHome, Person, ball_project, people_of
from nodulebench.annotation.actions import ITU
from nodulebench.security import event_log
from nodulebench.security.events import LogEvent

SECRET_MM = 3.7251
"""Half the side of what the other reader draws: its corners are numbers that nothing else has."""
TELLS = tuple(
    f"{PLACE[axis] + way * SECRET_MM:.4f}".rstrip("0") for axis in (0, 1) for way in (-1, 1)
)
COMMENT, TYPE = "only-the-author-sees-this", '"type":"part_solid"'


def answers(person: AtHome) -> dict[str, str]:
    """The responses of all routes to a person, without those that take a step."""
    steps = {f"/scans/{scan['number']}/submit" for scan in person.ask("/scans") if asked(scan)}
    return {
        place: text.replace(person.session.name, "SESSION")
        for place, text in answers_of(person.client, but=steps)
    }


def asked(scan: dict[str, Any]) -> bool:
    return scan["mode"] != "done"


def tells(person: AtHome) -> list[str]:
    answered = "\n".join(answers(person).values())
    return [tell for tell in (*TELLS, COMMENT, TYPE) if tell in answered]


def draws_secretly(person: Person) -> None:
    person.draw(0, COMMENT, PLACE, SECRET_MM, type="part_solid", comment=COMMENT)
    person.submit(0)


@pytest.mark.slow
def test_every_route_is_tried_and_shows_the_author_their_findings(tmp_path: Path) -> None:
    """Only then would the search below find a leak."""
    with people_of(ball_project(tmp_path, "a"), "r2") as people:
        assert sorted(routes_of(people["r2"].app)) == sorted(TRIES)
        before = answers(people["r2"])
        unreached = {route for route in TRIES if route not in NOT_HERE} - {
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


def test_files_hold_only_the_findings_of_their_reader(tmp_path: Path) -> None:
    with people_of(ball_project(tmp_path, "a"), "r1", "r2", "lead2") as people:
        people["r2"].draw(0, COMMENT, PLACE, SECRET_MM, type="part_solid", comment=COMMENT)
        files = "/scans/0/files/slicer_markups"
        own = people["r2"].client.get(files)
        assert all(tell in own.text for tell in TELLS)
        assert people["r1"].client.get(files).status_code == 404
        people["r1"].draw(0, "f1", NEXT_TO, 3)
        response = people["r1"].client.get(files)
        assert response.status_code == 200
        assert not any(tell in response.text for tell in (*TELLS, COMMENT))
        assert people["lead2"].client.get(files).status_code == 404
        put = people["r1"].client.post(
            "/scans/0/files", params={"name": "x.mrk.json"}, content=own.content, headers=OWN
        )
        assert put.status_code == 200
        assert len(people["r1"].ask("/scans/0/reading")["findings"]) == 1
        people["r1"].submit(0)
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
                    response = people["r1"].client.request(method, place, headers=OWN)
                    assert response.status_code == 405, (method, place, own)


@pytest.mark.slow
def test_no_route_shows_a_reader_the_work_of_another(tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    with people_of(folder, "r1", "r2", "r3", "lead1", "lead2", "judge1", "r4") as people:
        spy = people["r1"]
        draws_secretly(people["r2"])
        assert tells(spy) == []
        spy.draw(0, "f1", PLACE, 5, type="solid")
        spy.submit(0)
        assert tells(spy) == []
        people["r3"].draw(0, "f1", PLACE, 5)
        people["r3"].submit(0)
        assert tells(spy) == []  # typing
        for other in ("r4", "lead1", "judge1"):
            assert tells(people[other]) == []
            assert people[other].client.get("/scans/0").status_code == 404
        spy.answer(0, "own-1", type="calcified")
        spy.submit(0)
        people["lead2"].answer(0, "candidate-1", answer="no", comment=COMMENT)
        assert tells(spy) == []  # review
        people["lead2"].submit(0)
        assert tells(spy) == []  # arbitration
        people["judge1"].answer(0, "candidate-1", answer="yes", type="part_solid", comment=COMMENT)
        people["judge1"].submit(0)
        assert tells(spy) == []
        people["judge1"].post("/work/b1/release")
        assert set(TELLS) <= set(tells(spy))


ELSEWHERE = [PLACE[0] - 14, PLACE[1] + 9, PLACE[2]]


def draws_many(person: Person) -> None:
    """The last findings of the spy, and two other routes."""
    for name, place in (("f1", ELSEWHERE), ("f2", NEXT_TO), ("f3", PLACE)):
        person.draw(0, name, place, 3, type="part_solid")
    person.submit(0)


def draws_nothing(person: Person) -> None:
    person.submit(0)


def types_all(person: Person) -> None:
    if person.ask("/scans")[0]["mode"] == "type":
        for finding in person.ask("/scans/0/reading")["findings"]:
            if finding["known"]["is_asked"]:
                person.answer(0, finding["id"], type="solid")
        person.submit(0)


def reviews_all(person: Person) -> None:
    for finding in person.ask("/scans/0/reading")["findings"]:
        person.answer(0, finding["id"], answer="no" if finding["id"] == "candidate-1" else "yes")
    person.submit(0)


@pytest.mark.slow
def test_responses_to_a_reader_do_not_depend_on_others(tmp_path: Path) -> None:
    """In every state; counts, names and order of candidates are the same, too."""
    everybody = ("r1", "r2", "r3", "lead2", "judge1")
    with ExitStack() as stack:
        worlds = []
        for name in ("full", "empty"):
            folder = tmp_path / name
            folder.mkdir()
            ball_project(folder, "a")
            worlds.append(stack.enter_context(people_of(folder, *everybody)))

        def same() -> None:
            full, empty = (answers(people["r1"]) for people in worlds)
            assert [place for place in full if full[place] != empty[place]] == []

        for full in (True, False):
            others = worlds[0 if full else 1]
            (draws_many if full else draws_nothing)(others["r2"])
        same()  # the spy still reads
        for world in worlds:
            world["r1"]._tab = "tab"
            world["r1"].draw(0, "mine-1", PLACE, 4)
            world["r1"].draw(0, "mine-2", [PLACE[0], PLACE[1] + 20, PLACE[2]], 2)
            world["r1"].submit(0)
        same()
        draws_many(worlds[0]["r3"])
        draws_nothing(worlds[1]["r3"])
        assert [people["r1"].ask("/scans")[0]["mode"] for people in worlds] == ["type", "type"]
        same()
        for world in worlds:
            for name in ("own-2", "own-1"):
                world["r1"].answer(0, name, type="solid")
            world["r1"].submit(0)
            for name in ("r2", "r3"):
                types_all(world[name])
        same()  # review
        for world in worlds:
            reviews_all(world["lead2"])
        assert [people["r1"].ask("/work")[0]["state"] for people in worlds] == ["arbitration"] * 2
        same()


@pytest.mark.slow
def test_response_times_do_not_depend_on_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a reader could measure how much the others drew."""
    read: list[int] = []
    parse = event_log.parsed

    def counted(kind: type[Any], content: bytes) -> Any:
        if issubclass(kind, LogEvent):
            read.append(len(content))
        return parse(kind, content)

    monkeypatch.setattr(event_log, "parsed", counted)
    with people_of(ball_project(tmp_path, "a"), "r1", "r2") as people:
        draws_many(people["r2"])
        people["r1"].ask("/work")
        read.clear()
        times = []
        for path in ("/work", "/scans", "/scans/0/reading"):
            people["r1"].ask(path)
            times.append(sum(read))
            read.clear()
        assert times == [0, 0, 0]


def test_an_expert_who_has_read_and_decides_sees_disputes_but_no_outline(tmp_path: Path) -> None:
    rules = ITU.model_copy(
        update={"requires_training": False, "least_years": 0, "requires_approval": False}
    )
    folder = ball_project(tmp_path, "a", rules=rules, reviewer=None, experts=("r1",))
    with people_of(folder, "r1", "r2", "r3") as people:
        draws_secretly(people["r2"])
        for other in ("r1", "r3"):
            people[other].submit(0)
        people["r2"].answer(0, "own-1", type="solid")
        people["r2"].submit(0)
        (shown,) = people["r1"].ask("/scans/0/reading")["findings"]
        assert shown["known"]["readers"] == []
        assert COMMENT not in "\n".join(answers(people["r1"]).values())
