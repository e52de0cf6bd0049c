"""An algorithm on a test set: a submission folder that evaluate takes, resumed, open or sealed."""

import json
from pathlib import Path

import polars as pl
import pytest

from builders.algorithms import MARKS, NAME, algorithm_folder, images_set, needs_bubblewrap
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_submission
from nodulebench.runner import run as run_module
from nodulebench.runner.algorithms import Algorithm, named_algorithm, read_algorithm
from nodulebench.runner.check import needs_of
from nodulebench.runner.run import RunChoice, RunSummary, run_algorithm

pytestmark = needs_bubblewrap
FAILING = 'grep -q "$(printf "\\\\001")" "$1/ct.raw" && exit 5\n'
"""On the case whose voxels are 1."""


def counted(folder: Path, program: str = MARKS) -> Algorithm:
    return read_algorithm(algorithm_folder(folder, program))


def run(algorithm: Algorithm, cases: Path, out: Path, **choice: object) -> RunSummary:
    return run_algorithm(algorithm, cases, out, RunChoice(**choice))  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_folder_is_a_submission_with_every_case(tmp_path: Path) -> None:
    cases, out = images_set(tmp_path / "set"), tmp_path / "out"
    summary = run(counted(tmp_path / "mine", FAILING + MARKS + "echo hello"), cases, out)
    assert summary.states == {"ok": 2, "failed": 1}
    assert summary.is_complete
    assert summary.problems == (("scan-1", "failed", "it ended with exit code 5"),)
    submission = read_submission(out)
    assert (submission.name, submission.threshold) == ("tested", 0.5)
    assert submission.marks["case_id"].to_list() == ["scan-0", "scan-2"]
    assert submission.runs is not None
    assert submission.runs.select("case_id", "state", "exit_code", "attempts").rows() == [
        ("scan-0", "ok", 0, 1),
        ("scan-1", "failed", 5, 1),
        ("scan-2", "ok", 0, 1),
    ]
    record = json.loads((out / "run.json").read_text())
    assert record["isolation"]["name"] == "bubblewrap"
    assert all(record["isolation"]["self_test"].values())
    assert record["states"] == {"ok": 2, "failed": 1}
    assert (out / "logs" / "scan-0.txt").read_text() == "hello\n"


@pytest.mark.slow
def test_the_same_again_runs_nothing_and_only_failed_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, out = images_set(tmp_path / "set"), tmp_path / "out"
    algorithm = counted(tmp_path / "mine", FAILING + MARKS)
    run(algorithm, cases, out)
    given: list[list[str]] = []
    real = run_module.run_cases

    def watched(*arguments: object, **named: object):
        given.append([case.case_id for case in arguments[2]])  # type: ignore[attr-defined]
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(run_module, "run_cases", watched)
    assert run(algorithm, cases, out).was_known == 3
    run(algorithm, cases, out, is_only_failed=True)
    assert given == [[], ["scan-1"]]


@pytest.mark.slow
def test_what_the_machine_spoilt_is_run_again_by_the_same_command(tmp_path: Path) -> None:
    cases, out = images_set(tmp_path / "set"), tmp_path / "out"
    image = cases / "images" / "scan-1.zraw"
    before = image.read_bytes()
    image.write_bytes(b"damaged")
    algorithm = counted(tmp_path / "mine")
    first = run(algorithm, cases, out)
    assert first.states == {"ok": 2, "infrastructure": 1}
    assert not first.is_complete
    image.write_bytes(before)
    assert run(algorithm, cases, out).states == {"ok": 3}


@pytest.mark.slow
def test_another_algorithm_is_not_mixed_in(tmp_path: Path) -> None:
    cases, out = images_set(tmp_path / "set", 1), tmp_path / "out"
    run(counted(tmp_path / "mine"), cases, out)
    with pytest.raises(InputError, match="differs in: algorithm"):
        run(counted(tmp_path / "other", MARKS + "# new"), cases, out)


def test_names_of_cases_do_not_reach_the_algorithm(tmp_path: Path) -> None:
    spy = "grep -r scan- /input /proc/self/mounts /proc/self/environ && exit 9\n" + NAME + MARKS
    assert run(
        counted(tmp_path / "mine", spy), images_set(tmp_path / "set"), tmp_path / "o"
    ).states == {"ok": 3}


def test_a_missing_graphics_card_is_reported_before_anything_runs(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine", gpus=64)
    cases = images_set(tmp_path / "set", 2)
    needs = needs_of(read_algorithm(folder), cases, RunChoice(), None)
    assert not needs.is_met
    assert dict(needs.lines)["missing"] == "graphics cards"
    assert dict(needs.lines)["time"] == "at most 0.0 h (20 s a case)"
    with pytest.raises(InputError, match="needs 64 graphics cards for each of 1 cases at once"):
        run(read_algorithm(folder), cases, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_names_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"folder with an algorithm\.toml nor a detector"):
        named_algorithm("isicat")
    with pytest.raises(InputError, match=r"into a folder with an algorithm\.toml"):
        named_algorithm("mine {case} {out}")
    assert named_algorithm("isicad").name == "isicad"


def test_times_are_numbers_and_marks_are_in_the_order_of_the_set(tmp_path: Path) -> None:
    run(counted(tmp_path / "mine"), images_set(tmp_path / "set", 5), tmp_path / "out", slots=2)
    runs = pl.read_csv(tmp_path / "out" / "runs.csv")
    assert runs["case_id"].is_sorted()
    assert runs["seconds"].min() > 0  # type: ignore[operator]
    assert pl.read_csv(tmp_path / "out" / "marks.csv")["case_id"].is_sorted()
