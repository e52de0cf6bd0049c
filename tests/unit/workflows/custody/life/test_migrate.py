"""A set with one secret gets keys of people; its log goes on, and the old secret opens nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders.keyed import KeyedDesk, make_keyed_desk
from builders.sealed import POLICY, SECRET
from nodulebench.errors import InputError
from nodulebench.storage.json_text import read_json
from nodulebench.storage.signature import new_key, signing_key
from nodulebench.storage.vault import open_vault
from nodulebench.workflows.custody.audit_log import read_audit, write_anchor
from nodulebench.workflows.custody.evaluate_sealed import LookOrder, evaluate_sealed
from nodulebench.workflows.custody.life import changes as changes_module
from nodulebench.workflows.custody.life import migrate as migrate_module
from nodulebench.workflows.custody.life.migrate import migrate
from nodulebench.workflows.custody.seal import seal_bundle
from nodulebench.workflows.custody.sealed_set import open_sealed
from nodulebench.workflows.custody.unseal import open_result
from nodulebench.workflows.custody.verify_sealed import verify_sealed

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> KeyedDesk:
    """A set sealed with one secret, looked at once; the policy with keys lies ready."""
    desk = make_keyed_desk(tmp_path_factory.mktemp("shared"))
    (desk.folder / "old.toml").write_text(POLICY)
    order = replace(
        desk.order(),
        key=desk.folder / "key.pem",
        secret=SECRET,
        policy=desk.folder / "old.toml",
        person="Ada",
    )
    seal_bundle(order)
    marks = desk.marks("mine.csv", "scan0")
    evaluate_sealed(LookOrder(marks, desk.sealed, SECRET, "Bo", "Example", bootstraps=0))
    write_anchor(desk.sealed, desk.folder / "anchor.json", key=desk.folder / "key.pem")
    return desk


@pytest.fixture
def desk(made: KeyedDesk, tmp_path: Path) -> KeyedDesk:
    shutil.copytree(made.folder, tmp_path / "desk")
    return KeyedDesk(tmp_path / "desk")


def give_keys(desk: KeyedDesk, **more: object) -> None:
    order: dict[str, object] = {
        "policy": desk.folder / "policy.toml",
        "key": desk.secret("Ada"),
        "signing_key": signing_key(desk.folder / "key.pem"),
    }
    migrate(desk.sealed, SECRET, "Ada", **{**order, **more})  # type: ignore[arg-type]


def test_the_log_goes_on_and_its_history_is_provable(desk: KeyedDesk) -> None:
    before = sorted((desk.sealed / "audit").glob("0*.json"))
    contents = [path.read_bytes() for path in before]
    give_keys(desk)
    assert [path.read_bytes() for path in before] == contents
    for secret in (None, *(desk.secret(one) for one in ("Ada", "Bo", "Cem", "Safe"))):
        found = verify_sealed(
            desk.sealed,
            secret=secret,
            public_key=desk.public_key,
            anchors=[desk.folder / "anchor.json"],
        )
        assert found.is_good, found.problems
        assert found.has_keys
    told, _ = evaluate_sealed(desk.look("more.csv", "scan0", "scan1"))
    assert told["looks"]["look"] == 2  # looks of before count
    assert "evaluation" in open_result(desk.sealed, desk.secret("Cem"), "", 2)
    assert [event.step for event in read_audit(desk.sealed).events] == [
        "sealed",
        "look",
        "evaluated",
        "migrated",
        "look",
        "evaluated",
        "inspected",
    ]
    assert "Each person has a key of their own" in (desk.sealed / "datasheet.md").read_text()


def test_the_old_secret_opens_nothing_any_more(desk: KeyedDesk) -> None:
    vault = open_vault(read_json(desk.sealed / "vault.json"), SECRET, "v")
    give_keys(desk)
    with pytest.raises(InputError, match="opens with keys of people"):
        open_sealed(desk.sealed, SECRET, "Ada", "export")
    path = desk.sealed / "data/sealed/nodules.parquet.sealed"
    with pytest.raises(InputError, match="was sealed in another vault"):
        vault.open(path.read_bytes(), "nodules.parquet", "file")
    result = next((desk.sealed / "results").iterdir())
    with pytest.raises(InputError, match="was sealed in another vault"):
        vault.open(result.read_bytes(), f"results/{result.name[:-7]}", "file")


def test_only_who_signed_the_set_brings_keys_in(desk: KeyedDesk) -> None:
    new_key(desk.folder / "other.pem")
    with pytest.raises(InputError, match="is not the one that signed the set"):
        give_keys(desk, signing_key=signing_key(desk.folder / "other.pem"))
    give_keys(desk)
    # whoever has the old secret cannot undo it, nor add keys of their own by another such event
    path = desk.sealed / "audit" / "00000004.json"
    path.write_bytes(path.read_bytes().replace(b"sshsig:U1NIU0lH", b"sshsig:U1NIU0lI"))
    told = "\n".join(map(str, verify_sealed(desk.sealed).problems))
    assert "was not signed with the key that signed the manifest" in told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("looks_per_developer = 2", "looks_per_developer = 9", "other rules of reuse"),
        ("Test laboratory", "Another laboratory", "has another keeper"),
    ],
)
def test_nothing_else_changes_on_the_way(
    desk: KeyedDesk, before: str, after: str, told: str
) -> None:
    policy = desk.folder / "policy.toml"
    policy.write_text(policy.read_text().replace(before, after))
    with pytest.raises(InputError, match=told):
        give_keys(desk)
    with pytest.raises(InputError, match="names no keys of people"):
        give_keys(desk, policy=desk.folder / "old.toml")
    assert verify_sealed(desk.sealed, secret=SECRET).is_good


def test_a_migration_killed_after_its_event_is_completed(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(changes_module, "apply_change", killed)
    with pytest.raises(KeyboardInterrupt):
        give_keys(desk)
    monkeypatch.undo()
    evaluate_sealed(desk.look("more.csv", "scan0", "scan1"))
    found = verify_sealed(desk.sealed, secret=desk.secret("Safe"))
    assert found.is_good, found.problems


def test_the_policy_of_before_put_back_is_found(desk: KeyedDesk) -> None:
    old = {name: (desk.sealed / name).read_bytes() for name in ("policy.toml", "vault.json")}
    give_keys(desk)
    for name, content in old.items():
        (desk.sealed / name).write_bytes(content)
    told = "\n".join(map(str, verify_sealed(desk.sealed, secret=SECRET).problems))
    assert "policy.toml: was changed" in told
    assert "vault.json: was changed" in told
    with pytest.raises(InputError, match="was changed after the set was sealed"):
        open_sealed(desk.sealed, SECRET, "Ada", "export")


def test_a_set_with_keys_is_not_migrated_again(desk: KeyedDesk) -> None:
    give_keys(desk)
    with pytest.raises(InputError, match="has keys of people already"):
        migrate(
            desk.sealed,
            desk.secret("Ada"),
            "",
            policy=desk.folder / "policy.toml",
            key=desk.secret("Ada"),
            signing_key=signing_key(desk.folder / "key.pem"),
        )


def test_rules_that_changed_with_a_migration_are_named(desk: KeyedDesk) -> None:
    policy = desk.folder / "policy.toml"
    policy.write_text(policy.read_text().replace("per_developer = 2", "per_developer = 9"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate_module, "_refuse_others", lambda *_: None)  # another program
        give_keys(desk)
    told = "\n".join(map(str, verify_sealed(desk.sealed).problems))
    assert "policy.toml: has other rules than those sealed" in told
    with pytest.raises(InputError, match="has other rules than those sealed"):
        evaluate_sealed(desk.look("more.csv", "scan0"))
