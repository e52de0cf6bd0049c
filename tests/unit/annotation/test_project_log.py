"""What a person with write access to a project folder can do unseen: one test per defence."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.annotation_project import LONE, SHARED, Panel
from nodulebench.annotation.actions import Event, event_of
from nodulebench.annotation.project import audit_project, checkpoint_project
from nodulebench.annotation.release import export_released
from nodulebench.annotation.steps import step_of
from nodulebench.core.errors import InputError
from nodulebench.io.bundle import read_reference
from nodulebench.io.manifests import bytes_digest
from nodulebench.security import event_index as indexed
from nodulebench.security.event_log import FolderStore, Stored
from nodulebench.security.events import Checkpoint, parsed
from nodulebench.security.signatures import new_key

pytest.importorskip("cryptography")


@pytest.fixture(scope="module", params=[False, True], ids=["no keys", "keys"])
def made(request, tmp_path_factory: pytest.TempPathFactory) -> Panel:
    panel = Panel(tmp_path_factory.mktemp("panel"), request.param).start("a").to_release()
    new_key(panel.folder / "auditor.pem")
    checkpoint_project(panel.handle(), panel.folder / "plain.checkpoint")
    key = panel.folder / "auditor.pem"
    checkpoint_project(panel.handle(), panel.folder / "signed.checkpoint", key=key, by="Notary")
    return panel


@pytest.fixture
def panel(made: Panel, tmp_path: Path) -> Panel:
    """A copy that may be tampered with."""
    shutil.copytree(made.folder, tmp_path / "copy")
    return Panel(tmp_path / "copy", made.has_keys)


def problems_of(panel: Panel, *checkpoints: str, public_key: Path | None = None) -> list[str]:
    audit = audit_project(
        panel.handle(), [panel.folder / checkpoint for checkpoint in checkpoints], public_key
    )
    return [str(problem).replace(f"{panel.folder}/", "") for problem in audit.problems]


def events_of(panel: Panel) -> list[Event]:
    return panel.handle().log.log.check().events


def write(panel: Panel, events: list[Event]) -> None:
    """Rewrite a log with everything that needs no key: digests, chain and head."""
    folder = panel.project / "events"
    for path in folder.glob("*.json"):
        path.unlink()
    (panel.project / "events.index.json").unlink(missing_ok=True)
    previous = events[0].previous
    for number, event in enumerate(events, start=1):
        event = event.model_copy(update={"number": number, "previous": previous})
        (folder / f"{number:08d}.json").write_bytes(event.to_bytes())
        previous = event.digest
    log = Panel(panel.folder).handle().log.log if not panel.has_keys else panel.handle().log.log
    object.__setattr__(log, "signer", None)
    log.write_head(log.check().events, events[-1].person)


def test_an_unchanged_log_has_no_problems(panel: Panel) -> None:
    public = panel.folder / "auditor.pub.pem"
    assert problems_of(panel, "plain.checkpoint", "signed.checkpoint") == []
    assert problems_of(panel, "signed.checkpoint", public_key=public) == []
    assert len(events_of(panel)) == 12


def test_the_last_event_cannot_be_deleted(panel: Panel) -> None:
    (panel.project / "events" / "00000012.json").unlink()
    cut = "events/head.json: says that the log has 12 events, but it ends with 11: it was cut off."
    assert any(cut in message for message in problems_of(panel))
    with pytest.raises(InputError, match="it was cut off"):
        panel.handle().batch("b1")


def test_the_last_event_cannot_be_changed(panel: Panel) -> None:
    path = panel.project / "events" / "00000012.json"
    event = Event.model_validate_json(path.read_bytes())
    path.write_bytes(event.model_copy(update={"person": "judge2"}).to_bytes())
    assert problems_of(panel) != []
    with pytest.raises(InputError, match=r"states another digest of event 12|not signed by"):
        panel.handle().batch("b1")


def flip_the_ruling(panel: Panel) -> None:
    events = events_of(panel)
    place = next(at for at, event in enumerate(events) if event.step == "arbitrate")
    payload = {**events[place].payload, "is_nodule": True, "type": "calcified"}
    events[place] = events[place].model_copy(update={"payload": payload})
    write(panel, events)


def test_a_forged_chain_is_found_by_signature_or_checkpoint(
    panel: Panel,
) -> None:
    flip_the_ruling(panel)
    reads_otherwise = "states another digest of event 12"
    assert any(reads_otherwise in message for message in problems_of(panel, "plain.checkpoint"))
    audit = audit_project(panel.handle())
    if panel.has_keys:
        assert any("was not signed by 'judge1'" in str(problem) for problem in audit.problems)
        with pytest.raises(InputError, match="was not signed by 'judge1'"):
            panel.handle().batch("b1")
    else:  # which is reported
        assert not audit.problems
        assert {notice.code for notice in audit.notices} == {
            "log_unsigned",
            "log_without_checkpoint",
        }


def test_a_log_put_back_with_its_head_is_found_by_a_checkpoint(panel: Panel) -> None:
    write(panel, events_of(panel)[:9])
    if panel.has_keys:  # the head cannot be made by who has no key
        assert any("head.json: was changed" in message for message in problems_of(panel))
    assert any(
        "plain.checkpoint: says that the log has 12 events, but it ends with 9" in message
        for message in problems_of(panel, "plain.checkpoint")
    )


def test_people_and_rules_cannot_be_changed_behind_the_log(panel: Panel) -> None:
    path = panel.project / "project.json"
    project = json.loads(path.read_text())
    next(person for person in project["roster"]["people"] if person["person_id"] == "r1")[
        "roles"
    ] = [
        "junior",
        "arbitrator",
    ]
    project["rules"]["requires_seniority"] = False
    path.write_text(json.dumps(project))
    assert any(
        "00000001.json: does not follow from the project" in message
        for message in problems_of(panel)
    )


def test_a_step_that_was_not_allowed_is_found(panel: Panel) -> None:
    events = events_of(panel)
    without = [event for event in events if event.step != "arbitrate"]
    write(panel, without)
    if not panel.has_keys:
        (problem,) = problems_of(panel)
        assert "events/00000011.json: was not allowed: batch 'b1': has 1 open dispute" in problem
    else:
        assert problems_of(panel) != []


def test_a_signature_cannot_be_stripped_from_a_checkpoint(panel: Panel) -> None:
    public = panel.folder / "auditor.pub.pem"
    path = panel.folder / "signed.checkpoint"
    checkpoint = parsed(Checkpoint, path.read_bytes())
    assert checkpoint is not None
    assert checkpoint.signed is not None
    assert checkpoint.signed.by == "Notary"
    changes = {
        "its signature is invalid": {"events": 10, "digest": events_of(panel)[9].digest},
        "its signature is invalid.": {"code": "xx"},
        "its signature does not match its statement": {"signed": None},
        "does not match its statement about the signer": {"code": ""},
    }
    for words, change in changes.items():
        path.write_bytes(checkpoint.model_copy(update=change).to_bytes())
        (problem,) = problems_of(panel, "signed.checkpoint")
        assert words in problem
    bare = checkpoint.model_copy(update={"signed": None, "code": ""})
    path.write_bytes(bare.to_bytes())
    (problem,) = problems_of(panel, "signed.checkpoint", public_key=public)
    assert "is not signed, so anyone could have made it" in problem
    path.write_bytes(bare.model_copy(update={"schema_name": "nodulebench/checkpoint@1"}).to_bytes())
    (problem,) = problems_of(panel, "signed.checkpoint", public_key=public)
    assert "is not a checkpoint, or was changed" in problem
    new_key(panel.folder / "other.pem")
    path.unlink()
    checkpoint_project(panel.handle(), path, key=panel.folder / "other.pem", by="Notary")
    (problem,) = problems_of(panel, "signed.checkpoint", public_key=public)
    assert "is signed, but not by auditor.pub.pem" in problem


def test_an_older_checkpoint_is_checked_before_it_is_replaced(panel: Panel) -> None:
    flip_the_ruling(panel)
    with pytest.raises(InputError, match=r"states another digest|was not signed by"):
        checkpoint_project(panel.handle(), panel.folder / "plain.checkpoint")
    with pytest.raises(InputError, match="is in the project folder"):
        checkpoint_project(panel.handle(), panel.project / "mine.checkpoint")


@pytest.mark.parametrize("name", ["1².json", "notes.txt", "1.json"])
def test_foreign_files_among_the_events_are_reported(panel: Panel, name: str) -> None:
    (panel.project / "events" / name).write_text("x")
    assert problems_of(panel) == [
        f"panel/events/{name}: does not belong among the events: it was added. Move it elsewhere."
    ]
    assert panel.handle().batch("b1").is_released


def test_dates_that_go_backwards_are_reported(tmp_path: Path) -> None:
    panel = Panel(tmp_path).start("a").to_release()
    events = events_of(panel)
    early = events[5].at.replace(year=events[5].at.year - 1)
    events[5] = events[5].model_copy(update={"at": early})
    write(panel, events)
    (problem,) = problems_of(panel)
    assert "00000006.json: is dated" in problem
    assert panel.handle().batch("b1").is_released


def test_no_one_signs_for_another(tmp_path: Path) -> None:
    panel = Panel(tmp_path, has_keys=True).start("a")
    panel.opens("a")
    from nodulebench.annotation.steps import submit_case

    path = panel.file("r1", {"a": [SHARED, LONE]})
    with pytest.raises(InputError, match="person 'r1': must sign, but no key was given"):
        submit_case(panel.handle(), "b1", "r1", path)
    with pytest.raises(InputError, match=r"person 'r1': has the key SHA256:.*, but SHA256:.* was"):
        submit_case(panel.handle("r2"), "b1", "r1", path)
    assert [event.step for event in panel.handle().log.read()] == ["open"]
    plain = Panel(tmp_path / "plain").start("a")
    from nodulebench.annotation.project import open_project

    with pytest.raises(InputError, match="names no keys, so that steps are not signed"):
        open_project(plain.project, tmp_path / "r1")


def test_a_named_reviewer_and_a_second_draw_are_reported(tmp_path: Path) -> None:
    panel = Panel(tmp_path).start("a", "b")
    panel.opens("a", batch="b1", reviewer="lead2")
    panel.opens("a", batch="b2")
    panel.opens("b", batch="b3")
    audit = audit_project(panel.handle(), [])
    assert audit.problems == ()
    codes = {notice.code: dict(notice.values) for notice in audit.notices}
    assert codes["reviewer_named"] == {"reader": "lead2", "batch": "b1"}
    assert codes["cases_opened_again"] == {"batches": ["b1", "b2"]}


def test_a_reviewer_who_was_not_drawn_is_reported(tmp_path: Path) -> None:
    panel = Panel(tmp_path).start("a")
    panel.opens("a")
    for person in ("r1", "r2", "r3"):
        panel.reads(person, {"a": [SHARED]})
    panel.draws()
    events = events_of(panel)
    assert events[-1].change == "lead2 was drawn to review"
    payload = {**events[-1].payload, "reviewer_id": "lead1"}
    write(panel, [*events[:-1], events[-1].model_copy(update={"payload": payload})])
    (problem,) = problems_of(panel)
    assert "00000005.json: has another result than follows from what was submitted." in problem


def test_a_reviewer_is_drawn_or_named(tmp_path: Path) -> None:
    panel = Panel(tmp_path).start("a")
    order = {"team_id": "one", "case_ids": ["a"]}
    with pytest.raises(InputError, match="has no reviewer"):
        panel.act("office", "open", **order)
    with pytest.raises(InputError, match="has a reviewer and a commitment to draw one"):
        panel.act("office", "open", **order, reviewer_id="lead2", commitment="0" * 64)


def test_opening_a_batch_reads_only_that_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "REWRITE_EVERY", 4)
    panel = Panel(tmp_path).start("a", "b")
    for number in range(12):
        panel.opens("a", batch=f"b{number}")
    read: list[int] = []
    whole = FolderStore.read_event

    def counted(self: FolderStore, number: int) -> Stored | None:
        read.append(number)
        return whole(self, number)

    monkeypatch.setattr(FolderStore, "read_event", counted)
    panel.handle().batch("b3")
    assert sorted(set(read)) == [4, 12, 13]  # its own, the last that is known, and what may follow
    read.clear()
    panel.reads("r1", {"a": [SHARED]}, batch="b3")
    assert set(read) <= {4, 12, 13, 14}


def forge(panel: Panel, person: str, **payload: object) -> None:
    """Write an event without a check whether it is allowed, signed by its author."""
    action, handle = step_of({"batch_id": "b1", "case_id": "a", **payload}), panel.handle(person)
    handle.log.append(
        lambda view: event_of(
            view.next_number,
            view.last_digest,
            person,
            action,
            datetime.now(UTC),
            handle.log.log.signer,
        )
    )


def test_what_was_not_allowed_is_not_exported(panel: Panel) -> None:
    forge(panel, "r1", step="arbitrate", candidate_id="candidate-2", is_nodule=True)
    with pytest.raises(InputError, match=r"00000013\.json: was not allowed"):
        export_released(panel.handle(), panel.folder / "reference")
    assert not (panel.folder / "reference").exists()


def test_an_index_that_leaves_out_a_step_changes_nothing_that_is_exported(panel: Panel) -> None:
    events, handle = events_of(panel), panel.handle("r1")
    hidden = next(event.number for event in events if event.step == "type")
    index = indexed.Index(
        root=handle.log.log.root,
        digests=[event.digest for event in events],
        labels={"b1": [event.number for event in events if event.number != hidden]},
        person="r1",
    )
    content, seal = index.unsigned_bytes, handle.log.log.signer
    code = bytes_digest(content) if seal is None else seal.make(content, "r1")
    forged = index.model_copy(update={"code": code})
    (panel.project / "events.index.json").write_text(forged.model_dump_json())
    export_released(panel.handle(), panel.folder / "reference")
    assert read_reference(panel.folder / "reference").nodules["type"].to_list() == ["solid"]
