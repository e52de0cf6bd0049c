"""On a sealed set a run is an action with its own event; no word of the algorithm comes out."""

import pickle
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from builders.algorithms import MARKS, algorithm_folder, needs_bubblewrap, small_volume
from builders.sealed import SealedLab, make_lab
from nodulebench.cli import main
from nodulebench.core.errors import InputError
from nodulebench.core.executor import Executor
from nodulebench.custody.budget import evaluations_of
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.sealed_images import has_encrypted_images
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.submissions import submission_digest
from nodulebench.custody.verify import read_audit
from nodulebench.io.images import metaimage
from nodulebench.runner.algorithms import Algorithm, read_algorithm
from nodulebench.runner.cases import clear_slot_workers
from nodulebench.runner.run import RunChoice, run_algorithm

pytest.importorskip("pyrage")
pytestmark = needs_bubblewrap
NAMES = ["scan0", "scan1", "scan2", "scan3"]


def make_sealed(folder: Path, *, encrypts_images: bool) -> SealedLab:
    lab = make_lab(folder)
    shutil.rmtree(lab.bundle / "images")
    (lab.bundle / "images").mkdir()
    for name in NAMES:
        metaimage.write_volume(small_volume(), lab.bundle / "images" / f"{name}.mhd")
    lab.seal(encrypts_images=encrypts_images)
    return lab


@pytest.fixture(scope="module", params=[False, True], ids=["plain images", "encrypted images"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    return make_sealed(tmp_path_factory.mktemp("lab"), encrypts_images=request.param)


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path) -> SealedLab:
    shutil.copytree(made.folder, tmp_path / "lab")
    return SealedLab(tmp_path / "lab")


def algorithm(folder: Path, program: str = MARKS) -> Algorithm:
    return read_algorithm(algorithm_folder(folder, program))


def run(
    lab: SealedLab,
    chosen: Algorithm,
    person: str = "Bo",
    isolation: str = "auto",
    executor: Executor | None = None,
):
    out = lab.folder.parent / "out"
    choice, own_key = RunChoice(isolation), lab.key(person)
    return run_algorithm(chosen, lab.sealed, out, choice, own_key=own_key, executor=executor)


@pytest.mark.slow
def test_a_run_is_in_the_log_and_costs_no_evaluation(lab: SealedLab, tmp_path: Path) -> None:
    chosen = algorithm(tmp_path / "mine")
    assert run(lab, chosen).states == {"ok": 4}
    event = read_audit(lab.sealed).events[-1]
    assert (event.step, event.person, event.role) == ("ran", "Bo", "operator")
    assert event.facts["algorithm_digest"] == chosen.digest
    assert event.facts["case_ids"] == " ".join(NAMES)
    assert [event.step for event in read_audit(lab.sealed).events] == ["sealed", "ran"]


def test_who_may_not_run_is_refused_and_it_is_written_down(lab: SealedLab, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'Cem' is auditor and may not run"):
        run(lab, algorithm(tmp_path / "mine"), "Cem")
    assert read_audit(lab.sealed).events[-1].step == "refused"


def test_nothing_runs_there_without_walls(lab: SealedLab, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is sealed, and 'none' does not isolate the algorithm"):
        run(lab, algorithm(tmp_path / "mine"), isolation="none")
    assert [event.step for event in read_audit(lab.sealed).events] == ["sealed"]


@dataclass
class Watched:
    """An engine that keeps what a worker would be sent, and sees which images lie open then."""

    is_here: bool = True
    workers: int = 1
    sent: list[bytes] = field(default_factory=list)
    open: list[int] = field(default_factory=list)

    def map(self, function: Any, tasks: Any, *_: object) -> Iterator[Any]:
        for number in range(len(tasks)):
            task = tasks[number]
            self.sent.append(pickle.dumps(task))
            self.open.append(len(list(task.image.parents[2].rglob("*.mhd"))))
            yield number, function(task)


@pytest.mark.slow
def test_workers_are_sent_paths_never_keys_and_see_one_case_at_a_time(
    lab: SealedLab, tmp_path: Path
) -> None:
    chosen, workers = algorithm(tmp_path / "mine"), Watched()
    try:
        assert run(lab, chosen, executor=workers).states == {"ok": 4}
    finally:
        clear_slot_workers()
    own_key = lab.key("Bo")
    vault = open_sealed(lab.sealed, own_key, "run").vault
    assert vault.keys
    for key in (*vault.keys.values(), own_key.ed25519.private_bytes_raw()):
        assert len(key) == 32
        assert not [task for task in workers.sent if key in task]
    is_encrypted = has_encrypted_images(lab.sealed)
    assert workers.open == ([1] * 4 if is_encrypted else workers.open)
    assert [event.step for event in read_audit(lab.sealed).events] == ["sealed", "ran"]
    assert read_audit(lab.sealed).events[-1].facts["case_ids"] == " ".join(NAMES)


def test_workers_of_others_get_nothing_of_it(lab: SealedLab, tmp_path: Path) -> None:
    workers = Watched(is_here=False)
    with pytest.raises(InputError, match="is sealed: its images must not go to workers"):
        run(lab, algorithm(tmp_path / "mine"), executor=workers)
    assert workers.sent == []
    assert [event.step for event in read_audit(lab.sealed).events] == ["sealed"]


@pytest.mark.parametrize("executor", ["dask://127.0.0.1:9", "slurm"])
def test_no_one_waits_for_workers_that_may_not_see_it(
    lab: SealedLab, tmp_path: Path, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", algorithm_folder(tmp_path / "mine"), lab.sealed, "--out", tmp_path / "out"]
    words += ["--key", lab.key_file("Bo"), "--executor", executor]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 1
    assert "its images must not go to workers" in capsys.readouterr().err


def test_words_of_the_algorithm_stay_behind(lab: SealedLab, tmp_path: Path) -> None:
    program = 'echo PIXELS; echo PIXELS >&2\necho "PIXELS,x" > "$2/PIXELS.csv"'
    summary = run(lab, algorithm(tmp_path / "mine", program))
    assert summary.states == {"output_invalid": 4}
    assert {why for _, _, why in summary.problems} == {"its output cannot be read as marks"}
    out = tmp_path / "out"
    assert not (out / "logs").exists()
    assert not [path for path in out.rglob("*") if b"PIXELS" in path.read_bytes()]


@pytest.mark.slow
def test_the_same_algorithm_with_other_timings_is_the_same_evaluation(
    lab: SealedLab, tmp_path: Path
) -> None:
    chosen = algorithm(tmp_path / "mine")
    digests = []
    for number in range(2):
        run(lab, chosen)
        folder = tmp_path / f"mine-{number}"
        (tmp_path / "out").rename(folder)
        digests.append(submission_digest(folder))
        evaluate_sealed(replace(lab.evaluate_options("unused.csv"), marks=folder))
    assert digests[0] == digests[1]
    assert len(evaluations_of(read_audit(lab.sealed).events)) == 1


@pytest.mark.slow
def test_other_marks_or_states_are_another_evaluation(lab: SealedLab, tmp_path: Path) -> None:
    run(lab, algorithm(tmp_path / "mine"))
    first = submission_digest(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    run(lab, algorithm(tmp_path / "fails", "exit 1"))
    second = submission_digest(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    run(lab, algorithm(tmp_path / "late", "kill -9 $$"))
    assert first != second
    assert second == submission_digest(tmp_path / "out")  # neither gave a mark, all failed
