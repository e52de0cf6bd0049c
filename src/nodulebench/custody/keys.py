"""Admit people to a sealed set, and replace or revoke keys; each change is an event of the log.

The data keys do not change: they are wrapped for other keys. Only ``rekey`` seals everything again
under new data keys. Earlier signatures remain valid, because each event is checked with the key
that its person had at that point of the log.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.custody import layout
from nodulebench.custody.changes import commit, put, put_json, staged, staging
from nodulebench.custody.events import Event, Step, policy_after, why_not
from nodulebench.custody.policy import COMPARTMENTS, CustodyPolicy, compartments_of
from nodulebench.custody.sealed_set import SealedSet, examine, open_sealed
from nodulebench.custody.stored_results import (
    require_no_evaluation_meanwhile,
    sealed_results,
    stored_result_files,
)
from nodulebench.io.json_files import read_json
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey, parse_public_key, read_public_key
from nodulebench.security.vault import Holder, Vault, new_vault, vault_header, without_holder

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject


def holders(policy: CustodyPolicy) -> list[Holder]:
    """Return for whom to wrap a set's keys: all people with keys, by what their roles need."""
    return [
        Holder(person.name, parse_public_key(person.key), compartments_of(person.roles))
        for person in policy.people
        if person.key
    ]


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
    state = examine(sealed)
    if state.problems:
        raise InputError(state.problems)
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
    sealed: Path, own_key: PrivateKey, *, subject: str, roles: tuple[str, ...], key: Path
) -> Event:
    """Admit a new person, or a known person with other roles or after a revocation."""
    opened = open_sealed(sealed, own_key, "manage")
    facts: dict[str, Fact] = {
        "subject": subject,
        "roles": ", ".join(roles),
        "key": read_public_key(key).line,
    }
    return _change(opened, "admitted", facts)


def rotate(sealed: Path, own_key: PrivateKey, *, key: Path, subject: str = "") -> Event:
    """Replace one's own key or, as the key custodian, another person's lost key."""
    line = read_public_key(key).line
    opened = open_sealed(sealed, own_key, None if not subject else "manage")
    whose = subject or opened.person
    known = {known_person.name: known_person.key for known_person in opened.policy.people}
    if not known.get(whose):
        raise InputError.at(
            "policy", f"has no key of '{whose}'.", "Admit them: nodulebench keys admit"
        )
    return _change(opened, "rotated", {"subject": whose, "key": line, "was": known[whose]})


def revoke(sealed: Path, own_key: PrivateKey, *, subject: str, reason: str) -> Event:
    """Revoke a key: from this event on nothing is wrapped for it, and it signs nothing valid."""
    if not reason.strip():
        raise InputError.at("revoke", "has no reason.", "Give --reason; it is logged.")
    opened = open_sealed(sealed, own_key, "manage")
    known = {known_person.name: known_person.key for known_person in opened.policy.people}
    facts: dict[str, Fact] = {"subject": subject, "reason": reason.strip()}
    return _change(opened, "revoked", {**facts, "was": known.get(subject, "")})


def rekey(sealed: Path, own_key: PrivateKey, progress: Progress = no_progress) -> Event:
    """Seal a whole set again under new data keys, after a key was revoked or stolen."""
    opened = open_sealed(sealed, own_key, "manage")
    vault, people = new_vault(COMPARTMENTS, layout.compartment_of), holders(opened.policy)
    with staging(opened.folder) as files:
        again, unnamed = _seal_again(opened, vault, files, progress)
        put_json(files, layout.VAULT, vault_header(vault, people))
        change = staged(opened.folder, files, unnamed, opened.manifest.files)

        def facts(events: list[Event]) -> dict[str, Fact]:
            require_no_evaluation_meanwhile(opened, events, again)
            return {"people": len(people)}

        return commit(opened, "rekeyed", facts, change)


def _change(opened: SealedSet, step: Step, facts: dict[str, Fact]) -> Event:
    header: JsonObject = read_json(opened.folder / layout.VAULT)
    policy = _changed(opened.policy, step, facts)
    if policy == opened.policy:  # as after a run that was killed at its very end
        what = f"already has this entry for '{facts['subject']}'."
        raise InputError.at("policy", what, "There is nothing left to do.")
    subject = str(facts["subject"])
    if step == "revoked":
        header = without_holder(header, subject)
    else:
        new = [holder for holder in holders(policy) if holder.person == subject]
        header = vault_header(opened.vault, new, header)
    with staging(opened.folder) as files:
        put_json(files, layout.VAULT, header)
        change = staged(opened.folder, files, (), opened.manifest.files)
        return commit(opened, step, facts, change)


def _changed(policy: CustodyPolicy, step: Step, facts: dict[str, Fact]) -> CustodyPolicy:
    try:
        return policy_after(policy, step, facts)
    except ValueError as error:
        raise InputError.at("policy", f"does not allow it: {why_not(error)}.") from error


def _seal_again(
    opened: SealedSet, vault: Vault, files: Path, progress: Progress
) -> tuple[set[Path], list[str]]:
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
