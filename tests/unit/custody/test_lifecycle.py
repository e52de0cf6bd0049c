"""A retired set gives no looks; a copy is worth what a checkpoint says that it lacks."""

import shutil
from pathlib import Path

import pytest

from builders.sealed import SECRET, Desk, make_desk
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.lifecycle import export_reference, restore_check, retire
from nodulebench.custody.verify import read_audit, verify_sealed, write_checkpoint

pytest.importorskip("cryptography")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = make_desk(tmp_path)
    made.seal()
    return made


def look(desk: Desk, name: str, *hits: str) -> None:
    marks = desk.marks(name, *hits)
    evaluate_sealed(
        SealedEvaluateOptions(marks, desk.sealed, SECRET, "Bo", "Example", bootstraps=0)
    )


def test_a_retired_set_gives_no_looks_and_says_why(desk: Desk) -> None:
    look(desk, "one.csv", "scan0")
    assert retire(desk.sealed, SECRET, "Ada", " twenty looks ").facts == {"reason": "twenty looks"}
    with pytest.raises(InputError, match=r"was retired on .* \(event 4\): twenty looks"):
        look(desk, "two.csv", "scan1")
    assert [event.step for event in read_audit(desk.sealed).events][-2:] == ["retired", "refused"]
    assert export_reference(desk.sealed, SECRET, "Ada", "archive", desk.folder / "plain") == 3
    assert verify_sealed(desk.sealed, secret=SECRET).is_good
    with pytest.raises(InputError, match="is retired already"):
        retire(desk.sealed, SECRET, "Ada", "again")


def test_only_a_curator_retires_and_gives_a_reason(desk: Desk) -> None:
    with pytest.raises(InputError, match="'Bo' is operator, and may not retire"):
        retire(desk.sealed, SECRET, "Bo", "x")
    with pytest.raises(InputError, match="has no reason"):
        retire(desk.sealed, SECRET, "Ada", "")


def test_a_copy_says_what_would_be_lost(desk: Desk) -> None:
    copy, checkpoint = desk.folder / "copy", desk.folder / "checkpoint.json"
    look(desk, "one.csv", "scan0")
    shutil.copytree(desk.sealed, copy)
    write_checkpoint(desk.sealed, checkpoint)
    found = restore_check(copy, [checkpoint], SECRET)
    assert (found.is_good, found.events, found.lost, found.looks) == (True, 3, 0, 1)
    assert found.opens
    look(desk, "two.csv", "scan1")
    old = desk.folder / "old.json"
    shutil.copy(checkpoint, old)
    write_checkpoint(desk.sealed, checkpoint)
    found = restore_check(copy, [old, checkpoint], SECRET)
    assert (found.is_good, found.lost, found.problems) == (False, 2, ())
    assert restore_check(copy, []).expected == 0


def test_a_damaged_copy_or_one_of_another_set_is_not_good(desk: Desk, tmp_path: Path) -> None:
    copy, checkpoint = desk.folder / "copy", desk.folder / "checkpoint.json"
    write_checkpoint(desk.sealed, checkpoint)
    shutil.copytree(desk.sealed, copy)
    file = copy / "data" / "sealed" / "nodules.parquet.sealed"
    file.write_bytes(file.read_bytes()[:-1])
    found = restore_check(copy, [checkpoint], SECRET)
    assert not found.is_good
    assert "nodules.parquet.sealed" in str(found.problems[0])
    other = make_desk(tmp_path / "other")
    other.seal()
    assert "belongs to another log" in str(restore_check(other.sealed, [checkpoint]).problems[0])
    checkpoint.write_text("{}")
    with pytest.raises(InputError, match="is no checkpoint, or was changed"):
        restore_check(copy, [checkpoint])
