"""With a key per person, no one can impersonate another or open more than their role needs."""

import json
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from builders.hidden_packages import hide_package
from builders.sealed import SealedLab, make_lab, new_person
from builders.signatures import armored
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.events import STEP_NEEDS, STEPS, Event, PolicySeal, log_of, next_event
from nodulebench.custody.keys import list_keys
from nodulebench.custody.layout import compartment_of
from nodulebench.custody.policy import parse_policy
from nodulebench.custody.seal import seal_bundle
from nodulebench.custody.sealed_set import export_reference, open_sealed
from nodulebench.custody.stored_results import open_result
from nodulebench.custody.verify import read_audit, verify_sealed, write_checkpoint
from nodulebench.io.manifests import Manifest, file_digest, read_manifest
from nodulebench.security.keys import read_private_key
from nodulebench.security.signatures import sign_manifest, signature_code
from nodulebench.security.vault import (
    Holder,
    new_vault,
    open_vault,
    vault_header,
)

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    lab = make_lab(tmp_path_factory.mktemp("keyed"))
    lab.seal()
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0", "scan1"))
    return lab


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path) -> SealedLab:
    """A sealed set with one evaluation, only for this test."""
    shutil.copytree(made.folder, tmp_path / "lab")
    return SealedLab(tmp_path / "lab")


def problems(lab: SealedLab, **more: Any) -> str:
    return "\n".join(map(str, verify_sealed(lab.sealed, **more).problems))


def steps(lab: SealedLab) -> list[tuple[str, str]]:
    return [(event.step, event.person) for event in read_audit(lab.sealed).events]


def resign(lab: SealedLab, person: str) -> None:
    """Make the manifest fit the files again, signed by a person: what an insider could do."""
    folder = lab.sealed
    listed = {name: file_digest(folder / name) for name in read_manifest(folder).files}
    sign_manifest(folder, Manifest(listed), lab.key(person), by=person)


def test_who_acts_follows_from_their_key(lab: SealedLab) -> None:
    assert steps(lab) == [("sealed", "Ada"), ("evaluation_charged", "Bo"), ("evaluated", "Bo")]
    assert export_reference(lab.sealed, lab.key("Ada"), "x", lab.folder / "plain") == 3
    assert "evaluation" in open_result(lab.sealed, lab.key("Cem"), 2)
    verified = verify_sealed(lab.sealed, public_key=lab.folder / "ada.key.pub")
    assert verified.is_good, verified.problems


@pytest.mark.parametrize("person", ["Ada", "Bo", "Cem", "Safe"])
def test_everybody_verifies_as_far_as_their_key_opens(lab: SealedLab, person: str) -> None:
    verified = verify_sealed(lab.sealed, own_key=lab.key(person))
    assert verified.is_good, verified.problems
    assert verified.was_opened


def test_no_one_acts_in_the_name_of_another(lab: SealedLab) -> None:
    opened = replace(open_sealed(lab.sealed, lab.key("Bo"), "evaluate"), person="Ada")
    with pytest.raises(InputError, match="is not the key of 'Ada' and cannot sign for them"):
        opened.record("exported", {"reason": "x"})
    assert steps(lab)[-1] == ("evaluated", "Bo")
    assert verify_sealed(lab.sealed).is_good


@pytest.mark.parametrize("person", ["Ria", "Bo", "Cem", "Safe"])
def test_only_the_curators_key_takes_the_reference_out(lab: SealedLab, person: str) -> None:
    with pytest.raises(InputError, match="may not export"):
        export_reference(lab.sealed, lab.key(person), "x", lab.folder / "plain")
    assert steps(lab)[-1] == ("refused", person)
    assert verify_sealed(lab.sealed).is_good


def test_a_key_opens_what_its_role_needs_and_no_more(lab: SealedLab) -> None:
    (lab.bundle / "readings.csv").write_text("case_id\n")
    shutil.rmtree(lab.sealed)
    lab.seal()
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0"))
    files = {
        "reference": lab.sealed / "data/sealed/nodules.parquet.sealed",
        "archive": lab.sealed / "data/sealed/readings.csv.sealed",
        "results": next((lab.sealed / "results").iterdir()),
    }
    names = {
        "reference": "nodules.parquet",
        "archive": "readings.csv",
        "results": f"results/{files['results'].name.removesuffix('.sealed')}",
    }
    header = json.loads((lab.sealed / "vault.json").read_text())
    opens = {}
    for person in ("Ada", "Bo", "Cem", "Ria", "Safe"):
        vault = open_vault(header, lab.key(person), "vault.json", compartment_of)
        opened = []
        for compartment, file in files.items():
            try:
                vault.open(file.read_bytes(), names[compartment], "file")
                opened.append(compartment)
            except InputError:
                assert compartment not in vault.keys
        opens[person] = opened
    assert opens == {
        "Ada": ["reference", "archive"],
        "Bo": ["reference", "results"],
        "Cem": ["results"],
        "Ria": [],
        "Safe": ["reference", "archive", "results"],
    }


