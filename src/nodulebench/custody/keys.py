"""Admit people to a sealed set, and replace or revoke keys; each change is an event of the log.

The data keys do not change: they are wrapped for other keys. Only ``rekey`` seals everything again
under new data keys. Earlier signatures remain valid, because each event is checked with the key
that its person had at that point of the log.
"""

import json
from dataclasses import dataclass
from pathlib import Path

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
    "Each person has their own key, which signs their actions and opens what their role needs."
)
WITHOUT_KEYS = (
    "One secret opens everything for all who share it: the names in the log are not verified, and "
    "each of them can decrypt the reference without a trace."
)


def storage_statement(policy: CustodyPolicy, *, encrypts_images: bool) -> str:
    """Return how a set is stored, for its datasheet: what is protected, and what is not."""
    return STORAGE.format(
        images="encrypted as well" if encrypts_images else "in plain form",
        keys=WITH_KEYS if policy.has_keys else WITHOUT_KEYS,
    )


def sealer(policy: CustodyPolicy, secret: Secret, named: str, where: str) -> str:
    """Return who seals: identified by their key if the policy names keys, else as stated.

    Raises:
        InputError: if the key is not in the policy, or belongs to another person.
    """
    key = secret.key
    if key is None:
        if policy.has_keys:
            raise InputError.at(
                where,
                "names people's keys, and none of these was given.",
                "Give your own key with --key, without --vault-key or --passphrase-file.",
            )
        return named
    person = next((known.name for known in policy.people if known.key == key.public.line), None)
    if person is None:
        what = f"lists no person with the key {key.public.fingerprint}."
        raise InputError.at(where, what, f'Add to your entry: key = "{key.public.line}"')
    if named and named != person:
        raise InputError.at("key", f"belongs to '{person}', who cannot act as '{named}'.")
    return person


def log_seal(secret: Secret, policy: CustodyPolicy, vault: Vault) -> EventSigner:
    """Return what signs the first events of a set."""
    return PolicySeal(policy, secret.key) if policy.has_keys else vault_seal(vault)


def vault_of(stage: Path, secret: Secret, policy: CustodyPolicy) -> Vault:
    """Return the vault that an interrupted run began, or a new one.

    Raises:
        InputError: if that run had another secret, or wrapped keys for other people.
    """
    path = stage / layout.VAULT
    if not path.is_file():
        vault, header = _new_vault(secret, policy)
        replace_whole(path, (json.dumps(header, indent=1, ensure_ascii=False) + "\n").encode())
        return vault
    try:
        header = read_json(path)
        if has_compartments(header) and holders_of(header, str(path)) != holders(policy):
            raise InputError.at(path, "is wrapped for other people than the policy now names.")
        return opened_vault(header, secret, str(path))
    except InputError as error:
        raise InputError(
            [
                *error.problems,
                Problem(
                    str(stage),
                    "was left by an interrupted run with another secret.",
                    "Give the same secret, or remove that folder to start again.",
                ),
            ]
        ) from error


def holders(policy: CustodyPolicy) -> list[Holder]:
    """Return for whom to wrap a set's keys: all people with keys, by what their roles need."""
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
    """A person's key and what it opens."""

    person: str
    roles: tuple[str, ...]
    fingerprint: str
    """As ``ssh-keygen -l`` shows it; empty: no key, or it was revoked."""
    line: str
    compartments: tuple[str, ...]
    since: int
    """The number of the event from which the key is valid."""


def list_keys(sealed: Path) -> list[KeyRow]:
    """List all people of a sealed set with their current keys; nothing is decrypted.

    Raises:
        InputError: if log or policy were changed, or the set has one shared secret.
    """
    state = examine(sealed)
    if state.problems:
        raise InputError(state.problems)
    _require_personal_keys(state.has_keys, sealed)
    since: dict[str, int] = {}
    for event in state.check.events:
        if event.step == "sealed":
            since = dict.fromkeys((person.name for person in state.policy.people), event.number)
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
        for person in state.policy.people
    ]


