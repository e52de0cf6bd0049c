"""What commands tell the program that calls them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builders.sealed import POLICY, SealedLab, make_lab
from nodulebench.cli import main
from nodulebench.cli.help import MEANINGS

CRITERIA = (
    'name = "accept"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\n'
    'comparison = ">="\nlimit = 0.75\n'
)
LEVELS = {
    "verdict": POLICY.replace('"rounded"', '"verdict"').replace('metrics = ["luna16.recall"]', ""),
    "rounded": POLICY,
    "metrics": POLICY.replace('"rounded"', '"metrics"').replace('metrics = ["luna16.recall"]', ""),
    "cases": POLICY.replace('"rounded"', '"cases"').replace('metrics = ["luna16.recall"]', ""),
}
SLOW = """
import sys, time
import nodulebench.evaluation.result_folder as folder
from nodulebench.cli import main

def slow(*_, **__):
    print("writing", flush=True)
    time.sleep(3600)

folder.render_html = slow
main(sys.argv[1:])
"""


def status(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


@pytest.fixture(params=LEVELS)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> SealedLab:
    from nodulebench.evaluation.plans import FreezeOptions, freeze_files

    pytest.importorskip("cryptography")
    made = make_lab(tmp_path, LEVELS[request.param])
    made.seal()
    (tmp_path / "criteria.toml").write_text(CRITERIA)
    freeze_files(
        FreezeOptions(
            criteria=tmp_path / "criteria.toml",
            reference=made.bundle,
            protocol="luna16",
            out=tmp_path / "plan.json",
            bootstraps=20,
        )
    )
    return made


def evaluate_on(lab: SealedLab, name: str, hits: int, *more: object) -> int:
    marks = lab.marks(f"{name}.csv", *(f"scan{number}" for number in range(hits)))
    who = ("--key", lab.key_file("Bo"), "--developer", name)
    return status(
        "evaluate", marks, "--reference", lab.sealed, *who, "--out", lab.folder / name, *more
    )


def feedback_of(lab: SealedLab, name: str) -> dict[str, object]:
    feedback: dict[str, object] = json.loads((lab.folder / name / "feedback.json").read_text())
    return feedback


@pytest.mark.slow
def test_on_a_sealed_set_the_status_says_what_the_feedback_says(lab: SealedLab) -> None:
    plan = ("--plan", lab.folder / "plan.json")
    assert [evaluate_on(lab, "good", 4, *plan), evaluate_on(lab, "bad", 1, *plan)] == [0, 3]
    assert [feedback_of(lab, name)["verdict"] for name in ("good", "bad")] == ["passed", "failed"]


def test_without_a_plan_the_status_does_not_depend_on_the_marks(lab: SealedLab) -> None:
    if feedback_level(lab) == "verdict":
        assert {evaluate_on(lab, "good", 4), evaluate_on(lab, "bad", 1)} == {1}
    else:
        options = ("--bootstraps", 20)
        assert {evaluate_on(lab, "good", 4, *options), evaluate_on(lab, "bad", 0, *options)} == {0}
        assert all("verdict" not in feedback_of(lab, name) for name in ("good", "bad"))


def feedback_level(lab: SealedLab) -> str:
    text = (lab.folder / "policy.toml").read_text()
    return next(level for level in LEVELS if f'feedback = "{level}"' in text)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    reference = tmp_path / "luna16"
    reference.mkdir()
    (reference / "seriesuids.csv").write_text("scan\n")
    head = "seriesuid,coordX,coordY,coordZ"
    for name in ("annotations.csv", "annotations_excluded.csv"):
        (reference / name).write_text(f"{head},diameter_mm\nscan,0,0,0,8\n")
    (tmp_path / "marks.csv").write_text(f"{head},probability\nscan,0,0,0,0.9\n")
    before = sorted(tmp_path.rglob("*"))
    command = ["evaluate", "marks.csv", "--reference", "luna16", "--out", "result"]
    running = subprocess.Popen(
        [sys.executable, "-c", SLOW, *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "writing\n"
    assert sorted(tmp_path.rglob("*")) != before
    running.send_signal(signal.SIGINT)
    _, output = running.communicate(timeout=600)  # far less than the hour that writing takes
    assert (running.returncode, output.splitlines()[-1]) == (130, "stopped")
    assert "Traceback" not in output
    assert sorted(tmp_path.rglob("*")) == before


def test_every_status_has_its_meaning() -> None:
    assert list(MEANINGS) == [0, 1, 2, 3, 4, 130]
    assert status("evaluate", "nowhere.csv", "--reference", "nowhere") == 1
    assert status("evaluate") == 2
