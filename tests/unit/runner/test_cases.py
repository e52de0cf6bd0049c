"""Cases go out under names that say nothing; what is our fault is tried again, and nothing else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.algorithms import MARKS, NAME, algorithm_folder, needs_bubblewrap, small_volume
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import Volume
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.cases import MOST_FAILED_STARTS, OpaqueCase, opaque_cases, run_cases
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.slot import CaseRun

IDS = [f"patient-{number}" for number in range(40)]


def test_names_and_order_say_nothing_but_to_who_has_the_secret() -> None:
    cases = opaque_cases(IDS, b"secret")
    assert sorted(case.case_id for case in cases) == sorted(IDS)
    assert [case.case_id for case in cases] != IDS
    assert len({case.name for case in cases}) == len(IDS)
    assert not any(case.case_id in case.name for case in cases)
    assert opaque_cases(IDS[::-1], b"secret") == cases
    other = opaque_cases(IDS, b"another")
    assert not {case.name for case in other} & {case.name for case in cases}
    assert [case.case_id for case in other] != [case.case_id for case in cases]


@contextmanager
def image(_: str) -> Iterator[Volume]:
    yield small_volume()


def ran(folder: Path, names: list[str], images=image, **how: int) -> dict[str, CaseRun]:
    cases = [OpaqueCase(name, f"case-{name}") for name in names]
    with scratch_folder() as place:
        given = read_algorithm(folder), Bubblewrap(), cases, images, place
        return {case.case_id: run for case, run in run_cases(*given, **how)}


@needs_bubblewrap
def test_cases_are_read_side_by_side_each_in_its_own_place(tmp_path: Path) -> None:
    program = MARKS + 'test "$(ls -A /tmp)" = "" || exit 9; echo x > /tmp/left; sleep 0.1'
    runs = ran(algorithm_folder(tmp_path / "mine", program), list("abcd"), slots=2)
    assert {name: run.state for name, run in runs.items()} == dict.fromkeys("abcd", "ok")
    assert {run.marks["case_id"][0] for run in runs.values()} == {
        f"case-{letter}" for letter in "abcd"
    }


@needs_bubblewrap
def test_an_image_that_fails_once_is_tried_again_and_a_failing_program_is_not(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    @contextmanager
    def shaky(case_id: str) -> Iterator[Volume]:
        asked.append(case_id)
        if case_id == "never" or (asked.count(case_id) == 1 and case_id == "once"):
            raise InputError.at(case_id, "cannot be read.")
        yield small_volume()

    program = NAME + 'test "$name" = case-bad && exit 4\n' + MARKS
    runs = ran(algorithm_folder(tmp_path / "mine", program), ["once", "never", "bad"], shaky)
    assert {name: run.state for name, run in runs.items()} == {
        "once": "ok",
        "never": "infrastructure",
        "bad": "failed",
    }
    assert {name: run.measured["attempts"] for name, run in runs.items()} == {
        "once": 2,
        "never": 2,
        "bad": 1,
    }
    why = runs["never"].why
    assert why is not None
    assert why.values["problem"] == "never: cannot be read."


@needs_bubblewrap
def test_a_case_that_is_read_several_times_tells_whether_the_marks_are_the_same(
    tmp_path: Path,
) -> None:
    chance = NAME + (
        'test "$name" = case-same && n=1 || n=$(od -An -N4 -tu4 /dev/urandom)\n'
        'echo "seriesuid,coordX,coordY,coordZ,probability" > "$2/m.csv"\n'
        'echo "$name,1,2,3,$n" >> "$2/m.csv"'
    )
    runs = ran(algorithm_folder(tmp_path / "mine", chance), ["same", "other"], repeats=3)
    assert [runs[name].measured["is_reproduced"] for name in ("same", "other")] == [True, False]
    assert runs["same"].measured["repeats"] == 3
    assert runs["same"].measured["seconds_spread"] > 0
    assert runs["same"].measured["attempts"] == 1
    failed = ran(algorithm_folder(tmp_path / "fails", "exit 1"), ["a"], repeats=2)["a"]
    assert "repeats" not in failed.measured


@needs_bubblewrap
def test_a_program_that_never_starts_ends_the_run(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine", "exit 1", 'mode = "invoke"')
    with pytest.raises(InputError, match=f"did not start {MOST_FAILED_STARTS} times in a row"):
        ran(folder, [str(number) for number in range(9)])


@needs_bubblewrap
def test_who_stops_listening_ends_every_program(tmp_path: Path) -> None:
    folder = algorithm_folder(
        tmp_path / "mine", NAME + 'test "$name" = case-a || sleep 60\n' + MARKS
    )
    before = threading.active_count()
    with scratch_folder() as place:
        cases = [OpaqueCase(name, f"case-{name}") for name in "abc"]
        outcomes = run_cases(read_algorithm(folder), Bubblewrap(), cases, image, place, slots=2)
        assert next(outcomes)[0].case_id == "a"
        outcomes.close()
    assert threading.active_count() == before
