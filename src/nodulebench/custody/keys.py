"""Sealed set + keys -> somebody admitted, a key replaced, a key revoked; each an event of the log.

The data keys stay: they are wrapped for other keys. Only ``rekey`` seals everything again under new
ones. What was signed before stays signed, since every event counts by the key that its person had
at its number.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.custody import layout
from nodulebench.custody.audit import Event, PolicySeal, Step, policy_after, why_not
from nodulebench.custody.changes import commit, put, put_json, staged, staging
from nodulebench.custody.policy import COMPARTMENTS, CustodyPolicy, compartments_of
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.custody.state import examine, opened_vault, vault_seal
from nodulebench.custody.stored_results import (
    require_no_evaluation_meanwhile,
    sealed_results,
    stored_result_files,
)
from nodulebench.io.atomic import replace_whole
from nodulebench.io.json_files import read_json
from nodulebench.security.event_log.events import Fact
from nodulebench.security.event_log.signers import EventSigner
from nodulebench.security.keys import (
    parse_public_key,
    read_public_key,
)
from nodulebench.security.vault import (
    CompartmentVault,
    Holder,
    Secret,
    Vault,
    create_vault,
    has_compartments,
    holders_of,
    new_compartments,
    without_holder,
    wrapped_compartments,
)

STORAGE = (
    "Reference and all other tables encrypted with AES-256-GCM; images {images}; every file "
    "listed with its SHA-256; the list signed with Ed25519; a hash-chained log of every use. {keys}"
)
WITH_KEYS = (
    "Each person has a key of their own, which signs what they do and opens what their role needs."
)
WITHOUT_KEYS = (
    "One secret opens everything for everybody: the log's names are as given by those who share "
    "it, and any of them can decrypt the reference without a trace."
)


def storage_statement(policy: CustodyPolicy, *, encrypts_images: bool) -> str:
    """How a set is kept, for its datasheet: what is protected, and what is not."""
    return STORAGE.format(
        images="encrypted as well" if encrypts_images else "in plain form",
        keys=WITH_KEYS if policy.has_keys else WITHOUT_KEYS,
    )


def sealer(policy: CustodyPolicy, secret: Secret, named: str, where: str) -> str:
    """Who seals: by their key where the policy knows keys, else by their word.

    Raises:
        InputError: if the key is nobody's in the policy, or somebody else's.
    """
    key = secret.key
    if key is None:
        if policy.has_keys:
            raise InputError.at(
                where,
                "names people's keys, and no such key was given.",
                "Give your own with --key, and neither --vault-key nor --passphrase-file.",
            )
        return named
    person = next((one.name for one in policy.people if one.key == key.public.line), None)
    if person is None:
        what = f"knows nobody with the key {key.public.fingerprint}."
        raise InputError.at(where, what, f'Write there: key = "{key.public.line}"')
    if named and named != person:
        raise InputError.at("key", f"is that of '{person}', who cannot act as '{named}'.")
    return person


def log_seal(secret: Secret, policy: CustodyPolicy, vault: Vault) -> EventSigner:
    """What makes the codes of a set's first events."""
    return PolicySeal(policy, secret.key) if policy.has_keys else vault_seal(vault)


def vault_of(stage: Path, secret: Secret, policy: CustodyPolicy) -> Vault:
    """The vault that an interrupted run began, or a new one.

    Raises:
        InputError: if that run had another secret, or wrapped keys for others.
    """
    path = stage / layout.VAULT
    if not path.is_file():
        vault, header = _new_vault(secret, policy)
        replace_whole(path, (json.dumps(header, indent=1, ensure_ascii=False) + "\n").encode())
        return vault
    try:
        header = read_json(path)
        if has_compartments(header) and holders_of(header, str(path)) != holders(policy):
            raise InputError.at(path, "is wrapped for others than the policy now names.")
        return opened_vault(header, secret, str(path))
    except InputError as error:
        raise InputError(
            [
                *error.problems,
                Problem(
                    str(stage),
                    "was left by an interrupted run with another secret.",
                    "Give the same secret, or remove that folder to begin anew.",
                ),
            ]
        ) from error