def test_a_strangers_key_opens_nothing(lab: SealedLab) -> None:
    new_person(lab, "Eve")
    with pytest.raises(InputError, match="wraps nothing for the key SHA256:"):
        evaluate_sealed(lab.evaluate_options("mine.csv", "scan0", person="Eve"))
    with pytest.raises(InputError, match="lists no person with the key"):
        seal_bundle(replace(lab.order(), out=lab.folder / "other", own_key=lab.key("Eve")))


def test_a_set_with_a_shared_secret_is_refused_with_the_next_step(lab: SealedLab) -> None:
    header = {"schema": "nodulebench/vault@1", "opens_with": "passphrase", "wrapped_key": "00"}
    (lab.sealed / "vault.json").write_text(json.dumps(header))
    remedy = r"opens with one shared secret.*Seal the bundle again with a policy.*keys new"
    with pytest.raises(InputError, match=remedy):
        open_sealed(lab.sealed, lab.key("Ada"), "export")
    with pytest.raises(InputError, match=remedy):
        list_keys(lab.sealed)
    assert "opens with one shared secret" in problems(lab)


def test_a_policy_without_keys_is_not_sealed(lab: SealedLab) -> None:
    policy = lab.folder / "policy.toml"
    lines = policy.read_text().splitlines()
    policy.write_text("\n".join(line for line in lines if not line.startswith("key = ")))
    with pytest.raises(InputError, match=r"no key custodian has a key.*keys new"):
        lab.seal(out=lab.folder / "other")
    assert not (lab.folder / "other").exists()


def test_a_key_with_a_passphrase_opens_the_set(lab: SealedLab) -> None:
    ssh_keygen = shutil.which("ssh-keygen")
    if ssh_keygen is None:
        pytest.skip("ssh-keygen is not installed")
    path = lab.key_file("Bo")
    subprocess.run([ssh_keygen, "-q", "-p", "-N", "correct horse", "-f", path], check=True)
    with pytest.raises(InputError, match="has a passphrase, but none was given"):
        read_private_key(path)
    with pytest.raises(InputError, match="does not open with this passphrase"):
        read_private_key(path, "wrong")
    opened = open_sealed(lab.sealed, read_private_key(path, "correct horse"), "evaluate")
    assert opened.person == "Bo"


def test_swapped_recipients_are_named_even_if_the_manifest_is_signed_again(
    lab: SealedLab,
) -> None:
    path = lab.sealed / "vault.json"
    header = json.loads(path.read_text())
    ada, bo = header["people"][:2]
    ada["key"], bo["key"] = bo["key"], ada["key"]
    path.write_text(json.dumps(header, indent=1) + "\n")
    assert "vault.json: was changed" in problems(lab)
    resign(lab, "Bo")
    messages = problems(lab)
    assert "is not wrapped for 'Ada' as policy and log require" in messages
    assert "00000001.json: does not follow from the manifest" in messages
    assert "which is not" in problems(lab, public_key=lab.folder / "ada.key.pub")


def test_more_wrapped_than_the_role_allows_is_named(lab: SealedLab) -> None:
    path = lab.sealed / "vault.json"
    header = json.loads(path.read_text())
    vault = open_vault(header, lab.key("Safe"), "v", compartment_of)
    more = vault_header(vault, [Holder("Cem", lab.key("Cem").public, ("reference",))], header)
    path.write_text(json.dumps(more, indent=1) + "\n")
    resign(lab, "Ada")
    assert "is not wrapped for 'Cem' as policy and log require" in problems(lab)


def test_a_vault_of_another_set_is_refused(lab: SealedLab) -> None:
    holders = [Holder("Bo", lab.key("Bo").public, ("reference", "images", "results"))]
    other = vault_header(new_vault(("reference", "images", "results"), compartment_of), holders)
    (lab.sealed / "vault.json").write_text(json.dumps(other, indent=1) + "\n")
    with pytest.raises(InputError, match=r"vault\.json: was changed after the set was sealed"):
        evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))


def forged(lab: SealedLab, person: str, signer: str, step: str, **facts: Any) -> None:
    """Append an event that names one person and is signed by another, head and all."""
    folder = lab.sealed
    policy = parse_policy((folder / "policy.toml").read_text(), "policy.toml")

    class Forger(PolicySeal):
        def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
            return signature_code(content, lab.key(signer))

    log = log_of(folder, file_digest(folder / "manifest.json"), Forger(policy))
    log.append(
        lambda events: next_event(
            events,
            bundle=log.root,
            at=events[-1].at,
            person=person,
            role=None,
            step=step,  # type: ignore[arg-type]
            facts=facts,
            seal=Forger(policy),
        )
    )


