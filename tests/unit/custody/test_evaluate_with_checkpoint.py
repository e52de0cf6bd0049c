"""A log put back to an older state gives no second first evaluation if there is a checkpoint."""

import shutil
from pathlib import Path

import pytest

from builders.sealed import SECRET, Desk, make_desk
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import read_audit

pytest.importorskip("cryptography")


def ask(desk: Desk, marks: str, out: str = "told", *checkpoints: Path) -> int:
    order = SealedEvaluateOptions(
        desk.marks(marks, "scan0", marks),
        desk.sealed,
        SECRET,
        "Bo",
        "Example",
        bootstraps=0,
        out=desk.folder / out,
        checkpoints=checkpoints,
    )
    return int(evaluate_sealed(order)[0]["looks"]["look"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = make_desk(tmp_path)
    desk.seal()
    return desk


def test_a_log_that_was_put_back_gives_no_look_where_a_checkpoint_is_given(desk: Desk) -> None:
    shutil.copytree(desk.sealed, desk.folder / "older")
    assert ask(desk, "one.csv", "first") == 1
    checkpoint = desk.folder / "first" / "checkpoint.json"
    shutil.rmtree(desk.sealed)
    shutil.copytree(desk.folder / "older", desk.sealed)
    with pytest.raises(InputError, match=r"checkpoint\.json: says that the log has 3 events, but"):
        ask(desk, "two.csv", "second", checkpoint)
    assert [event.step for event in read_audit(desk.sealed).events] == ["sealed"]
    assert not (desk.folder / "second").exists()


def test_a_log_that_goes_on_holds_what_its_checkpoints_say(desk: Desk) -> None:
    assert ask(desk, "one.csv", "first") == 1
    assert ask(desk, "two.csv", "second", desk.folder / "first" / "checkpoint.json") == 2


def test_what_is_no_checkpoint_is_told_before_a_look_is_charged(desk: Desk) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read: No such file"):
        ask(desk, "one.csv", "first", desk.folder / "nothing.json")
    (desk.folder / "other.json").write_text("{}\n")
    with pytest.raises(InputError, match=r"other\.json: is no checkpoint, or was changed"):
        ask(desk, "one.csv", "first", desk.folder / "other.json")
    assert read_audit(desk.sealed).uses == ()
