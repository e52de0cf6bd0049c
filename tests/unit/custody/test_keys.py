"""Keys are replaced, revoked and admitted by events; what was signed before stays signed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.sealed import SealedLab, make_lab, new_person
from nodulebench.core.errors import InputError
from nodulebench.custody import changes as changes_module
from nodulebench.custody import keys as key_changes
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.events import Event, PolicySeal, log_of, next_event
from nodulebench.custody.keys import admit, list_keys, rekey, revoke, rotate
from nodulebench.custody.policy import parse_policy
from nodulebench.custody.sealed_set import export_reference, open_sealed
from nodulebench.custody.stored_results import open_result
from nodulebench.custody.verify import read_audit, verify_sealed, write_checkpoint
from nodulebench.security.signatures import signature_code

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    lab = make_lab(tmp_path_factory.mktemp("keyed"))
    lab.seal()
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0"))
    for name in ("Bo2", "Eve", "Dee"):
        new_person(lab, name)
    return lab


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path) -> SealedLab:
    shutil.copytree(made.folder, tmp_path / "lab")
    return SealedLab(tmp_path / "lab")


def public(lab: SealedLab, person: str) -> Path:
    return lab.folder / f"{person.lower()}.key.pub"


def is_good(lab: SealedLab) -> bool:
    for person in (None, "Ada", "Safe"):
        own_key = None if person is None else lab.key(person)
        verified = verify_sealed(lab.sealed, own_key=own_key)
        assert verified.is_good, verified.problems
    return True


def test_a_person_replaces_their_own_key(lab: SealedLab) -> None:
    event = rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    assert (event.person, event.facts["subject"]) == ("Bo", "Bo")
    assert is_good(lab)
    answer, _ = evaluate_sealed(lab.evaluate_options("more.csv", "scan0", "scan1", person="Bo2"))
    assert answer["budget"]["used"] == 2
    with pytest.raises(InputError, match="wraps nothing for the key"):
        evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))
    assert [event.person for event in read_audit(lab.sealed).events][-1] == "Bo"
    assert is_good(lab)


def test_the_key_custodian_replaces_a_lost_key(lab: SealedLab) -> None:
    lab.key_file("Bo").unlink()
    rotate(lab.sealed, lab.key("Safe"), key=public(lab, "Bo2"), subject="Bo")
    evaluate_sealed(lab.evaluate_options("more.csv", "scan0", "scan1", person="Bo2"))
    assert is_good(lab)


@pytest.mark.parametrize("person", ["Ada", "Bo", "Cem"])
def test_no_other_person_replaces_the_key_of_another(lab: SealedLab, person: str) -> None:
    with pytest.raises(InputError, match="may not manage"):
        rotate(lab.sealed, lab.key(person), key=public(lab, "Eve"), subject="Safe")
    assert read_audit(lab.sealed).events[-1].step == "refused"
    assert is_good(lab)


def test_a_revoked_key_opens_and_signs_nothing_more(lab: SealedLab) -> None:
    checkpoint = lab.folder / "checkpoint.json"
    revoke(lab.sealed, lab.key("Safe"), subject="Bo", reason="laptop stolen")
    write_checkpoint(lab.sealed, checkpoint)
    assert is_good(lab)
    with pytest.raises(InputError, match="wraps nothing for the key"):
        evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))
    assert '"Bo"' not in (lab.sealed / "vault.json").read_text()
    rows = {row.person: row for row in list_keys(lab.sealed)}
    assert (rows["Bo"].fingerprint, rows["Bo"].compartments, rows["Bo"].since) == ("", (), 4)
    assert rows["Ada"].since == 1


def test_an_event_signed_after_the_revocation_is_a_problem(lab: SealedLab) -> None:
    stale = open_sealed(lab.sealed, lab.key("Bo"), "evaluate")
    revoke(lab.sealed, lab.key("Safe"), subject="Bo", reason="left the lab")
    with pytest.raises(InputError, match="key: is not the key of 'Bo'"):
        stale.record("refused", {})
    # with another program: the event is signed with the old key, by the old log

    class Thief(PolicySeal):
        def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
            return signature_code(content, lab.key("Bo"))

    seal = Thief(parse_policy((lab.sealed / "policy.toml").read_text(), "p"))
    log = log_of(lab.sealed, stale.bundle, seal)
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
    messages = "\n".join(map(str, read_audit(lab.sealed).problems))
    assert "00000005.json: names 'Bo', who had no valid key at that point" in messages


def test_a_person_is_admitted_with_what_their_role_opens(lab: SealedLab) -> None:
    safe = lab.key("Safe")
    admit(lab.sealed, safe, subject="Dee", roles=("auditor",), key=public(lab, "Dee"))
    assert "evaluation" in open_result(lab.sealed, lab.key("Dee"), 2)
    with pytest.raises(InputError, match="'Dee' is auditor and may not export"):
        export_reference(lab.sealed, lab.key("Dee"), "x", lab.folder / "plain")
    assert is_good(lab)
    assert [row.person for row in list_keys(lab.sealed)][-1] == "Dee"


def test_what_was_done_already_is_not_done_twice(lab: SealedLab) -> None:
    safe = lab.key("Safe")

    def twice(change: Callable[[], Event]) -> None:
        done = change().number
        with pytest.raises(InputError, match="already has this entry for 'Dee'"):
            change()
        assert len(read_audit(lab.sealed).events) == done

    key = public(lab, "Dee")
    twice(lambda: admit(lab.sealed, safe, subject="Dee", roles=("auditor",), key=key))
    twice(lambda: revoke(lab.sealed, safe, subject="Dee", reason="lost"))


@pytest.mark.parametrize(
    ("subject", "roles", "key", "message"),
    [
        ("Dee", ("operator", "auditor"), "Dee", "'Dee' cannot be operator and auditor"),
        ("Dee", ("boss",), "Dee", "Input should be 'collector'"),
        ("Dee", ("auditor",), "Bo", "is also another person's"),
        ("Safe", ("reader",), "Dee", "no key custodian has a key"),
    ],
)
def test_the_rules_of_the_policy_hold_for_those_admitted_later(
    lab: SealedLab, subject: str, roles: tuple[str, ...], key: str, message: str
) -> None:
    with pytest.raises(InputError, match="does not allow it") as refused:
        admit(
            lab.sealed,
            lab.key("Safe"),
            subject=subject,
            roles=roles,
            key=public(lab, key),
        )
    assert message in str(refused.value)
    assert len(read_audit(lab.sealed).events) == 3
    assert is_good(lab)


def test_the_last_key_custodian_cannot_be_revoked(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="no key custodian has a key"):
        revoke(lab.sealed, lab.key("Safe"), subject="Safe", reason="x")
    with pytest.raises(InputError, match="the policy does not know 'Zoe'"):
        revoke(lab.sealed, lab.key("Safe"), subject="Zoe", reason="x")
    with pytest.raises(InputError, match="has no reason"):
        revoke(lab.sealed, lab.key("Safe"), subject="Bo", reason=" ")


def test_an_older_vault_or_log_put_back_is_found(lab: SealedLab) -> None:
    copy = lab.folder / "before"
    shutil.copytree(lab.sealed, copy)
    revoke(lab.sealed, lab.key("Safe"), subject="Bo", reason="x")
    checkpoint = lab.folder / "checkpoint.json"
    write_checkpoint(lab.sealed, checkpoint)
    shutil.copy(copy / "vault.json", lab.sealed / "vault.json")
    messages = "\n".join(map(str, verify_sealed(lab.sealed).problems))
    assert "vault.json: was changed" in messages
    with pytest.raises(InputError, match=r"vault\.json: was changed after the set was sealed"):
        open_sealed(lab.sealed, lab.key("Ada"), "export")
    # the whole older set: only a checkpoint stored elsewhere shows it
    verified = verify_sealed(copy, checkpoints=[checkpoint])
    assert "but it ends with 3: it was cut off" in str(verified.problems[0])


def test_a_change_killed_after_its_event_is_completed_by_the_next_opening(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(changes_module, "apply_change", killed)
    with pytest.raises(KeyboardInterrupt):
        rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    monkeypatch.undo()
    verified = verify_sealed(lab.sealed)
    assert "lists a change that was interrupted" in "\n".join(map(str, verified.problems))
    assert not verified.notices  # what is staged is needed, and no leftover
    evaluate_sealed(lab.evaluate_options("more.csv", "scan0", "scan1", person="Bo2"))
    assert is_good(lab)


def test_a_change_killed_before_its_event_changed_nothing(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(key_changes, "commit", killed)
    with pytest.raises(KeyboardInterrupt):
        rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    monkeypatch.undo()
    verified = verify_sealed(lab.sealed)
    assert verified.is_good, verified.problems
    assert [notice.code for notice in verified.notices] == ["leftover"]
    rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    assert not verify_sealed(lab.sealed).notices
    assert is_good(lab)


def test_a_changed_set_is_still_a_valid_bag(lab: SealedLab) -> None:
    bagit = pytest.importorskip("bagit", reason="bagit is not installed")
    rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    assert bagit.Bag(str(lab.sealed)).validate()


def test_new_data_keys_exclude_holders_of_old_ones(lab: SealedLab) -> None:
    old_vault = open_sealed(lab.sealed, lab.key("Bo"), "evaluate").vault
    revoke(lab.sealed, lab.key("Safe"), subject="Bo", reason="stolen")
    with pytest.raises(InputError, match="may not manage"):
        rekey(lab.sealed, lab.key("Ada"))
    path = lab.sealed / "data" / "sealed" / "nodules.parquet.sealed"
    assert old_vault.open(path.read_bytes(), "nodules.parquet", "file")
    event = rekey(lab.sealed, lab.key("Safe"))
    assert (event.step, event.facts["people"]) == ("rekeyed", 4)
    result = next((lab.sealed / "results").iterdir())
    for file, name in ((path, "nodules.parquet"), (result, f"results/{result.name[:-7]}")):
        with pytest.raises(InputError, match="was sealed in another vault"):
            old_vault.open(file.read_bytes(), name, "file")
    assert "evaluation" in open_result(lab.sealed, lab.key("Cem"), 2)
    assert export_reference(lab.sealed, lab.key("Ada"), "x", lab.folder / "plain") == 3
    assert is_good(lab)


def test_of_two_changes_at_once_the_later_does_nothing(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = key_changes.staging

    def overtaken(folder: Path) -> object:
        monkeypatch.setattr(key_changes, "staging", real)
        revoke(lab.sealed, lab.key("Safe"), subject="Cem", reason="x")
        return real(folder)

    monkeypatch.setattr(key_changes, "staging", overtaken)
    with pytest.raises(
        InputError, match=r"was changed by another process meanwhile\. Run the command again"
    ):
        rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    assert is_good(lab)
    assert [event.step for event in read_audit(lab.sealed).events][-1] == "revoked"
    rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    assert is_good(lab)


def test_a_full_disk_leaves_the_set_as_it_was(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(changes_module, "write_through", full)
    with pytest.raises(OSError, match="No space left"):
        rotate(lab.sealed, lab.key("Bo"), key=public(lab, "Bo2"))
    monkeypatch.undo()
    assert is_good(lab)
    assert not list((lab.sealed / "changes").iterdir())
    evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))
