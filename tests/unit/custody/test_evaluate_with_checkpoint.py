"""A log put back to an older state gives no second first evaluation if there is a checkpoint."""

import shutil
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import read_audit

pytest.importorskip("cryptography")


def ask(lab: SealedLab, marks: str, out: str = "feedback", *checkpoints: Path) -> int:
    order = SealedEvaluateOptions(
        lab.marks(marks, "scan0", marks),
        lab.sealed,
        person_key("Bo"),
        "Example",
        bootstraps=0,
        out=lab.folder / out,
        checkpoints=checkpoints,
    )
    return int(evaluate_sealed(order)[0]["budget"]["used"])


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def test_a_log_that_was_put_back_gives_no_evaluation_where_a_checkpoint_is_given(
    lab: SealedLab,
) -> None:
    shutil.copytree(lab.sealed, lab.folder / "older")
    assert ask(lab, "first.csv", "first") == 1
    checkpoint = lab.folder / "first" / "checkpoint.json"
    shutil.rmtree(lab.sealed)
    shutil.copytree(lab.folder / "older", lab.sealed)
    with pytest.raises(InputError, match=r"checkpoint\.json: says that the log has 3 events, but"):
        ask(lab, "two.csv", "second", checkpoint)
    assert [event.step for event in read_audit(lab.sealed).events] == ["sealed"]
    assert not (lab.folder / "second").exists()


def test_a_log_that_goes_on_holds_what_its_checkpoints_say(lab: SealedLab) -> None:
    assert ask(lab, "first.csv", "first") == 1
    assert ask(lab, "two.csv", "second", lab.folder / "first" / "checkpoint.json") == 2


def test_an_invalid_checkpoint_is_reported_before_an_evaluation_is_charged(lab: SealedLab) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read: No such file"):
        ask(lab, "first.csv", "first", lab.folder / "nothing.json")
    (lab.folder / "other.json").write_text("{}\n")
    with pytest.raises(InputError, match=r"other\.json: is not a checkpoint, or was changed"):
        ask(lab, "first.csv", "first", lab.folder / "other.json")
    assert read_audit(lab.sealed).uses == ()
