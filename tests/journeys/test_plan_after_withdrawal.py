"""By commands: a withdrawn case outdates a frozen plan, and a new plan decides on what is left."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.commands import run
from builders.sealed import PEOPLE, SealedLab, make_lab
from nodulebench.core.tables import CASES
from nodulebench.io.bundle import read_reference, write_reference

pytest.importorskip("cryptography")
CRITERIA = (
    'name = "accept"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\n'
    'comparison = ">="\nlimit = 0.9\n'
)
HITS = tuple(f"scan{number}" for number in range(10))
EVALUATE = ("evaluate", "all.csv", "--key", "bo.key", "--developer", "Example")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedLab:
    """A bundle of ten cases with a nodule each and one case without nodules."""
    made = make_lab(tmp_path, cases=len(HITS))
    plain = read_reference(made.bundle)
    healthy = pl.DataFrame({"case_id": ["healthy"], "has_nodules": [False]})
    cases = pl.concat([plain.cases, CASES.conform(healthy, "cases")], how="diagonal_relaxed")
    write_reference(replace(plain, cases=cases), made.bundle)
    (tmp_path / "criteria.toml").write_text(CRITERIA)
    made.marks("all.csv", *HITS)
    monkeypatch.chdir(tmp_path)
    return made


def freeze(reference: str, plan: str) -> str:
    """Freeze a plan by the command; its digest."""
    given = ("--criteria", "criteria.toml", "--bootstraps", "20", "--out", plan)
    assert run("test-plan", "freeze", "--reference", reference, *given) == 0
    digest: str = json.loads(Path(plan).read_text())["digest"]
    return digest


def seal(bundle: str, out: str, reuse: str) -> None:
    """Seal a bundle by the command under a policy."""
    Path("policy.toml").write_text(f"{PEOPLE}[reuse]\n{reuse}\n")
    given = ("--key", "ada.key", "--policy", "policy.toml", "--out", out)
    assert run("seal", bundle, *given) == 0


def withdraw() -> None:
    given = ("--key", "ada.key", "--case", "healthy", "--reason", "consent withdrawn")
    assert run("custody", "withdraw", "sealed", *given) == 0


def export() -> None:
    given = ("--key", "ada.key", "--reason", "new plan", "--out", "plain")
    assert run("unseal", "sealed", *given) == 0


def steps(sealed: str) -> list[str]:
    """The steps of the log of a sealed set."""
    events = sorted(Path(sealed, "audit").glob("0*.json"))
    return [json.loads(event.read_text())["step"] for event in events]


@pytest.mark.slow
def test_a_refused_old_plan_costs_nothing_and_a_new_set_takes_a_new_plan(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    seal("bundle", "sealed", f'plans = ["{freeze("bundle", "old.json")}"]')
    withdraw()
    assert "nodulebench test-plan freeze" in capsys.readouterr().out
    assert run(*EVALUATE, "--reference", "sealed", "--plan", "old.json", "--out", "feedback") == 1
    error = capsys.readouterr().err
    assert "plan 'accept': was frozen for 11 cases; this test set has 10 (1 withdrawn)" in error
    for command in ("unseal", "test-plan freeze", "seal", "custody retire"):
        assert f"'nodulebench {command}'" in error
    assert steps("sealed") == ["sealed", "withdrawn", "refused"]
    assert not (lab.folder / "feedback").exists()

    export()
    seal("plain", "sealed-again", f'plans = ["{freeze("plain", "new.json")}"]')
    again = ("--reference", "sealed-again", "--plan", "new.json", "--out", "feedback")
    assert run(*EVALUATE, *again) == 0
    assert "plan accept: passed" in capsys.readouterr().out
    assert json.loads(Path("feedback/feedback.json").read_text())["verdict"] == "passed"
    assert steps("sealed-again") == ["sealed", "evaluation_charged", "evaluated"]


@pytest.mark.slow
@pytest.mark.usefixtures("lab")
def test_without_a_plan_in_the_policy_the_set_takes_a_new_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    freeze("bundle", "old.json")
    seal("bundle", "sealed", "evaluations_per_developer = 1")
    withdraw()
    assert run(*EVALUATE, "--reference", "sealed", "--plan", "old.json") == 1
    error = capsys.readouterr().err
    assert "'nodulebench test-plan freeze'" in error
    assert "retire" not in error
    export()
    freeze("plain", "new.json")
    assert run(*EVALUATE, "--reference", "sealed", "--plan", "new.json") == 0
    shown = capsys.readouterr().out
    assert "plan accept: passed" in shown
    assert "evaluation 1 of 1" in shown
    assert steps("sealed") == [
        "sealed",
        "withdrawn",
        "refused",
        "exported",
        "evaluation_charged",
        "evaluated",
    ]


@pytest.mark.slow
def test_a_roster_with_the_old_plan_is_refused_before_anything_is_charged(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    freeze("bundle", "old.json")
    seal("bundle", "sealed", "evaluations_per_developer = 1")
    withdraw()
    (lab.folder / "roster.csv").write_text("file,developer,alias\nall.csv,Example,A1\n")
    given = ("--submissions", "roster.csv", "--key", "bo.key", "--plan", "old.json")
    assert run("evaluate", *given, "--reference", "sealed", "--out", "feedback") == 1
    assert "was frozen for 11 cases" in capsys.readouterr().err
    assert "evaluation_charged" not in steps("sealed")
