"""How opening an annotation project grows with its log: 600, 3,000 and 15,000 events."""

import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from nodulebench.annotation import actions
from nodulebench.annotation.actions import NIFDC, event_of
from nodulebench.annotation.batch import Batch, batches_of
from nodulebench.annotation.people import Person, Roster, Team
from nodulebench.annotation.project import (
    CASES,
    INDEX,
    PROJECT,
    Project,
    ProjectHandle,
    audit_project,
    open_project,
)
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice, Reading
from nodulebench.core.tables import CASES as CASE_TABLE
from nodulebench.io.json_files import write_json

CASES_OF_BATCH = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
READERS = ("r1", "r2", "r3")


def main(sizes: tuple[int, ...] = (600, 3_000, 15_000)) -> None:
    """Print CPU seconds of opening a batch, of a step, of reading all, and the index's size."""
    columns = ("open a batch, s", "one step, s", "without index, s", "audit, s", "index, MB")
    print(f"| events | batches | {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "panel"
            events = write_project(folder, size)
            print(_row(folder, events))


def _row(folder: Path, events: int) -> str:
    last = list(open_project(folder).batches())[-1]

    def opened() -> None:
        open_project(folder).batch(last)

    without = _seconds(opened)
    step = _seconds(lambda: _step(open_project(folder), last))  # writes the index
    step = min(step, _seconds(lambda: _step(open_project(folder), last)))
    indexed = min(_seconds(opened) for _ in range(3))
    audit = _seconds(lambda: audit_project(open_project(folder)))
    size = (folder / INDEX).stat().st_size / 1e6
    batches = len(open_project(folder).batches())
    return (
        f"| {events} | {batches} | {indexed:.2f} | {step:.2f} | {without:.2f} | {audit:.2f} "
        f"| {size:.1f} |"
    )


def _seconds(job) -> float:  # type: ignore[no-untyped-def]
    start = time.process_time()
    job()
    return time.process_time() - start


def _step(handle: ProjectHandle, batch_id: str) -> None:
    case_id = handle.batch(batch_id).unfinished[0]
    handle.act("lead2", actions.FinishCase(batch_id=batch_id, case_id=case_id))


def write_project(folder: Path, least: int) -> int:
    """A project whose log has at least so many events, none of them synced; how many it has."""
    folder.mkdir(parents=True)
    batches = least // (CASES_OF_BATCH * 7) + 1
    names = [f"case-{number}" for number in range(batches * CASES_OF_BATCH)]
    _cases(names).write_csv(folder / CASES)
    project = Project(roster=_roster(), rules=NIFDC)
    write_json(project.model_dump(mode="json"), folder / PROJECT)
    handle = open_project(folder)
    (folder / "events").mkdir()
    previous, number = handle.log.log.root, 0
    event = None
    for place in range(batches):
        known: dict[str, Batch] = {}
        batch_id = f"batch-{place + 1}"
        chosen = names[place * CASES_OF_BATCH : (place + 1) * CASES_OF_BATCH]
        is_last = place == batches - 1
        for actor, wanted in _steps(batch_id, chosen, is_last):
            action = handle.workflow.allowed(known, actor, wanted)
            number += 1
            at = START + timedelta(minutes=number)
            event = event_of(number, previous, actor, action, at)
            (folder / "events" / f"{number:08d}.json").write_bytes(event.to_bytes())
            previous = event.digest
            teams = {team.team_id: team.reader_ids for team in handle.workflow.roster.teams}
            known = batches_of([event], teams, NIFDC, known)
    handle.log.log.write_head([event] * number if event else [], "office")
    return number


def _steps(batch_id: str, names: list[str], is_last: bool):  # type: ignore[no-untyped-def]
    order = actions.OpenBatch(
        batch_id=batch_id, team_id="one", case_ids=tuple(names), reviewer_id="lead2"
    )
    yield "office", order
    for reader in READERS:
        for name in names:
            yield reader, actions.SubmitReading(batch_id=batch_id, reading=_reading(reader, name))
    yield "program", actions.CheckBatch(batch_id=batch_id)
    for name in names:
        for place in (1, 2):
            event = {"batch_id": batch_id, "case_id": name, "candidate_id": f"candidate-{place}"}
            yield "r1", actions.TypeNodule(**event, type="solid")
    for name in names:
        for place in (1, 2):
            event = {"batch_id": batch_id, "case_id": name, "candidate_id": f"candidate-{place}"}
            yield "lead2", actions.ReviewNodule(**event, agrees=True)
    if not is_last:
        for name in names:
            yield "lead2", actions.FinishCase(batch_id=batch_id, case_id=name)


def _reading(reader: str, case_id: str) -> Reading:
    def finding(name: str, first: int, x: float) -> DrawnFinding:
        slices = tuple(
            DrawnSlice(
                slice_index=first + place, center_x_mm=x, center_y_mm=x, length_mm=8, width_mm=8
            )
            for place in range(4)
        )
        return DrawnFinding(finding_id=name, slices=slices)

    findings = (finding("f1", 3, 50), finding("f2", 10, 20))
    return Reading(case_id=case_id, reader_id=reader, findings=findings)


def _cases(names: list[str]) -> pl.DataFrame:
    rows = [
        {
            "case_id": name,
            **dict(zip(("size_x", "size_y", "size_z"), (100, 100, 20), strict=True)),
            **{f"spacing_{axis}_mm": 1.0 for axis in "xyz"},
            **{f"origin_{axis}_mm": 0.0 for axis in "xyz"},
        }
        for name in names
    ]
    return CASE_TABLE.conform(pl.DataFrame(rows), "cases")


def _roster() -> Roster:
    readers = [Person(person_id=reader, years_reading=6, roles=("junior",)) for reader in READERS]
    others = [
        Person(person_id="lead1", title="chief", years_reading=20, roles=("leader",)),
        Person(person_id="lead2", title="chief", years_reading=20, roles=("leader", "junior")),
        Person(person_id="office", roles=("organiser",)),
    ]
    teams = (
        Team(team_id="one", reader_ids=READERS, leader_id="lead1"),
        Team(team_id="two", reader_ids=(), leader_id="lead2"),
    )
    return Roster(people=(*readers, *others), teams=teams)


if __name__ == "__main__":
    main(tuple(int(count) for count in sys.argv[1:]) or (600, 3_000, 15_000))
