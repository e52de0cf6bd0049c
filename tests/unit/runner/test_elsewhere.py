"""Cases whose programs are watched by the workers of an engine; here the engine is this process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.algorithms import CALLS, MARKS, algorithm_folder, images_set
from nodulebench.core.errors import InputError
from nodulebench.core.executor import (
    DEFAULT_LIMITS,
    IN_PROCESS,
    Executor,
    FailedTask,
    InProcessExecutor,
    TaskLimits,
)
from nodulebench.runner import cases as elsewhere
from nodulebench.runner import cases as lab
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.cases import OpaqueCase, clear_slot_workers, run_cases_by
from nodulebench.runner.slot import CaseRun

CASES = [OpaqueCase(f"scan-{number}", f"case-{number}") for number in range(3)]


@pytest.fixture(autouse=True)
def _own_labs() -> Iterator[None]:
    yield
    clear_slot_workers()


class Places:
    """The images of a set, and which of them are taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = images_set(folder, len(CASES)) / "images"
        self.taken: list[str] = []
        self.most = 0

    def take(self, case_id: str) -> Path:
        self.taken.append(case_id)
        self.most = max(self.most, len(self.taken))
        return self.folder / f"{case_id}.mhd"


def ran(
    folder: Path,
    executor: Executor = IN_PROCESS,
    program: str = MARKS,
    isolation: str = "none",
    places: type[Places] = Places,
    **run: Any,
) -> tuple[dict[str, CaseRun], Places]:
    images = places(folder / "set")
    algorithm = read_algorithm(algorithm_folder(folder / "mine", program, **run))
    outcomes = run_cases_by(
        executor, algorithm, isolation, CASES, images.take, images.taken.remove, repeats=1
    )
    return {case.case_id: run for case, run in outcomes}, images


def test_every_case_is_read_and_its_image_given_back(tmp_path: Path) -> None:
    runs, places = ran(tmp_path)
    assert {name: run.state for name, run in runs.items()} == dict.fromkeys(
        (f"scan-{number}" for number in range(3)), "ok"
    )
    assert runs["scan-1"].marks["case_id"].to_list() == ["case-1"]
    assert runs["scan-1"].measured["attempts"] == 1
    assert (places.taken, places.most) == ([], 1)


def test_a_program_that_stays_is_started_once_and_gets_one_case_at_a_time(tmp_path: Path) -> None:
    runs, places = ran(tmp_path, program=CALLS % MARKS, run='mode = "invoke"')
    assert [run.state for run in runs.values()] == ["ok"] * 3
    started = [run.measured["startup_seconds"] is not None for run in runs.values()]
    assert started == [True, False, False]
    assert (places.taken, places.most) == ([], 1)


def test_an_image_that_cannot_be_had_costs_only_its_own_case(tmp_path: Path) -> None:
    class Damaged(Places):
        def take(self, case_id: str) -> Path:
            path = super().take(case_id)
            if case_id == "scan-1":
                raise InputError.at(case_id, "was changed.")
            return path

    runs, places = ran(tmp_path, places=Damaged)
    assert [run.state for run in runs.values()] == ["ok", "infrastructure", "ok"]
    why = runs["scan-1"].why
    assert why is not None
    assert why.values["problem"] == "scan-1: was changed."
    assert places.taken == []


def test_what_was_prepared_goes_with_the_process(tmp_path: Path) -> None:
    ran(tmp_path, program=CALLS % MARKS, run='mode = "invoke"')
    (opened,) = elsewhere._SLOT_WORKERS.values()
    place = opened.slot.scratch.folder.parent
    assert place.is_dir()
    clear_slot_workers()
    assert not place.exists()


@pytest.mark.parametrize(
    "lost", [FailedTask("died", -9), FailedTask("timed_out"), FailedTask("gone")]
)
def test_a_worker_that_is_lost_is_never_the_fault_of_the_algorithm(
    tmp_path: Path, lost: FailedTask
) -> None:
    class Losing(InProcessExecutor):
        def map(self, function: Any, tasks: Any, *_: object) -> Iterator[Any]:
            for number, task in enumerate(tasks):
                yield number, lost if number == 1 else function(task)

    runs, places = ran(tmp_path, Losing())
    assert [run.state for run in runs.values()] == ["ok", "infrastructure", "ok"]
    why = runs["scan-1"].why
    assert why is not None
    assert why.code == "run_infrastructure"
    assert places.taken == []


def test_walls_that_do_not_hold_where_a_worker_is_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str, _: Path) -> Any:
        raise InputError.at(f"isolation '{name}'", "fails to protect: network.")

    monkeypatch.setattr(lab, "choose_isolation", broken)
    with pytest.raises(InputError, match=r"isolation 'bubblewrap': fails to protect: network"):
        ran(tmp_path, isolation="bubblewrap")


def test_a_task_has_the_time_of_all_its_readings_and_the_cards_of_its_algorithm(
    tmp_path: Path,
) -> None:
    asked: list[TaskLimits] = []

    class Asking(InProcessExecutor):
        def map(self, _: Any, __: Any, terms: TaskLimits = DEFAULT_LIMITS) -> Iterator[Any]:
            asked.append(terms)
            yield from ()

    ran(tmp_path, Asking())
    algorithm = read_algorithm(tmp_path / "mine")
    limits = algorithm.run.resources
    both = limits.timeout_s + limits.startup_timeout_s
    assert asked == [TaskLimits(600.0 + both * 2, memory_bytes=None, gpus=0)]
