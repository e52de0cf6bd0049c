"""Small readings and rosters for tests: reading("r1", "a", drawn("f1", (3, 0, 0, 10)))."""

from typing import Any

import polars as pl

from nodulebench.annotate.people import Person, Roster, Team
from nodulebench.annotate.process.events import Event
from nodulebench.annotate.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.errors import InputError, Problem
from nodulebench.model.tables import CASES


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
    """Events in memory."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def read(self) -> list[Event]:
        """All events, first to last."""
        return list(self._events)

    def append(self, event: Event) -> None:
        """Keep one more event."""
        if event.number != len(self._events) + 1:
            raise InputError(Problem(f"event {event.number}", "another came first."))
        self._events.append(event)
