"""An annotation project on small scans of a ball, and the sessions of its people."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import polars as pl
from starlette.testclient import TestClient

from builders.annotation import two_teams
from builders.reading import BALL_MM, ball, write_scans
from nodulebench.annotation.actions import NIFDC, WorkflowRules
from nodulebench.annotation.people import Roster
from nodulebench.annotation.project import CASES, PROJECT, Project, ProjectHandle, open_project
from nodulebench.annotation.repeats import with_repeats
from nodulebench.annotation.reviewer_draw import open_batch
from nodulebench.core.tables import CASES as CASE_TABLE
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.io.json_files import write_json
from nodulebench.web.viewer.app import LocalAuth, workbench_app
from nodulebench.web.viewer.project import open_project_session
from nodulebench.web.viewer.session import ReadingSession

OWN = {"X-Requested-With": "nodulebench"}
PLACE = BALL_MM.tolist()
NEXT_TO = [PLACE[0] + 14, PLACE[1] - 12, PLACE[2]]
"""A place with nothing in it."""


def ball_project(
    folder: Path,
    *cases: str,
    rules: WorkflowRules = NIFDC,
    repeats: dict[str, str] | None = None,
    reviewer: str | None = "lead2",
    experts: tuple[str, ...] = (),
) -> Path:
    """A project on scans of a ball, in which team one reads batch b1 of all cases."""
    write_scans(folder / "scans", *cases)
    grid = geometry_columns(ball().geometry)
    table = CASE_TABLE.conform(pl.DataFrame([{"case_id": case, **grid} for case in cases]), "cases")
    table = with_repeats(table, repeats or {})
    project = folder / "panel"
    project.mkdir()
    table.write_csv(project / CASES)
    content = Project(roster=_roster(experts), rules=rules, repeats=repeats or {})
    write_json(content.model_dump(mode="json"), project / PROJECT)
    names = table["case_id"].to_list()
    open_batch(handle_of(folder), "office", "b1", "one", names, reviewer_id=reviewer)
    return folder


def _roster(experts: tuple[str, ...]) -> Roster:
    """Two teams, of whose readers some are arbitrators, too."""
    roster = two_teams()
    people = tuple(
        person.model_copy(update={"roles": (*person.roles, "arbitrator")})
        if person.person_id in experts
        else person
        for person in roster.people
    )
    return roster.model_copy(update={"people": people})


def handle_of(folder: Path) -> ProjectHandle:
    """The project as the command line opens it."""
    return open_project(folder / "panel")


class Person:
    """A person at work in a project, by the requests of their page."""

    def __init__(self, client: TestClient, where: str = "") -> None:
        self.client = client
        self.where = where
        """The path of the session on a site; every address begins with it."""
        self._tab = token_hex(4)
        self._sent = 0

    def ask(self, path: str) -> Any:
        """The response to a GET request."""
        answer = self.client.get(self.where + path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, code: int = 200) -> Any:
        """The response to a POST request."""
        answer = self.client.post(self.where + path, json=body or {}, headers=OWN)
        assert answer.status_code == code, answer.text
        return answer.json()

    def draw(
        self, number: int, name: str, place: list[float], half: float = 4, **fields: Any
    ) -> Any:
        """A square on three slices around a place."""
        x, y, z = place
        middle = round((z - float(ball().geometry.origin_mm[2])) / 2)
        outline = [
            [x - half, y - half],
            [x + half, y - half],
            [x + half, y + half],
            [x - half, y + half],
        ]
        slices = [
            {"slice_index": at, "outline": outline} for at in (middle - 1, middle, middle + 1)
        ]
        return self.save(number, name, {"position_mm": place, "slices": slices, **fields})

    def save(self, number: int, name: str, finding: dict[str, Any], based_on: int = 0) -> Any:
        """An edit of a finding."""
        self._sent += 1
        edit = {"client": self._tab, "number": self._sent, "finding_id": name, "based_on": based_on}
        return self.post(f"/scans/{number}/edits", {**edit, "finding": finding, "seconds": 2})

    def answer(self, number: int, name: str, **fields: Any) -> Any:
        """Answer a candidate in its current state."""
        candidate = next(
            finding
            for finding in self.ask(f"/scans/{number}/reading")["findings"]
            if finding["id"] == name
        )
        return self.save(number, name, {**candidate["finding"], **fields}, candidate["version"])

    def submit(self, number: int, code: int = 200) -> Any:
        """Submit a case."""
        return self.post(f"/scans/{number}/submit", code=code)


class AtHome(Person):
    """A person whose session is on their own machine."""

    def __init__(self, session: ReadingSession, port: int = 8040) -> None:
        self.session = session
        auth = LocalAuth(port)
        self.app = workbench_app(session, auth)
        super().__init__(TestClient(self.app, base_url=f"http://127.0.0.1:{port}"))
        self.client.get(auth.address)


@contextmanager
def people_of(folder: Path, *names: str) -> Iterator[dict[str, AtHome]]:
    """Some people of a project, each in their own session."""
    with ExitStack() as stack:
        people = {
            name: AtHome(
                stack.enter_context(open_project_session(folder / "panel", folder / "scans", name)),
                8040 + number,
            )
            for number, name in enumerate(names)
        }
        for person in people.values():
            stack.enter_context(person.client)  # one loop for all its requests
        yield people


def without_slices(rules: WorkflowRules) -> WorkflowRules:
    """Rules without disputes about single slices."""
    rule = rules.consistency.model_copy(update={"disputes_slices": False})
    return rules.model_copy(update={"consistency": rule})
