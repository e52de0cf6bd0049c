"""Version 0.2 answered "not passed" for failed and undecided: no such answer is used again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.sealed import PEOPLE, SECRET, Desk, make_desk
from builders.sealed_study import REPORTER
from nodulebench.custody import feedback as module
from nodulebench.errors import InputError
from nodulebench.workflows.custody.audit_log import read_audit
from nodulebench.workflows.custody.evaluate_roster import RosterLook, evaluate_roster
from nodulebench.workflows.custody.evaluate_sealed import LookOrder
from nodulebench.workflows.custody.kept.report import StudyOrder, report_kept
from nodulebench.workflows.evaluate.write_report import ReportChoice
from nodulebench.workflows.plan.freeze import freeze_files

pytest.importorskip("cryptography")
pytestmark = pytest.mark.slow
UNDECIDED = (
    'name = "accept"\n[[criteria]]\nfigure = "recall"\nrule = "luna16"\nbound = "low"\n'
    'comparison = ">="\nlimit = 0.7\n'
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A set on which an algorithm was evaluated, with the answer that version 0.2 gave."""
    made = make_desk(tmp_path, f"{PEOPLE}{REPORTER}\n[reuse]\n")
    (tmp_path / "criteria.toml").write_text(UNDECIDED)
    plan = tmp_path / "plan.json"
    freeze_files(tmp_path / "criteria.toml", made.bundle, "luna16", out=plan, bootstraps=20)
    made.seal()
    made.marks("mine.csv", "scan0", "scan1", "scan2", "scan3")
    (tmp_path / "roster.csv").write_text("file,developer,alias\nmine.csv,Example,A1\n")
    with monkeypatch.context() as patch:
        patch.setattr(module, "disclosed_verdict", lambda _: {"passed": False})
        assert evaluated(made)["passed"] is False
    return made


def evaluated(desk: Desk, **more: Any) -> dict[str, Any]:
    """What the developer of the only algorithm of the roster may know."""
    order = LookOrder(Path(), desk.sealed, SECRET, "Bo", "", plan=desk.folder / "plan.json")
    order = replace(order, out=desk.folder / "told", **more)
    (found,) = evaluate_roster(desk.folder / "roster.csv", order)
    assert isinstance(found, RosterLook)
    assert found.told is not None, found.problem
    return found.told


def developers_copy(desk: Desk, out: str) -> list[Path]:
    choice = ReportChoice(audience="developer", algorithm="A1")
    return report_kept(StudyOrder(desk.sealed, SECRET, "Dee"), choice, desk.folder / out)


def test_no_copy_is_made_of_an_older_answer_and_a_new_answer_costs_nothing(desk: Desk) -> None:
    with pytest.raises(InputError, match="did not tell undecided from failed") as refused:
        developers_copy(desk, "older")
    assert "costs nothing" in str(refused.value)
    assert evaluated(desk, force=True)["verdict"] == "undecided"
    assert [len(one.looks) for one in read_audit(desk.sealed).uses] == [1]
    assert any(path.suffix == ".html" for path in developers_copy(desk, "newer"))


def test_a_roster_that_goes_on_does_not_take_over_an_older_answer(desk: Desk) -> None:
    with pytest.raises(InputError, match=r"holds another result \(feedback\.json\)"):
        evaluated(desk)