def admit(
    sealed: Path, secret: Secret, person: str, *, subject: str, roles: tuple[str, ...], key: Path
) -> Event:
    """Admit a new person, or a known person with other roles or after a revocation.

    Args:
        sealed: the set.
        secret: the key custodian's key.
        person: who acts; may be empty.
        subject: the person to admit.
        roles: their roles.
        key: their public key, a ``.pub`` file.

    Raises:
        InputError: if the actor is not a key custodian, or the policy's rules forbid it.
    """
    opened = open_sealed(sealed, secret, person, "manage")
    facts: dict[str, Fact] = {
        "subject": subject,
        "roles": ", ".join(roles),
        "key": read_public_key(key).line,
    }
    return _change(opened, "admitted", facts)


def rotate(sealed: Path, secret: Secret, person: str, *, key: Path, subject: str = "") -> Event:
    """Replace one's own key or, as the key custodian, another person's lost key.

    Raises:
        InputError: if it is another person's key and the actor is not a key custodian.
    """
    line = read_public_key(key).line
    opened = open_sealed(sealed, secret, person, None if not subject else "manage")
    whose = subject or opened.person
    known = {known_person.name: known_person.key for known_person in opened.policy.people}
    if not known.get(whose):
        raise InputError.at(
            "policy", f"has no key of '{whose}'.", "Admit them: nodulebench custody admit"
        )
    return _change(opened, "rotated", {"subject": whose, "key": line, "was": known[whose]})


def revoke(sealed: Path, secret: Secret, person: str, *, subject: str, reason: str) -> Event:
    """Revoke a key: from this event on nothing is wrapped for it, and it signs nothing valid.

    Raises:
        InputError: if the actor is not a key custodian, no reason is given, or it is the last key.
    """
    if not reason.strip():
        raise InputError.at("revoke", "has no reason.", "Give --reason; it is logged.")
    opened = open_sealed(sealed, secret, person, "manage")
    known = {known_person.name: known_person.key for known_person in opened.policy.people}
    facts: dict[str, Fact] = {"subject": subject, "reason": reason.strip()}
    return _change(opened, "revoked", {**facts, "was": known.get(subject, "")})


def rekey(sealed: Path, secret: Secret, person: str, progress: Progress = no_progress) -> Event:
    """Seal a whole set again under new data keys, after a key was revoked or stolen.

    Args:
        sealed: a set whose people have keys.
        secret: the key custodian's key.
        person: who acts; may be empty.
        progress: receives the number of files sealed again.

    Raises:
        InputError: if the actor is not a key custodian, or the set has one shared secret.
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
    header: JsonObject = read_json(where)
    _require_personal_keys(isinstance(opened.vault, CompartmentVault), opened.folder)
    policy = _changed(opened.policy, step, facts)
    if policy == opened.policy:  # as after a run that was killed at its very end
        what = f"already has this entry for '{facts['subject']}'."
        raise InputError.at("policy", what, "There is nothing left to do.")
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
        raise AssertionError("the vault has compartments")
    return opened.vault


def _require_personal_keys(has_keys: bool, sealed: Path) -> None:
    if not has_keys:
        raise InputError.at(
            str(sealed),
            "has one shared secret, and no personal keys.",
            "Seal the set again with a policy that names people's keys.",
        )


def _seal_again(
    opened: SealedSet, vault: CompartmentVault, files: Path, progress: Progress
) -> tuple[set[Path], list[str]]:
    """Seal everything again; return the stored results, and results that the log does not name."""
    results = stored_result_files(opened.folder, opened.events)
    sources = [(opened.folder / layout.sealed_file(name), name) for name in opened.secret_names]
    sources += [
        (path, f"{layout.RESULTS}/{path.name.removesuffix(layout.SUFFIX)}")
        for path in sorted(results)
    ]
    for number, (path, name) in enumerate(sources, start=1):
        plain = opened.vault.open(path.read_bytes(), name, str(path))
        put(files, path.relative_to(opened.folder).as_posix(), vault.seal(plain, name))
        progress("sealing again", number, len(sources))
    named = {f"{layout.RESULTS}/{path.name}" for path in results}
    return results, [result for result in sealed_results(opened.folder) if result not in named]
