"""Small readings and rosters for tests: reading("r1", "a", drawn("f1", (3, 0, 0, 10)))."""

from datetime import UTC, datetime
from typing import Any

import polars as pl

from nodulebench.annotation import actions
from nodulebench.annotation.actions import Event
from nodulebench.annotation.people import PROGRAM, Person, Roster, Team
from nodulebench.annotation.project_log import act, annotation_log
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.tables import CASES
from nodulebench.security.event_index import IndexedLog
from nodulebench.security.event_log import Stored


def drawn(name: str, *boxes: tuple[int, float, float, float], type: str | None = None) -> Any:  # noqa: A002
    """A finding: on each slice (index, x, y, side) a square box."""
    return DrawnFinding(
        finding_id=name,
        type=type,
        slices=tuple(
            DrawnSlice(slice_index=index, center_x_mm=x, center_y_mm=y, length_mm=s, width_mm=s)
            for index, x, y, s in boxes
        ),
    )


def reading(reader: str, case_id: str, *findings: DrawnFinding) -> Reading:
    """What one reader drew in a case."""
    return Reading(case_id=case_id, reader_id=reader, findings=findings)


def two_teams() -> Roster:
    """Two teams of three with leaders, two arbitrators and an organiser."""
    juniors = [f"r{number}" for number in range(1, 7)]
    people = [
        *(Person(person_id=name, years_reading=6, roles=("junior",)) for name in juniors),
        *(
            Person(person_id=name, title="deputy_chief", years_reading=12, roles=("leader",))
            for name in ("lead1", "lead2")
        ),
        *(
            Person(person_id=name, title="chief", years_reading=20, roles=("arbitrator",))
            for name in ("judge1", "judge2")
        ),
        Person(person_id="office", roles=("organiser",)),
    ]
    teams = (
        Team(team_id="one", reader_ids=("r1", "r2", "r3"), leader_id="lead1"),
        Team(team_id="two", reader_ids=("r4", "r5", "r6"), leader_id="lead2"),
    )
    return Roster(people=tuple(people), teams=teams)


def small_cases(*names: str) -> pl.DataFrame:
    """Cases of 100 x 100 x 20 voxels of 1 mm, the first voxel's centre at 0."""
    rows = [
        {
            "case_id": name,
            **{f"size_{axis}": size for axis, size in zip("xyz", (100, 100, 20), strict=True)},
            **{f"spacing_{axis}_mm": 1.0 for axis in "xyz"},
            **{f"origin_{axis}_mm": 0.0 for axis in "xyz"},
        }
        for name in names
    ]
    return CASES.conform(pl.DataFrame(rows), "cases")


class MemoryStore:
    """The bytes of events in memory, as a database would keep them."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._head: bytes | None = None

    def read(self, first: int = 1) -> list[Stored]:
        """The events from a number on."""
        events = [self.read_event(number) for number in range(first, len(self._events) + 1)]
        return [event for event in events if event is not None]

    def read_event(self, number: int) -> Stored | None:
        """One event."""
        if number > len(self._events):
            return None
        return Stored(self.where(number), number, self._events[number - 1])

    def append(self, number: int, content: bytes) -> bool:
        """Keep one more event, if its number is free."""
        if number != len(self._events) + 1:
            return False
        self._events.append(content)
        return True

    def read_head(self) -> bytes | None:
        """The head."""
        return self._head

    def write_head(self, content: bytes) -> None:
        """Keep a head."""
        self._head = content

    def where(self, number: int | None = None) -> str:
        """How messages name an event, or the head."""
        return "head" if number is None else f"event {number}"

    def foreign_files(self) -> list[str]:
        """Files among the events that are not events: none."""
        return []


def memory_log() -> IndexedLog[Event]:
    """A new log in memory."""
    return annotation_log(MemoryStore(), "root")


SHARED = drawn("f", (3, 50, 50, 8))
LONE = drawn("g", (9, 20, 20, 6))
MISSED = drawn("missed", (5, 80, 80, 6), (6, 80, 80, 6), type="solid")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class WorkflowDriver:
    """A workflow with its log, for tests that read as a story."""

    def __init__(self, workflow: Workflow, store=None) -> None:
        self.workflow = workflow
        self.store = memory_log() if store is None else annotation_log(store, "root")

    def act(self, actor: str, action) -> None:
        act(self.workflow, self.store, actor, action, lambda: NOON)

    def opens(self, team="one", reviewer="lead2", cases=("a",)) -> None:
        order = actions.OpenBatch(batch_id="b1", team_id=team, case_ids=cases, reviewer_id=reviewer)
        self.act("office", order)

    def reads(self, reader: str, *findings, case="a") -> None:
        self.act(
            reader, actions.SubmitReading(batch_id="b1", reading=reading(reader, case, *findings))
        )

    def checks(self) -> None:
        self.act(PROGRAM, actions.CheckBatch(batch_id="b1"))

    def types(self, reader: str, name: str, nodule_type="solid") -> None:
        self.act(
            reader,
            actions.TypeNodule(batch_id="b1", case_id="a", candidate_id=name, type=nodule_type),
        )

    def reviews(self, actor: str, name: str, agrees: bool) -> None:
        self.act(
            actor,
            actions.ReviewNodule(batch_id="b1", case_id="a", candidate_id=name, agrees=agrees),
        )

    def adds(self, actor: str, finding, case="a") -> None:
        self.act(actor, actions.AddNodule(batch_id="b1", case_id=case, finding=finding))

    def finishes(self, actor: str, case="a") -> None:
        self.act(actor, actions.FinishCase(batch_id="b1", case_id=case))

    def rules(self, actor: str, name: str, is_nodule: bool, nodule_type=None) -> None:
        self.act(
            actor,
            actions.ArbitrateNodule(
                batch_id="b1", case_id="a", candidate_id=name, is_nodule=is_nodule, type=nodule_type
            ),
        )

    def approves(
        self, actor: str, approves: bool = True, inspected=actions.ASPECTS, comment: str = ""
    ) -> None:
        self.act(
            actor,
            actions.ApproveBatch(
                batch_id="b1", approves=approves, inspected=inspected, comment=comment
            ),
        )

    def releases(self, actor: str) -> None:
        self.act(actor, actions.ReleaseBatch(batch_id="b1"))

    def sees(self, actor: str) -> list[str]:
        readings = self.workflow.seen_readings(self.batch, actor)
        return [reading.reader_id for reading in readings]

    def is_shown(self, actor: str) -> list[tuple[str, int, tuple[int, ...]]]:
        candidates = self.workflow.seen_candidates(self.batch, actor)
        return [
            (candidate.candidate_id, len(candidate.boxes), candidate.inconsistent_slices)
            for candidate in candidates
        ]

    @property
    def batch(self):
        return self.workflow.batches(self.store.read())["b1"]


def in_review(driver: WorkflowDriver, *findings, cases=("a",)) -> None:
    """Bring a batch to the review; every reader drew the same, all solid."""
    driver.opens(cases=cases)
    for case in cases:
        for reader in ("r1", "r2", "r3"):
            driver.reads(reader, *findings, case=case)
    driver.checks()
    for case, name in driver.batch.untyped:
        driver.act(
            "r1", actions.TypeNodule(batch_id="b1", case_id=case, candidate_id=name, type="solid")
        )
