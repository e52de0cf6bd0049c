"""An annotation project in a folder, with keys of people or without, as commands make it."""

from dataclasses import dataclass
from pathlib import Path

from builders.annotation import small_cases, two_teams
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.actions import NIFDC, Event
from nodulebench.annotation.people import Roster
from nodulebench.annotation.project import CASES, PROJECT, Project, ProjectHandle, open_project
from nodulebench.annotation.reviewer_draw import draw_reviewer, open_batch
from nodulebench.annotation.steps import add_nodules, finish_cases, step_of, submit_case
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.nifdc import write_marks
from nodulebench.security.keys import new_person_key

SHARED, LONE, MISSED = Slice(3, 50, 50, 8, 8), Slice(9, 20, 20, 6, 6), Slice(15, 80, 80, 6, 6)


@dataclass
class Panel:
    """A project whose people take steps in their own names."""

    folder: Path
    has_keys: bool = False

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.folder / "panel"

    def start(self, *cases: str, rules=NIFDC) -> "Panel":
        """Make the project and, where people have keys, these."""
        self.project.mkdir(parents=True)
        small_cases(*cases).write_csv(self.project / CASES)
        project = Project(roster=self._roster(), rules=rules)
        write_json(project.model_dump(mode="json"), self.project / PROJECT)
        return self

    def _roster(self) -> Roster:
        roster = two_teams()
        if not self.has_keys:
            return roster
        people = tuple(
            person.model_copy(update={"key": new_person_key(self.folder / person.person_id).line})
            for person in roster.people
        )
        return roster.model_copy(update={"people": people})

    def handle(self, person: str | None = None) -> ProjectHandle:
        """The project, opened for a person."""
        key = self.folder / person if person and self.has_keys else None
        return open_project(self.project, key)

    def opens(self, *cases: str, batch: str = "b1", reviewer: str | None = None) -> Event:
        """The office gives cases to the first team."""
        return open_batch(
            self.handle("office"), "office", batch, "one", cases, reviewer_id=reviewer
        )

    def draws(self, batch: str = "b1") -> Event:
        """The office draws who reviews, with what it promised."""
        return draw_reviewer(self.handle("office"), "office", batch)

    def reads(self, person: str, boxes: dict[str, list[Slice]], batch: str = "b1") -> Event:
        """A reader submits a file."""
        return submit_case(self.handle(person), batch, person, self.file(person, boxes))

    def file(self, person: str, boxes: dict[str, list[Slice]]) -> Path:
        """A reader's file."""
        path = self.folder / f"{person}.csv"
        cases = [
            case(name, *(mark(None, (box.x, box.y, box.index), box) for box in drawn))
            for name, drawn in boxes.items()
        ]
        write_marks(submission(*cases), path)
        return path

    def act(self, person: str, step: str, **fields) -> Event:
        """A person takes a step."""
        action = step_of({"step": step, "batch_id": "b1", **fields})
        return self.handle(person).act(person, action)

    def adds(self, person: str, path: Path) -> Event:
        """The reviewer adds what all missed."""
        return add_nodules(self.handle(person), "b1", person, path)

    def finishes(self, person: str, *cases: str) -> Event:
        """The reviewer finishes cases."""
        return finish_cases(self.handle(person), "b1", person, cases)

    def to_release(self) -> "Panel":
        """One case with a nodule that all drew, and a finding of one reader that is rejected."""
        self.opens("a")
        for person, drawn in (("r1", [SHARED, LONE]), ("r2", [SHARED]), ("r3", [SHARED])):
            self.reads(person, {"a": drawn})
        self.draws()
        self.act("r1", "type", case_id="a", candidate_id="candidate-1", type="solid")
        self.act("r1", "type", case_id="a", candidate_id="candidate-2", type="calcified")
        for name in ("candidate-1", "candidate-2"):
            self.act("lead2", "review", case_id="a", candidate_id=name, agrees=True)
        self.finishes("lead2", "a")
        self.act("judge1", "arbitrate", case_id="a", candidate_id="candidate-2", is_nodule=False)
        self.act("judge1", "release")
        return self
