"""As a reader: no route of the room tells another's marks, before the batch is released.

Every route that the application has is tried, with every number and name that could mean something.
"""

import re
from itertools import product
from pathlib import Path
from typing import Any

from starlette.routing import Mount, Route

from builders.working import BESIDE, PLACE, Person, ball_project, people_of
from nodulebench.annotate.process.batch import ITU

SECRET_MM = 3.7251
"""Half the side of what the other reader draws: its corners are numbers that nothing else has."""
TELLS = tuple(
    f"{PLACE[axis] + way * SECRET_MM:.4f}".rstrip("0") for axis in (0, 1) for way in (-1, 1)
)
SAID, TYPE = "seen-by-nobody-else", '"type":"part_solid"'
VALUES: dict[str, list[str]] = {
    "number": [str(one) for one in range(-1, 4)],
    "first": ["0", "11"],
    "count": ["1", "2"],
    "batch_id": ["b1", "b2", ".keys"],
}
OWN = {"X-Requested-With": "nodulebench"}


def routes_of(app: Any) -> list[tuple[str, str]]:
    """Method and path of all routes, mounts of files aside."""
    found = []
    for route in app.routes:
        if isinstance(route, Mount):
            assert route.path == "/static"
        elif isinstance(route, Route):
            found += [(method, route.path) for method in sorted(route.methods or ())]
        else:
            found += routes_of(route.original_router)
    return found


def filled(path: str) -> list[str]:
    names = re.findall(r"{(\w+)}", path)
    chosen = product(*(VALUES[name] for name in names))
    return [path.format(**dict(zip(names, one, strict=True))) for one in chosen]


def everything(person: Person) -> str:
    """All that a person is answered, by every route with every value and body."""
    told = []
    click = {"place_mm": BESIDE}
    edit = {"client": "spy", "number": 1, "finding_id": "candidate-1", "based_on": 0}
    bodies: list[Any] = [{}, click, edit, {**edit, "based_on": 1}, {**edit, "finding": click}]
    for method, path in routes_of(person.app):
        if path.endswith(("hand-in", "release")):
            continue  # what they answer is tested where they are allowed
        for place in filled(path):
            if method in ("GET", "HEAD"):
                query = {"rule": "center_hit", "algorithm": "r2"} if "judged" in path else {}
                told.append(person.client.request(method, place, params=query))
            else:
                told += [person.client.post(place, json=one, headers=OWN) for one in bodies]
    assert all(one.headers["cache-control"] == "no-store" for one in told)
    return "\n".join(f"{one.headers} {one.text}" for one in told)


def tells(person: Person) -> list[str]:
    answered = everything(person)
    return [one for one in (*TELLS, SAID, TYPE) if one in answered]


def draws_secretly(person: Person) -> None:
    person.draw(0, SAID, PLACE, SECRET_MM, type="part_solid", comment=SAID)
    person.hand_in(0)


def test_the_enumeration_finds_what_is_there(tmp_path: Path) -> None:
    """Whoever drew it sees it, so that the search below could find it."""
    with people_of(ball_project(tmp_path, "a"), "r2") as people:
        assert len(routes_of(people["r2"].app)) > 12
        draws_secretly(people["r2"])
        assert set(TELLS) <= set(tells(people["r2"]))


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
        spy.answer(0, "candidate-1", type="calcified")
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


def test_an_expert_who_has_read_and_decides_sees_disputes_but_no_outline(tmp_path: Path) -> None:
    rules = ITU.model_copy(
        update={"requires_training": False, "least_years": 0, "requires_approval": False}
    )
    folder = ball_project(tmp_path, "a", rules=rules, reviewer=None, experts=("r1",))
    with people_of(folder, "r1", "r2", "r3") as people:
        draws_secretly(people["r2"])
        for other in ("r1", "r3"):
            people[other].hand_in(0)
        people["r2"].answer(0, "candidate-1", type="solid")
        people["r2"].hand_in(0)
        (shown,) = people["r1"].ask("/scans/0/reading")["findings"]
        assert shown["told"]["readers"] == []
        assert SAID not in everything(people["r1"])
