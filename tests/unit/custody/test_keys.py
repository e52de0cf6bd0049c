"""Keys are replaced, revoked and admitted by events; what was signed before stays signed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.keyed import KeyedDesk, make_keyed_desk, new_person
from builders.sealed import make_desk
from nodulebench.core.errors import InputError
from nodulebench.custody import changes as changes_module
from nodulebench.custody import keys as key_changes
from nodulebench.custody.audit import Event, PolicySeal, log_of, next_event
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.keys import admit, list_keys, rekey, revoke, rotate
from nodulebench.custody.lifecycle import export_reference, open_result
from nodulebench.custody.policy import parse_policy
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.verify import read_audit, verify_sealed, write_checkpoint
from nodulebench.security.signatures import signature_code

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> KeyedDesk:
    desk = make_keyed_desk(tmp_path_factory.mktemp("keyed"))
    desk.seal()
    evaluate_sealed(desk.look("mine.csv", "scan0"))
    for name in ("Bo2", "Eve", "Dee"):
        new_person(desk, name)
    return desk


@pytest.fixture
def desk(made: KeyedDesk, tmp_path: Path) -> KeyedDesk:
    shutil.copytree(made.folder, tmp_path / "desk")
    return KeyedDesk(tmp_path / "desk")


def public(desk: KeyedDesk, person: str) -> Path:
    return desk.folder / f"{person.lower()}.key.pub"


def is_good(desk: KeyedDesk) -> bool:
    for person in (None, "Ada", "Safe"):
        secret = None if person is None else desk.secret(person)
        found = verify_sealed(desk.sealed, secret=secret)
        assert found.is_good, found.problems
    return True


def test_a_person_replaces_their_own_key(desk: KeyedDesk) -> None:
    event = rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    assert (event.person, event.facts["subject"]) == ("Bo", "Bo")
    assert is_good(desk)
    told, _ = evaluate_sealed(desk.look("more.csv", "scan0", "scan1", person="Bo2"))
    assert told["looks"]["look"] == 2
    with pytest.raises(InputError, match="wraps nothing for the key"):
        evaluate_sealed(desk.look("more.csv", "scan0"))
    assert [event.person for event in read_audit(desk.sealed).events][-1] == "Bo"
    assert is_good(desk)


def test_the_key_custodian_replaces_a_lost_key(desk: KeyedDesk) -> None:
    desk.key_file("Bo").unlink()
    rotate(desk.sealed, desk.secret("Safe"), "", key=public(desk, "Bo2"), subject="Bo")
    evaluate_sealed(desk.look("more.csv", "scan0", "scan1", person="Bo2"))
    assert is_good(desk)


@pytest.mark.parametrize("person", ["Ada", "Bo", "Cem"])
def test_nobody_else_replaces_the_key_of_another(desk: KeyedDesk, person: str) -> None:
    with pytest.raises(InputError, match="may not manage"):
        rotate(desk.sealed, desk.secret(person), "", key=public(desk, "Eve"), subject="Safe")
    assert read_audit(desk.sealed).events[-1].step == "refused"
    assert is_good(desk)


def test_a_revoked_key_opens_and_signs_nothing_more(desk: KeyedDesk) -> None:
    checkpoint = desk.folder / "checkpoint.json"
    revoke(desk.sealed, desk.secret("Safe"), "", subject="Bo", reason="laptop stolen")
    write_checkpoint(desk.sealed, checkpoint)
    assert is_good(desk)
    with pytest.raises(InputError, match="wraps nothing for the key"):
        evaluate_sealed(desk.look("more.csv", "scan0"))
    assert '"Bo"' not in (desk.sealed / "vault.json").read_text()
    rows = {row.person: row for row in list_keys(desk.sealed)}
    assert (rows["Bo"].fingerprint, rows["Bo"].rooms, rows["Bo"].since) == ("", (), 4)
    assert rows["Ada"].since == 1


def test_an_event_signed_after_the_revocation_is_a_problem(desk: KeyedDesk) -> None:
    stale = open_sealed(desk.sealed, desk.secret("Bo"), "", "evaluate")
    revoke(desk.sealed, desk.secret("Safe"), "", subject="Bo", reason="left the lab")
    with pytest.raises(InputError, match="key: is not that of 'Bo'"):
        stale.record("refused", {})
    # with another program: the event is signed with the old key, by the old log

    class Thief(PolicySeal):
        def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
            return signature_code(content, desk.key("Bo"))

    seal = Thief(parse_policy((desk.sealed / "policy.toml").read_text(), "p"))
    log = log_of(desk.sealed, stale.bundle, seal)
    log.append(
        lambda events: next_event(
            events,
            bundle=log.root,
            at=events[-1].at,
            person="Bo",
            role="operator",
            step="refused",
            facts={},
            seal=seal,
        )
    )
    told = "\n".join(map(str, read_audit(desk.sealed).problems))
    assert "00000005.json: is in the name of 'Bo', who had no key then" in told


def test_somebody_is_admitted_with_what_their_role_opens(desk: KeyedDesk) -> None:
    safe = desk.secret("Safe")
    admit(desk.sealed, safe, "", subject="Dee", roles=("auditor",), key=public(desk, "Dee"))
    assert "evaluation" in open_result(desk.sealed, desk.secret("Dee"), "", 2)
    with pytest.raises(InputError, match="'Dee' is auditor, and may not export"):
        export_reference(desk.sealed, desk.secret("Dee"), "", "x", desk.folder / "plain")
    assert is_good(desk)
    assert [row.person for row in list_keys(desk.sealed)][-1] == "Dee"


def test_what_was_done_already_is_not_done_twice(desk: KeyedDesk) -> None:
    safe = desk.secret("Safe")

    def twice(change: Callable[[], Event]) -> None:
        done = change().number
        with pytest.raises(InputError, match="says this of 'Dee' already"):
            change()
        assert len(read_audit(desk.sealed).events) == done

    key = public(desk, "Dee")
    twice(lambda: admit(desk.sealed, safe, "", subject="Dee", roles=("auditor",), key=key))
    twice(lambda: revoke(desk.sealed, safe, "", subject="Dee", reason="lost"))


@pytest.mark.parametrize(
    ("subject", "roles", "key", "told"),
    [
        ("Dee", ("operator", "auditor"), "Dee", "'Dee' cannot be operator and auditor"),
        ("Dee", ("boss",), "Dee", "Input should be 'collector'"),
        ("Dee", ("auditor",), "Bo", "is somebody else's too"),
        ("Safe", ("reader",), "Dee", "but no key custodian has one"),
    ],
)
def test_the_rules_of_the_policy_hold_for_those_admitted_later(
    desk: KeyedDesk, subject: str, roles: tuple[str, ...], key: str, told: str
) -> None:
    with pytest.raises(InputError, match="does not allow it") as refused:
        admit(
            desk.sealed,
            desk.secret("Safe"),
            "",
            subject=subject,
            roles=roles,
            key=public(desk, key),
        )
    assert told in str(refused.value)
    assert len(read_audit(desk.sealed).events) == 3
    assert is_good(desk)


def test_the_last_key_custodian_cannot_be_revoked(desk: KeyedDesk) -> None:
    with pytest.raises(InputError, match="no key custodian has one"):
        revoke(desk.sealed, desk.secret("Safe"), "", subject="Safe", reason="x")
    with pytest.raises(InputError, match="the policy does not know 'Nobody'"):
        revoke(desk.sealed, desk.secret("Safe"), "", subject="Nobody", reason="x")
    with pytest.raises(InputError, match="has no reason"):
        revoke(desk.sealed, desk.secret("Safe"), "", subject="Bo", reason=" ")


def test_an_older_vault_or_log_put_back_is_found(desk: KeyedDesk) -> None:
    copy = desk.folder / "before"
    shutil.copytree(desk.sealed, copy)
    revoke(desk.sealed, desk.secret("Safe"), "", subject="Bo", reason="x")
    checkpoint = desk.folder / "checkpoint.json"
    write_checkpoint(desk.sealed, checkpoint)
    shutil.copy(copy / "vault.json", desk.sealed / "vault.json")
    told = "\n".join(map(str, verify_sealed(desk.sealed).problems))
    assert "vault.json: was changed" in told
    with pytest.raises(InputError, match=r"vault\.json: was changed after the set was sealed"):
        open_sealed(desk.sealed, desk.secret("Ada"), "", "export")
    # the whole older set: only who kept a checkpoint can tell
    found = verify_sealed(copy, checkpoints=[checkpoint])
    assert "but it ends with 3: it was cut off" in str(found.problems[0])


def test_a_change_killed_after_its_event_is_completed_by_whoever_opens_next(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(changes_module, "apply_change", killed)
    with pytest.raises(KeyboardInterrupt):
        rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    monkeypatch.undo()
    found = verify_sealed(desk.sealed)
    assert "lists a change that was interrupted" in "\n".join(map(str, found.problems))
    assert not found.notices  # what is staged is needed, and no leftover
    evaluate_sealed(desk.look("more.csv", "scan0", "scan1", person="Bo2"))
    assert is_good(desk)


def test_a_change_killed_before_its_event_changed_nothing(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(key_changes, "commit", killed)
    with pytest.raises(KeyboardInterrupt):
        rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    monkeypatch.undo()
    found = verify_sealed(desk.sealed)
    assert found.is_good, found.problems
    assert [notice.code for notice in found.notices] == ["leftover"]
    rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    assert not verify_sealed(desk.sealed).notices
    assert is_good(desk)


def test_a_changed_set_is_still_a_valid_bag(desk: KeyedDesk) -> None:
    bagit = pytest.importorskip("bagit", reason="bagit is not installed")
    rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    assert bagit.Bag(str(desk.sealed)).validate()


def test_a_set_with_one_secret_has_no_keys_to_list(tmp_path: Path) -> None:
    shared = make_desk(tmp_path)
    shared.seal()
    with pytest.raises(InputError, match=r"has one secret for all.*names people's keys"):
        list_keys(shared.sealed)


def test_new_data_keys_shut_out_who_kept_the_old(desk: KeyedDesk) -> None:
    kept = open_sealed(desk.sealed, desk.secret("Bo"), "", "evaluate").vault
    revoke(desk.sealed, desk.secret("Safe"), "", subject="Bo", reason="stolen")
    with pytest.raises(InputError, match="may not manage"):
        rekey(desk.sealed, desk.secret("Ada"), "")
    path = desk.sealed / "data" / "sealed" / "nodules.parquet.sealed"
    assert kept.open(path.read_bytes(), "nodules.parquet", "file")
    event = rekey(desk.sealed, desk.secret("Safe"), "")
    assert (event.step, event.facts["people"]) == ("rekeyed", 4)
    result = next((desk.sealed / "results").iterdir())
    for file, name in ((path, "nodules.parquet"), (result, f"results/{result.name[:-7]}")):
        with pytest.raises(InputError, match="was sealed in another vault"):
            kept.open(file.read_bytes(), name, "file")
    assert "evaluation" in open_result(desk.sealed, desk.secret("Cem"), "", 2)
    assert export_reference(desk.sealed, desk.secret("Ada"), "", "x", desk.folder / "plain") == 3
    assert is_good(desk)


def test_of_two_changes_at_once_the_later_does_nothing(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = key_changes.staging

    def overtaken(folder: Path) -> object:
        monkeypatch.setattr(key_changes, "staging", real)
        revoke(desk.sealed, desk.secret("Safe"), "", subject="Cem", reason="x")
        return real(folder)

    monkeypatch.setattr(key_changes, "staging", overtaken)
    with pytest.raises(InputError, match=r"was changed by somebody else meanwhile\. Call again"):
        rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    assert is_good(desk)
    assert [event.step for event in read_audit(desk.sealed).events][-1] == "revoked"
    rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    assert is_good(desk)


def test_a_full_disk_leaves_the_set_as_it_was(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(changes_module, "write_through", full)
    with pytest.raises(OSError, match="No space left"):
        rotate(desk.sealed, desk.secret("Bo"), "", key=public(desk, "Bo2"))
    monkeypatch.undo()
    assert is_good(desk)
    assert not list((desk.sealed / "changes").iterdir())
    evaluate_sealed(desk.look("more.csv", "scan0"))
