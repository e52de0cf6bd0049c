"""A change replaces only the files of its step, regardless of who signs it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.sealed import SealedLab, make_lab, new_person
from nodulebench.core.errors import InputError
from nodulebench.custody.changes import Change, put, staged, staging
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.events import Step
from nodulebench.custody.policy import compartments_of
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.custody.verify import verify_sealed
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.vault import Holder, vault_header

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    lab = make_lab(tmp_path_factory.mktemp("keyed"))
    lab.seal()
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0"))
    return lab


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path) -> SealedLab:
    shutil.copytree(made.folder, tmp_path / "lab")
    return SealedLab(tmp_path / "lab")


def forge(
    lab: SealedLab,
    person: str,
    step: Step,
    files: dict[str, bytes | None],
    *,
    facts: Callable[[SealedSet], dict[str, Any]] = lambda _: {},
    is_applied: bool = False,
) -> None:
    """Write an event that names a change of one's own making, as another program could."""
    opened = open_sealed(lab.sealed, lab.key(person), None)
    with staging(lab.sealed) as stage:
        for name, content in files.items():
            if content is not None:
                put(stage, name, content)
        gone = [name for name, content in files.items() if content is None]
        change = staged(lab.sealed, stage, gone, opened.manifest.files)
        opened.record(step, {**facts(opened), "change": change.digest})
        if is_applied:
            change.apply()


def own_key(lab: SealedLab, person: str) -> dict[str, Any]:
    line = lab.line(person)
    return {"subject": person, "key": line, "was": line}


@pytest.mark.parametrize("is_applied", [False, True])
@pytest.mark.parametrize("name", ["policy.toml", "data/cases.csv", "datasheet.md", "notes.txt"])
def test_replacing_ones_own_key_replaces_nothing_else(
    lab: SealedLab, name: str, is_applied: bool
) -> None:
    path = lab.sealed / name
    text = path.read_text() if path.exists() else ""
    files = {
        name: text.replace(
            "evaluations_per_developer = 2", "evaluations_per_developer = 9"
        ).encode()
    }
    before = path.read_bytes() if path.exists() else None
    forge(
        lab,
        "Bo",
        "rotated",
        {**files, name: files[name] + b"\n"},
        facts=lambda _: own_key(lab, "Bo"),
        is_applied=is_applied,
    )
    messages = "\n".join(map(str, verify_sealed(lab.sealed).problems))
    assert f"changed '{name}', which this kind of event may not change" in messages
    for person in ("Ada", "Bo"):
        with pytest.raises(
            InputError, match=r"which this kind of event may not change|was changed"
        ):
            open_sealed(lab.sealed, lab.key(person), None)
    assert is_applied or (path.read_bytes() if path.exists() else None) == before


def test_no_one_is_listed_twice_in_the_vault(lab: SealedLab) -> None:
    new_person(lab, "Eve")
    opened = open_sealed(lab.sealed, lab.key("Bo"), None)
    header = json.loads((lab.sealed / "vault.json").read_text())
    stranger = Holder("Bo", lab.key("Eve").public, compartments_of(("operator",)))
    header["people"] = [
        *vault_header(opened.vault, [stranger])["people"],
        *header["people"],
    ]
    files = {"vault.json": json.dumps(header).encode()}
    facts = own_key(lab, "Bo")
    forge(lab, "Bo", "rotated", files, facts=lambda _: facts, is_applied=True)
    messages = "\n".join(map(str, verify_sealed(lab.sealed).problems))
    assert "vault.json: is not wrapped for 'Bo' as policy and log require" in messages


@pytest.mark.parametrize("step", ["evaluation_charged", "refused", "viewed", "inspected"])
def test_other_events_change_nothing(lab: SealedLab, step: Step) -> None:
    forge(lab, "Bo", step, {"vault.json": b"{}"})
    assert "which this kind of event may not change" in "\n".join(
        map(str, verify_sealed(lab.sealed).problems)
    )


def test_a_withdrawal_deletes_stored_results_and_puts_nothing_in_its_place(
    lab: SealedLab,
) -> None:
    (stored_file,) = (lab.sealed / "results").iterdir()
    name = f"results/{stored_file.name}"
    facts = {"cases": "scan1", "files": 1, "reason": "left"}
    forge(lab, "Ada", "withdrawn", {name: b"a better one"}, facts=lambda _: facts)
    messages = [str(problem) for problem in verify_sealed(lab.sealed).problems]
    assert f"event 4: changed '{name}', which this kind of event may not change." in messages


def test_no_change_leads_out_of_the_set(lab: SealedLab) -> None:
    change = Change(files={"data/../../outside.txt": bytes_digest(b"x"), "data//etc/x": None})
    opened = open_sealed(lab.sealed, lab.key("Ada"), "withdraw")
    stage = lab.sealed / "changes" / f".{change.digest[7:23]}.part"
    (stage / "files" / "data").mkdir(parents=True)
    (stage / "change.json").write_bytes(change.to_bytes())
    (stage / "outside.txt").write_bytes(b"x")
    opened.record("withdrawn", {"cases": "scan1", "change": change.digest})
    with pytest.raises(InputError, match="which this kind of event may not change"):
        open_sealed(lab.sealed, lab.key("Bo"), "evaluate")
    assert not (lab.folder / "outside.txt").exists()


def test_a_step_that_no_version_knows_is_named(lab: SealedLab) -> None:
    path = lab.sealed / "audit" / "00000003.json"
    path.write_bytes(path.read_bytes().replace(b'"evaluated"', b'"migrated"'))
    messages = "\n".join(map(str, verify_sealed(lab.sealed).problems))
    assert "00000003.json: was changed" in messages


def test_an_event_that_claims_a_role_of_others_is_named(lab: SealedLab) -> None:
    opened = open_sealed(lab.sealed, lab.key("Bo"), "evaluate")
    replace(opened, role="curator").record("refused", {})
    messages = "\n".join(map(str, verify_sealed(lab.sealed).problems))
    assert "names 'Bo' as curator" in messages