def test_an_event_signed_with_anothers_key_is_named(lab: SealedLab) -> None:
    forged(lab, "Ada", "Bo", "refused")
    messages = problems(lab)
    assert (
        "00000004.json: was changed, or was not signed with the key of 'Ada' at that point"
        in messages
    )
    assert "head.json: was changed" in messages
    with pytest.raises(InputError, match="was not signed with the key of 'Ada'"):
        evaluate_sealed(lab.evaluate_options("more.csv", "scan0"))


def test_an_event_signed_again_by_another_is_named(lab: SealedLab) -> None:
    path = lab.sealed / "audit" / "00000003.json"
    event = Event.model_validate_json(path.read_bytes())
    code = signature_code(event.unsigned_bytes, lab.key("Cem"))
    path.write_bytes(event.model_copy(update={"code": code}).to_bytes())
    assert "was not signed with the key of 'Bo' at that point" in problems(lab)


def test_every_step_but_a_refusal_needs_a_role() -> None:
    assert set(STEPS) - set(STEP_NEEDS) == {"refused"}


@pytest.mark.parametrize(
    "step", ["exported", "admitted", "retired", "withdrawn", "reported", "rekeyed"]
)
def test_an_event_of_what_its_signer_may_not_do_is_named(lab: SealedLab, step: str) -> None:
    facts = {"subject": "Eve", "roles": "curator", "key": new_person(lab, "Eve")}
    forged(lab, "Bo", "Bo", step, **facts)
    assert "was written by 'Bo', who may not" in problems(lab)
    with pytest.raises(InputError, match=r"wraps nothing|who may not"):
        open_sealed(lab.sealed, lab.key("Eve"), "export")


def test_a_policy_with_one_more_key_is_refused(lab: SealedLab) -> None:
    path, line = lab.sealed / "policy.toml", new_person(lab, "Eve")
    person = f'[[people]]\nname = "Eve"\nroles = ["curator"]\nkey = "{line}"\n'
    path.write_text(path.read_text().replace("[reuse]", f"{person}\n[reuse]"))
    for name in ("Bo", "Eve"):
        with pytest.raises(InputError, match="was changed after the set was sealed"):
            open_sealed(lab.sealed, lab.key(name), "evaluate")
    resign(lab, "Bo")
    messages = problems(lab)
    assert "00000001.json: does not follow from the manifest" in messages
    assert "is not wrapped for 'Eve' as policy and log require" in messages


def test_an_edited_policy_of_a_whole_new_log_needs_the_curators_signature(
    lab: SealedLab,
) -> None:
    checkpoint = lab.folder / "checkpoint.json"
    write_checkpoint(lab.sealed, checkpoint, key=lab.key_file("Cem"))
    resign(lab, "Bo")  # another time, so another manifest
    shutil.rmtree(lab.sealed / "audit")
    shutil.rmtree(lab.sealed / "results")
    policy = parse_policy((lab.sealed / "policy.toml").read_text(), "p")
    seal = PolicySeal(policy, lab.key("Bo"))
    log = log_of(lab.sealed, file_digest(lab.sealed / "manifest.json"), seal)
    first = next_event(
        [],
        bundle=log.root,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person="Bo",
        role="operator",
        step="sealed",
        facts={},
        seal=seal,
    )
    log.append_event(first)
    log.write_head([first], "Bo")
    assert "was written by 'Bo', who may not seal" in problems(lab)
    assert "belongs to another log" in problems(lab, checkpoints=[checkpoint])


def test_a_missing_pyrage_is_named_with_its_extra(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, "pyrage")
    assert verify_sealed(lab.sealed).is_good  # signatures need none
    with pytest.raises(InputError, match=r"needs pyrage, .* pip install 'nodulebench\[keys\]'"):
        open_sealed(lab.sealed, lab.key("Bo"), "evaluate")


def test_an_event_is_what_ssh_keygen_verifies(lab: SealedLab) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    event = Event.model_validate_json((lab.sealed / "audit/00000002.json").read_bytes())
    (lab.folder / "signers").write_text(f"Bo {lab.line('Bo')}\n")
    (lab.folder / "event.sig").write_text(armored(event.code))
    words = ["-Y", "verify", "-f", "signers", "-I", "Bo", "-n", "nodulebench", "-s", "event.sig"]
    done = subprocess.run(
        ["ssh-keygen", *words], input=event.unsigned_bytes, cwd=lab.folder, check=False
    )
    assert done.returncode == 0


def test_any_flipped_byte_of_the_vault_and_the_log_is_found(lab: SealedLab) -> None:
    paths = [lab.sealed / "vault.json", *sorted((lab.sealed / "audit").iterdir())]
    for path in paths:
        original = path.read_bytes()
        for place in range(0, len(original), max(1, len(original) // 12)):
            changed = bytearray(original)
            changed[place] ^= 1 << place % 7
            path.write_bytes(bytes(changed))
            assert path.name in problems(lab), (path.name, place)
        path.write_bytes(original)
    assert verify_sealed(lab.sealed).is_good
