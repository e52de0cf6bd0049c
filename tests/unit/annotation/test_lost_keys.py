"""A lost key is replaced or revoked by an event; signatures after that are reported."""

from pathlib import Path

import pytest

from builders.annotation_project import SHARED, Panel
from nodulebench.annotation.actions import KEYS, ChangeKey, OpenBatch, event_of
from nodulebench.annotation.project import audit_project, change_key, open_project
from nodulebench.annotation.steps import submit_case
from nodulebench.core.errors import InputError
from nodulebench.security import event_index as indexed
from nodulebench.security.event_signers import PersonSigner
from nodulebench.security.keys import (
    new_person_key,
    read_private_key,
    read_public_key,
)

pytest.importorskip("bcrypt")


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    made = Panel(tmp_path, has_keys=True).start("a")
    made.opens("a")
    new_person_key(tmp_path / "new")
    return made


def changed(panel: Panel, by: str, person: str, new: str | None = "new", key: str = "") -> None:
    file = None if new is None else panel.folder / f"{new}.pub"
    handle = open_project(panel.project, panel.folder / (key or by))
    change_key(handle, by, person, file, reason="laptop stolen")


def submits(panel: Panel, key: str, person: str = "r1") -> None:
    handle = open_project(panel.project, panel.folder / key)
    submit_case(handle, "b1", person, panel.file(person, {"a": [SHARED]}))


def problems(panel: Panel) -> list[str]:
    return [str(problem) for problem in audit_project(panel.handle()).problems]


@pytest.mark.parametrize("stored_every", [1, 64], ids=["index", "no index"])
def test_a_replaced_key_signs_no_more_and_the_new_one_does(
    panel: Panel, monkeypatch: pytest.MonkeyPatch, stored_every: int
) -> None:
    monkeypatch.setattr(indexed, "REWRITE_EVERY", stored_every)
    panel.reads("r2", {"a": [SHARED]})
    changed(panel, "office", "r1")
    with pytest.raises(
        InputError, match=r"person 'r1': has the key SHA256:\S+, but SHA256:\S+ was given"
    ):
        submits(panel, "r1")
    submits(panel, "new")
    panel.reads("r3", {"a": [SHARED]})
    assert list(panel.handle().batches()) == ["b1"]
    assert panel.handle().batch("b1").state == "typing"
    assert problems(panel) == []


def test_a_key_that_was_taken_back_signs_no_more(panel: Panel) -> None:
    changed(panel, "office", "r1", None)
    with pytest.raises(InputError, match=r"has no key, so cannot sign\. It was revoked"):
        submits(panel, "r1")
    changed(panel, "office", "r1")  # and the person comes back with another
    submits(panel, "new")
    assert problems(panel) == []


def test_a_person_replaces_their_key_with_the_old_one(panel: Panel) -> None:
    changed(panel, "r1", "r1")
    submits(panel, "new")
    new_person_key(panel.folder / "other")
    changed(panel, "office", "office", "other")
    with pytest.raises(InputError, match=r"but SHA256:\S+ was given"):
        changed(panel, "office", "r2", None)
    changed(panel, "office", "r2", None, key="other")
    assert problems(panel) == []


@pytest.mark.parametrize(
    ("by", "person", "new", "why"),
    [
        ("r2", "r1", "new", "changes the key of 'r1', which only an organiser may do"),
        ("r2", "r1", None, "which only an organiser may do"),
        ("r2", "r2", None, "which only an organiser may do"),
        ("office", "office", None, "revokes their own key"),
        ("office", "nobody", "new", "changes the key of 'nobody', who is not in the roster"),
        ("office", "r1", "r2", "is the key of 'r2'"),
        ("office", "r1", "r1", "is the key of 'r1'"),
    ],
)
def test_what_may_not_be_changed(
    panel: Panel, by: str, person: str, new: str | None, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        changed(panel, by, person, new)
    assert len(panel.handle().log.read()) == 1


def forged(panel: Panel, actor: str, key: str, action: ChangeKey | OpenBatch) -> None:
    """Write an event with another program, which checks nothing and signs with any key."""
    handle = panel.handle()
    events, private = handle.log.read(), read_private_key(panel.folder / key)
    seal = PersonSigner({actor: private.public}, private)
    last = events[-1]
    event = event_of(len(events) + 1, last.digest, actor, action, last.at, seal)
    assert handle.log.log.append_event(event)


def test_a_reader_cannot_give_another_s_name_a_key_with_another_program(panel: Panel) -> None:
    line = read_public_key(panel.folder / "new.pub").line
    forged(panel, "r2", "r2", ChangeKey(person_id="judge1", key=line, reason="mine"))
    assert "changes the key of 'judge1', which only an organiser may do" in problems(panel)[0]
    with pytest.raises(InputError, match="which only an organiser may do"):
        panel.handle().batches()


def test_signatures_of_a_stolen_key_are_reported(panel: Panel) -> None:
    thief = OpenBatch(batch_id="b2", team_id="two", case_ids=("a",), reviewer_id="lead1")
    changed(panel, "office", "office", "new")
    forged(panel, "office", "office", thief)
    assert "was changed, or was not signed by 'office'" in problems(panel)[0]


def test_no_batch_is_called_as_the_program_calls_changes_of_keys(panel: Panel) -> None:
    with pytest.raises(InputError, match="is a reserved name"):
        panel.opens("a", batch=KEYS)
    with pytest.raises(InputError):
        panel.handle().batch(KEYS)


def test_without_keys_there_is_none_to_change(tmp_path: Path) -> None:
    panel = Panel(tmp_path).start("a")
    new_person_key(tmp_path / "new")
    with pytest.raises(InputError, match="though the project names none"):
        change_key(panel.handle(), "office", "r1", tmp_path / "new.pub", reason="x")