def holders(policy: CustodyPolicy) -> list[Holder]:
    """For whom a set's keys are wrapped: everybody with a key, as far as their roles need."""
    return [
        Holder(person.name, parse_public_key(person.key), compartments_of(person.roles))
        for person in policy.people
        if person.key
    ]


def _new_vault(secret: Secret, policy: CustodyPolicy) -> tuple[Vault, JsonObject]:
    if secret.key is None:
        return create_vault(secret)
    vault = new_compartments(COMPARTMENTS, layout.compartment_of)
    return vault, wrapped_compartments(vault, holders(policy))


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Whose key is whose, and what it opens."""

    person: str
    roles: tuple[str, ...]
    fingerprint: str
    """As ``ssh-keygen -l`` shows it; empty: the person has no key, or it was revoked."""
    line: str
    rooms: tuple[str, ...]
    since: int
    """The event from which on the key counts."""


def list_keys(sealed: Path) -> list[KeyRow]:
    """Everybody of a sealed set with their keys as they are now; nothing is opened.

    Raises:
        InputError: if log or policy were changed, or the set has one secret for all.
    """
    found = examine(sealed)
    if found.problems:
        raise InputError(found.problems)
    _require_personal_keys(found.has_keys, sealed)
    since: dict[str, int] = {}
    for event in found.check.events:
        if event.step == "sealed":
            since = dict.fromkeys((person.name for person in found.policy.people), event.number)
        elif event.step in ("admitted", "rotated", "revoked"):
            since[str(event.facts.get("subject"))] = event.number
    return [
        KeyRow(
            person.name,
            person.roles,
            parse_public_key(person.key).fingerprint if person.key else "",
            person.key,
            compartments_of(person.roles) if person.key else (),
            since.get(person.name, 1),
        )
        for person in found.policy.people
    ]


def admit(
    sealed: Path, secret: Secret, person: str, *, subject: str, roles: tuple[str, ...], key: Path
) -> Event:
    """Let one more person work with a set, or somebody with other roles or after a revocation.

    Args:
        sealed: the set.
        secret: the key custodian's key.
        person: who acts; may be empty.
        subject: who is admitted.
        roles: theirs.
        key: their public key, a ``.pub`` file.

    Raises:
        InputError: if who acts is no key custodian, or the policy's rules do not allow it.
    """
    opened = open_sealed(sealed, secret, person, "manage")
    facts: dict[str, Fact] = {
        "subject": subject,
        "roles": ", ".join(roles),
        "key": read_public_key(key).line,
    }
    return _change(opened, "admitted", facts)


def rotate(sealed: Path, secret: Secret, person: str, *, key: Path, subject: str = "") -> Event:
    """Put a new key in the place of one's own; or, as the key custodian, of one that somebody lost.

    Raises:
        InputError: if it is somebody else's key and who acts is no key custodian.
    """
    line = read_public_key(key).line
    opened = open_sealed(sealed, secret, person, None if not subject else "manage")
    whose = subject or opened.person
    known = {one.name: one.key for one in opened.policy.people}
    if not known.get(whose):
        raise InputError.at(
            "policy", f"knows no key of '{whose}'.", "Admit them: nodulebench custody admit"
        )
    return _change(opened, "rotated", {"subject": whose, "key": line, "was": known[whose]})


def revoke(sealed: Path, secret: Secret, person: str, *, subject: str, reason: str) -> Event:
    """Let a key count no more, from this event on: nothing is wrapped for it, none may sign.

    Raises:
        InputError: if the actor is not a key custodian, no reason is given, or nobody could act.
    """
    if not reason.strip():
        raise InputError.at("revoke", "has no reason.", "Say why in --reason; it is logged.")
    opened = open_sealed(sealed, secret, person, "manage")
    known = {one.name: one.key for one in opened.policy.people}
    facts: dict[str, Fact] = {"subject": subject, "reason": reason.strip()}
    return _change(opened, "revoked", {**facts, "was": known.get(subject, "")})


def rekey(sealed: Path, secret: Secret, person: str, progress: Progress = no_progress) -> Event:
    """Seal everything of a set again under new data keys, after a key was revoked or stolen.

    Args:
        sealed: a set whose people have keys.
        secret: the key custodian's key.
        person: who acts; may be empty.
        progress: told how many files were sealed again.

    Raises:
        InputError: if who acts is no key custodian, or the set has one secret for all.
    """
    opened = open_sealed(sealed, secret, person, "manage")
    _require_personal_keys(isinstance(opened.vault, CompartmentVault), sealed)
    vault, people = new_compartments(COMPARTMENTS, layout.compartment_of), holders(opened.policy)
    with staging(opened.folder) as files:
        again, unnamed = _seal_again(opened, vault, files, progress)
        put_json(files, layout.VAULT, wrapped_compartments(vault, people))
        change = staged(opened.folder, files, unnamed, opened.manifest.files)

        def facts(events: list[Event]) -> dict[str, Fact]:
            require_no_evaluation_meanwhile(opened, events, again)
            return {"people": len(people)}

        return commit(opened, "rekeyed", facts, change)


def _change(opened: SealedSet, step: Step, facts: dict[str, Fact]) -> Event:
    where = opened.folder / layout.VAULT
    header: Any = read_json(where)
    _require_personal_keys(isinstance(opened.vault, CompartmentVault), opened.folder)
    policy = _changed(opened.policy, step, facts)
    if policy == opened.policy:  # as after a run that was killed when it had done all
        what = f"says this of '{facts['subject']}' already."
        raise InputError.at("policy", what, "Nothing is left to be done.")
    subject = str(facts["subject"])
    if step == "revoked":
        header = without_holder(header, subject)
    else:
        new = [holder for holder in holders(policy) if holder.person == subject]
        header = wrapped_compartments(_compartments(opened), new, header)
    with staging(opened.folder) as files:
        put_json(files, layout.VAULT, header)
        change = staged(opened.folder, files, (), opened.manifest.files)
        return commit(opened, step, facts, change)


def _changed(policy: CustodyPolicy, step: Step, facts: dict[str, Fact]) -> CustodyPolicy:
    try:
        return policy_after(policy, step, facts)
    except ValueError as error:
        raise InputError.at("policy", f"does not allow it: {why_not(error)}.") from error


def _compartments(opened: SealedSet) -> CompartmentVault:
    if not isinstance(opened.vault, CompartmentVault):
        raise AssertionError("the vault has rooms")
    return opened.vault


def _require_personal_keys(has_keys: bool, sealed: Path) -> None:
    if not has_keys:
        raise InputError.at(
            str(sealed),
            "has one secret for all, and no keys of people.",
            "Seal the set again with a policy that names people's keys.",
        )


def _seal_again(
    opened: SealedSet, vault: CompartmentVault, files: Path, progress: Progress
) -> tuple[set[Path], list[str]]:
    """Seal everything again: the kept results that were, and files that no look came to name."""
    results = stored_result_files(opened.folder, opened.events)
    places = [(opened.folder / layout.sealed_file(name), name) for name in opened.secret_names]
    places += [
        (path, f"{layout.RESULTS}/{path.name.removesuffix(layout.SUFFIX)}")
        for path in sorted(results)
    ]
    for number, (path, name) in enumerate(places, start=1):
        plain = opened.vault.open(path.read_bytes(), name, str(path))
        put(files, path.relative_to(opened.folder).as_posix(), vault.seal(plain, name))
        progress("sealing anew", number, len(places))
    named = {f"{layout.RESULTS}/{path.name}" for path in results}
    return results, [result for result in sealed_results(opened.folder) if result not in named]
