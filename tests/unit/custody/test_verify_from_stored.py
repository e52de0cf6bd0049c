"""A folder made from stored results verifies, and changes in it are found."""

import json
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed_study import StudyLab, evaluated_study
from nodulebench.custody.study_reports import compare_stored, report_stored, verify_from_stored
from nodulebench.custody.withdrawal import withdraw
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.report import ReportChoice
from nodulebench.evaluation.verify import Verification
from nodulebench.io.manifests import write_manifest
from nodulebench.security.signatures import sign_folder

pytest.importorskip("cryptography")
REUSE = """
[reuse]
feedback = "metrics"

[roster]
shows_others = true
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> StudyLab:
    lab = evaluated_study(tmp_path_factory.mktemp("study"), REUSE, algorithms=2)
    choice = ComparisonChoice("A1", ("recall",), None, 20, 0)
    compare_stored(lab.study_options(), choice, lab.folder / "lab")
    own = ReportChoice(audience="developer", algorithm="A2")
    report_stored(lab.study_options(), own, lab.folder / "copy")
    return lab


def again(lab: StudyLab, name: str, person: str = "Cem") -> Verification:
    folder = lab.folder / name
    return verify_from_stored(folder, sealed=lab.sealed, own_key=person_key(person))


@pytest.mark.parametrize("name", ["lab", "copy"])
def test_everything_comes_out_the_same(lab: StudyLab, name: str) -> None:
    verified = again(lab, name)
    assert verified.is_good, (verified.problems, verified.differences)
    assert verified.from_originals is not None
    assert verified.from_originals.values > 100


def test_without_the_set_files_and_signature_are_checked(lab: StudyLab) -> None:
    sign_folder(lab.folder / "copy", lab.key_file("Ada"), by="lab")
    verified = verify_from_stored(lab.folder / "copy", public_key=lab.public_key)
    assert verified.is_good, verified.problems
    assert verified.signature is not None


def test_a_changed_number_is_found_although_the_manifest_agrees(lab: StudyLab) -> None:
    path = lab.folder / "lab" / "evaluation.json"
    before = path.read_text()
    document = json.loads(before)
    metric = document["algorithms"][0]["rules"]["center_hit"]["metrics"]["recall"]
    metric["value"] += 0.01
    path.write_text(json.dumps(document))
    write_manifest(path.parent)
    verified = again(lab, "lab")
    assert any("recall" in str(difference) for difference in verified.differences)
    path.write_text(before)
    write_manifest(path.parent)


def test_results_that_the_log_does_not_have_are_refused(lab: StudyLab, tmp_path: Path) -> None:
    note = json.loads((lab.folder / "lab" / "evaluations.json").read_text())
    note["evaluations"][0]["result"] = "sha256:" + "0" * 64
    (tmp_path / "evaluations.json").write_text(json.dumps(note))
    verified = verify_from_stored(tmp_path, sealed=lab.sealed, own_key=person_key("Cem"))
    assert any("names results that the sealed set" in str(problem) for problem in verified.problems)


@pytest.mark.parametrize(
    "changed",
    [
        {"evaluations": []},
        {"evaluations": 7},
        {"evaluations": [7]},
        {"evaluations": [{"evaluation": [2], "result": "x"}]},
        {"evaluations": [{"evaluation": 2}]},
        {"audience": None},
    ],
    ids=str,
)
def test_a_note_that_names_no_evaluations_is_reported(
    lab: StudyLab, tmp_path: Path, changed: dict[str, object]
) -> None:
    note = json.loads((lab.folder / "lab" / "evaluations.json").read_text())
    (tmp_path / "evaluations.json").write_text(json.dumps({**note, **changed}))
    verified = verify_from_stored(tmp_path, sealed=lab.sealed, own_key=person_key("Cem"))
    assert any("does not name the evaluations" in str(problem) for problem in verified.problems)


def test_a_reporter_does_not_check_the_own_work(lab: StudyLab) -> None:
    verified = again(lab, "lab", "Dee")
    assert any("may not inspect" in str(problem) for problem in verified.problems)


@pytest.mark.slow
def test_a_report_with_a_patient_who_was_withdrawn_is_not_computed_again(tmp_path: Path) -> None:
    lab = evaluated_study(tmp_path, REUSE, algorithms=2)
    report_stored(lab.study_options(), ReportChoice(), lab.folder / "lab")
    assert again(lab, "lab").is_good
    withdraw(lab.sealed, person_key("Ada"), cases=["case0003"], reason="asked for")
    verified = again(lab, "lab")
    assert verified.from_originals is None
    messages = [str(problem) for problem in verified.problems]
    assert messages[0].startswith("evaluation 2: was made with cases that were withdrawn since")
    assert len(messages) == 2  # one per evaluation
    assert verify_from_stored(lab.folder / "lab").is_good  # its files are as they were
