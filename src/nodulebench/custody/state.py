"""Current state of a sealed test set: its log, and its policy and files after all changes.

Everything that opens or checks a set begins here. Nothing is written, and nothing is decrypted.
"""

from dataclasses import dataclass, field
from pathlib import Path

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.custody import audit, layout
from nodulebench.custody.audit import Event, PolicySeal
from nodulebench.custody.changes import (
    change_named,
    changes_of,
    content_of,
    is_pending,
    read_change,
    with_changes,
)
from nodulebench.custody.policy import CustodyPolicy, compartments_of, parse_policy
from nodulebench.io.json_files import parse_json
from nodulebench.io.manifests import MANIFEST, Manifest, bytes_digest, read_manifest
from nodulebench.security.event_log import EventLog, LogCheck
from nodulebench.security.keys import PrivateKey
from nodulebench.security.vault import SHARED_SECRET_SCHEMA, Vault, holders_of, open_vault


@dataclass(frozen=True, slots=True)
class Examined:
    """The current state of a sealed set."""

    folder: Path
    bundle: str
    """Digest of the signed manifest, which identifies the set."""
    manifest: Manifest
    """The signed manifest."""
    changed: dict[str, str | None]
    """Files that differ from the manifest; None: removed."""
    policy: CustodyPolicy
    """The policy after all events: current roles and keys."""
    header: JsonObject
    """Header of the vault."""
    log: EventLog[Event]
    check: LogCheck[Event]
    vault: Vault | None = field(repr=False)
    """The vault opened with a key; None: no key, or it opens nothing."""
    problems: list[Problem]
    """Why the vault does not open, problems of the log, and missing changes."""

    @property
    def listed(self) -> dict[str, str]:
        return with_changes(self.manifest.files, self.changed)

    @property
    def changes(self) -> list[str]:
        return [name for event in self.check.events if (name := change_named(event))]

    @property
    def pending(self) -> list[str]:
        return [name for name in self.changes if is_pending(self.folder, name)]


def examine(folder: Path, own_key: PrivateKey | None = None) -> Examined:
    """Examine a sealed set."""
    manifest = read_manifest(folder)
    bundle = bytes_digest((folder / MANIFEST).read_bytes())
    seen = audit.log_of(folder, bundle).check().events  # not trusted yet: each is checked below
    changed, problems = changes_of(seen, lambda digest: read_change(folder, digest))
    listed = with_changes(manifest.files, changed)
    where = folder / layout.VAULT
    header = parse_json(_content(folder, layout.VAULT, listed), where)
    _require_personal_keys(header, where)
    text = _content(folder, layout.POLICY, listed).decode("utf-8", "replace")
    policy = parse_policy(text, layout.POLICY)
    vault, unopened = _opened(header, own_key, str(where))
    seal = PolicySeal(policy, own_key)
    log = audit.log_of(folder, bundle, seal)
    check = log.check()
    return Examined(
        folder,
        bundle,
        manifest,
        changed,
        seal.policy_now(),
        header,
        log,
        check,
        vault,
        [*unopened, *check.problems, *problems],
    )


def _require_personal_keys(header: JsonObject, where: Path) -> None:
    if isinstance(header, dict) and header.get("schema") == SHARED_SECRET_SCHEMA:
        raise InputError.at(
            where,
            "opens with one shared secret: anybody who has it could act in any name.",
            "Seal the bundle again with a policy that names each person's key: see "
            "nodulebench custody new-key.",
        )


def opened_vault(header: JsonObject, own_key: PrivateKey, where: str) -> Vault:
    """Open what a person's key opens of a vault."""
    _require_personal_keys(header, Path(where))
    return open_vault(header, own_key, where, layout.compartment_of)


def holder_problems(state: Examined) -> list[Problem]:
    """Return problems of a vault that is not wrapped for the people in policy and log."""
    where = str(state.folder / layout.VAULT)
    wanted = {
        person.name: (person.key, compartments_of(person.roles))
        for person in state.policy.people
        if person.key
    }
    try:
        holders = holders_of(state.header, where)
    except InputError as error:
        return list(error.problems)
    return [
        Problem(where, f"is not wrapped for '{name}' as policy and log require.")
        for name in sorted({*wanted, *(holder.person for holder in holders)})
        if [wanted.get(name)]
        != [(holder.key.line, holder.compartments) for holder in holders if holder.person == name]
    ]


def person_of(state: Examined, own_key: PrivateKey) -> str:
    """Return who acts, identified by their key."""
    line = own_key.public.line
    person = next((listed.name for listed in state.policy.people if listed.key == line), None)
    if person is None:
        raise InputError.at(
            "policy",
            f"lists no person with the key {own_key.public.fingerprint}: it is unknown, or was "
            "replaced or revoked.",
            "Use your current key, or ask the key custodian to admit you.",
        )
    return person


def _opened(
    header: JsonObject, own_key: PrivateKey | None, where: str
) -> tuple[Vault | None, list[Problem]]:
    if own_key is None:
        return None, []
    try:
        return opened_vault(header, own_key, where), []
    except InputError as error:
        return None, list(error.problems)


def _content(folder: Path, name: str, listed: dict[str, str]) -> bytes:
    """Return a file as listed, from the set or a stage; otherwise as it is, reported elsewhere."""
    content = content_of(folder, name, listed.get(name, ""))
    if content is not None:
        return content
    path = folder / name
    if not path.is_file():
        raise InputError.at(path, "does not exist.", "Restore it from a copy.")
    return path.read_bytes()
