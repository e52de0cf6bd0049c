"""A withdrawn patient is in no file of the set; stored results with them are deleted."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody import changes as changes_module
from nodulebench.custody import layout
from nodulebench.custody import withdrawal as withdraw_module
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.events import withdrawn_since
from nodulebench.custody.keys import rekey
from nodulebench.custody.sealed_set import export_reference, open_sealed
from nodulebench.custody.stored_results import open_result
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.custody.withdrawal import withdraw
from nodulebench.io.bundle import read_reference, write_reference

pytest.importorskip("pyrage")


@pytest.fixture(scope="module", params=["plain images", "encrypted images"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    lab = make_lab(tmp_path_factory.mktemp("keyed"))
    reference = read_reference(lab.bundle)
    patients = pl.Series("patient_id", ["P0", "P1", "P1", None])
    write_reference(replace(reference, cases=reference.cases.with_columns(patients)), lab.bundle)
    (lab.bundle / "readings.csv").write_text("case_id,x\nscan0,1\nscan1,2\n")
    (lab.bundle / "letter.txt").write_text("scan1 was read twice")
    lab.seal(encrypts_images=request.param == "encrypted images")
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0", "scan1"))
    return lab


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path) -> SealedLab:
    shutil.copytree(made.folder, tmp_path / "lab")
    return SealedLab(tmp_path / "lab")


def test_a_withdrawn_case_is_in_no_file_of_the_set(lab: SealedLab) -> None:
    done = withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="consent withdrawn")
    assert (done.cases, done.files) == (("scan1",), 2)  # an image, and the letter
    verified = verify_sealed(lab.sealed, own_key=lab.key("Safe"))
    assert verified.is_good, verified.problems
    names = [path.as_posix() for path in lab.sealed.rglob("*")]
    assert not [name for name in names if "scan1" in name or "letter" in name]
    assert any("scan0" in name for name in names)
    plain = lab.folder / "plain"
    export_reference(lab.sealed, lab.key("Ada"), "new reading", plain)
    assert (plain / "readings.csv").read_text() == "case_id,x\nscan0,1\n"
    reference = read_reference(plain)
    assert reference.cases["case_id"].to_list() == ["scan0", "scan2", "scan3"]
    assert reference.nodules["case_id"].to_list() == ["scan0", "scan2", "scan3"]
    for name in ("data/cases.csv", "datasheet.md", "datasheet.json", "manifest-sha256.txt"):
        assert "scan1" not in (lab.sealed / name).read_text()
    sheet = json.loads((lab.sealed / "datasheet.json").read_text())
    assert sheet["answers"]["cases"]["answer"] == "3 cases of 3 patients."
    assert "Each person has their own key" in sheet["answers"]["storage"]["answer"]
    assert json.loads((lab.sealed / "sealed.json").read_text())["cases"] == 3


def test_all_cases_of_a_patient_go(lab: SealedLab) -> None:
    done = withdraw(lab.sealed, lab.key("Ada"), patient="P1", reason="x")
    assert done.cases == ("scan1", "scan2")
    left = open_sealed(lab.sealed, lab.key("Bo"), "evaluate").reference()
    assert left.cases["case_id"].to_list() == ["scan0", "scan3"]


def test_stored_results_with_the_patient_are_deleted(lab: SealedLab) -> None:
    (stored_file,) = (lab.sealed / layout.RESULTS).iterdir()
    left = lab.sealed / layout.result_file(77)
    left.write_bytes(b"of a killed evaluation")
    done = withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    assert (done.evaluations, done.event.facts["erased_evaluations"]) == (1, 1)
    assert not stored_file.exists()
    assert not left.exists()
    verified = verify_sealed(lab.sealed, own_key=lab.key("Safe"))
    assert verified.is_good, verified.problems
    with pytest.raises(InputError, match="was deleted: it was made with scan1, withdrawn since"):
        open_result(lab.sealed, lab.key("Cem"), 2)
    answer, _ = evaluate_sealed(lab.evaluate_options("mine.csv", "scan0", "scan1"))
    assert answer["budget"]["used"] == 1  # the same evaluation, without the patient
    rekey(lab.sealed, lab.key("Safe"))
    withdraw(lab.sealed, lab.key("Ada"), cases=["scan2"], reason="y")
    verified = verify_sealed(lab.sealed, own_key=lab.key("Safe"))
    assert verified.is_good, verified.problems
    assert not (lab.sealed / layout.RESULTS).exists()


def test_a_stored_evaluation_without_withdrawal_is_missed_all_the_same(lab: SealedLab) -> None:
    withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))
    (stored_file,) = (lab.sealed / layout.RESULTS).iterdir()
    stored_file.unlink()
    (problem,) = verify_sealed(lab.sealed, own_key=lab.key("Safe")).problems
    assert "is named by event" in str(problem)


def test_an_evaluation_that_ends_meanwhile_is_not_left_with_the_patient(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = withdraw_module._descriptions

    def overtaken(*given: Any) -> None:
        evaluate_sealed(lab.evaluate_options("more.csv", "scan1"))
        real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(withdraw_module, "_descriptions", overtaken)
        with pytest.raises(InputError, match="has a new evaluation by another process"):
            withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    done = withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    assert done.evaluations == 2


def test_later_evaluations_are_without_it_and_what_an_older_version_left_is_marked(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(withdraw_module, "sealed_results", lambda _: [])  # it erased nothing
    withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    answer, _ = evaluate_sealed(lab.evaluate_options("more.csv", "scan0", "scan2", "scan3"))
    assert answer["metrics"]["luna16.recall"]["value"] == 1.0
    events = read_audit(lab.sealed).events
    assert withdrawn_since(events, 2) == ("scan1",)
    assert withdrawn_since(events, 5) == ()
    shown = open_result(lab.sealed, lab.key("Cem"), 2)
    assert shown["withdrawn_since"] == ["scan1"]
    assert "withdrawn_since" not in open_result(lab.sealed, lab.key("Cem"), 5)
    assert verify_sealed(lab.sealed, own_key=lab.key("Safe")).is_good


def test_a_withdrawal_killed_half_way_is_completed(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = Path.replace, 0

    def killed(self: Path, target: Path) -> Path:
        nonlocal count
        if ".part/files" in self.as_posix():
            count += 1
            if count == 3:
                raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(changes_module.Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x")
    monkeypatch.undo()
    assert not verify_sealed(lab.sealed).is_good
    left = open_sealed(lab.sealed, lab.key("Bo"), "evaluate").reference()
    assert left.cases.height == 3
    verified = verify_sealed(lab.sealed, own_key=lab.key("Safe"))
    assert verified.is_good, verified.problems


@pytest.mark.parametrize(
    ("person", "asked", "message"),
    [
        ("Bo", {"cases": ["scan1"]}, "may not withdraw"),
        ("Safe", {"cases": ["scan1"]}, "may not withdraw"),
        ("Ada", {"cases": ["scan9"]}, "the set has no 'scan9'"),
        ("Ada", {"patient": "P9"}, "the set has no 'P9'"),
        ("Ada", {}, "takes cases or a patient"),
        ("Ada", {"cases": ["scan0", "scan1", "scan2", "scan3"]}, "would remove all cases"),
        ("Ada", {"cases": ["scan1"], "reason": " "}, "has no reason"),
    ],
)
def test_what_cannot_be_withdrawn_is_refused(
    lab: SealedLab, person: str, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        withdraw(lab.sealed, lab.key(person), **{"reason": "x", **asked})  # type: ignore[arg-type]
    assert verify_sealed(lab.sealed).is_good
