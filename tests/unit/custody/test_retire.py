"""A retired set permits no evaluations; a checkpoint shows what a copy lacks."""

import shutil
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.sealed_set import export_reference, retire
from nodulebench.custody.verify import check_copy, read_audit, verify_sealed, write_checkpoint

pytest.importorskip("cryptography")


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    made = make_lab(tmp_path)
    made.seal()
    return made


def evaluate_marks(lab: SealedLab, name: str, *hits: str) -> None:
    marks = lab.marks(name, *hits)
    evaluate_sealed(
        SealedEvaluateOptions(marks, lab.sealed, person_key("Bo"), "Example", bootstraps=0)
    )


def test_a_retired_set_gives_no_evaluations_and_says_why(lab: SealedLab) -> None:
    evaluate_marks(lab, "first.csv", "scan0")
    assert retire(lab.sealed, person_key("Ada"), " twenty evaluations ").facts == {
        "reason": "twenty evaluations"
    }
    with pytest.raises(InputError, match=r"was retired on .* \(event 4\): twenty evaluations"):
        evaluate_marks(lab, "two.csv", "scan1")
    assert [event.step for event in read_audit(lab.sealed).events][-2:] == ["retired", "refused"]
    assert export_reference(lab.sealed, person_key("Ada"), "archive", lab.folder / "plain") == 3
    assert verify_sealed(lab.sealed, own_key=person_key("Safe")).is_good
    with pytest.raises(InputError, match="is already retired"):
        retire(lab.sealed, person_key("Ada"), "again")


def test_only_a_curator_retires_and_gives_a_reason(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="'Bo' is operator and may not retire"):
        retire(lab.sealed, person_key("Bo"), "x")
    with pytest.raises(InputError, match="has no reason"):
        retire(lab.sealed, person_key("Ada"), "")


def test_a_copy_says_what_would_be_lost(lab: SealedLab) -> None:
    copy, checkpoint = lab.folder / "copy", lab.folder / "checkpoint.json"
    evaluate_marks(lab, "first.csv", "scan0")
    shutil.copytree(lab.sealed, copy)
    write_checkpoint(lab.sealed, checkpoint)
    check = check_copy(copy, [checkpoint], person_key("Safe"))
    assert (check.is_good, check.events, check.lost, check.evaluations) == (True, 3, 0, 1)
    assert check.opens
    evaluate_marks(lab, "two.csv", "scan1")
    old = lab.folder / "old.json"
    shutil.copy(checkpoint, old)
    write_checkpoint(lab.sealed, checkpoint)
    check = check_copy(copy, [old, checkpoint], person_key("Safe"))
    assert (check.is_good, check.lost, check.problems) == (False, 2, ())
    assert check_copy(copy, []).expected == 0


def test_a_damaged_copy_or_one_of_another_set_is_not_good(lab: SealedLab, tmp_path: Path) -> None:
    copy, checkpoint = lab.folder / "copy", lab.folder / "checkpoint.json"
    write_checkpoint(lab.sealed, checkpoint)
    shutil.copytree(lab.sealed, copy)
    file = copy / "data" / "sealed" / "nodules.parquet.sealed"
    file.write_bytes(file.read_bytes()[:-1])
    check = check_copy(copy, [checkpoint], person_key("Safe"))
    assert not check.is_good
    assert "nodules.parquet.sealed" in str(check.problems[0])
    other = make_lab(tmp_path / "other")
    other.seal()
    assert "belongs to another log" in str(check_copy(other.sealed, [checkpoint]).problems[0])
    checkpoint.write_text("{}")
    with pytest.raises(InputError, match="is not a checkpoint, or was changed"):
        check_copy(copy, [checkpoint])
