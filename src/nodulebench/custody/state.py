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
from nodulebench.security.event_log.log import EventLog, LogCheck
from nodulebench.security.event_log.signers import EventSigner, SharedSecretSigner
from nodulebench.security.vault import (
    Secret,
    Vault,
    has_compartments,
    holders_of,
    open_compartments,
    open_vault,
)

LOG_PURPOSE = "audit log"


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
    """The vault opened with the secret; None: no secret, or it does not open the vault."""
    problems: list[Problem]
    """Why the vault does not open, problems of the log, and missing changes."""

    @property
    def listed(self) -> dict[str, str]:
        """Current files of the set, with their digests."""
        return with_changes(self.manifest.files, self.changed)

    @property
    def changes(self) -> list[str]:
        """Digests of the changes in the log."""
        return [name for event in self.check.events if (name := change_named(event))]

    @property
    def pending(self) -> list[str]:
        """Changes that are not completely applied."""
        return [name for name in self.changes if is_pending(self.folder, name)]

    @property
    def has_keys(self) -> bool:
        """Whether each person has a key, so that no one can impersonate another."""
        return has_compartments(self.header)


def examine(folder: Path, secret: Secret | None = None) -> Examined:
    """Examine a sealed set.

    Args:
        folder: a sealed set.
        secret: opens the vault; without it, codes made with a shared secret are not checked.
            People's signatures are checked without any secret.

    Raises:
        InputError: if manifest, policy or vault cannot be read at all.
    """
    manifest = read_manifest(folder)
    bundle = bytes_digest((folder / MANIFEST).read_bytes())
    seen = audit.log_of(folder, bundle).check().events  # not trusted yet: each is checked below
    changed, problems = changes_of(seen, lambda digest: read_change(folder, digest))
    listed = with_changes(manifest.files, changed)
    text = _content(folder, layout.POLICY, listed).decode("utf-8", "replace")
    policy = parse_policy(text, layout.POLICY)
    header = parse_json(_content(folder, layout.VAULT, listed), folder / layout.VAULT)
    vault, unopened = _opened(header, secret, str(folder / layout.VAULT))
    seal = _seal(policy, vault, secret)
    if changed and seal is None:
        what = "was changed after sealing, by events whose codes need the vault's secret."
        problems.append(Problem(str(folder), what, "Give --vault-key or --passphrase-file."))
    log = audit.log_of(folder, bundle, seal)
    check = log.check()
    now = seal.policy_now() if isinstance(seal, PolicySeal) else policy
    return Examined(
        folder,
        bundle,
        manifest,
        changed,
        now,
        header,
        log,
        check,
        vault,
        [*unopened, *check.problems, *problems],
    )


def vault_seal(vault: Vault) -> EventSigner:
    """Return what creates and checks the codes of a log with a shared secret."""
    return SharedSecretSigner(lambda content: vault.authenticator(content, LOG_PURPOSE))


def opened_vault(header: JsonObject, secret: Secret, where: str) -> Vault:
    """Open what a secret opens of a vault.

    Raises:
        InputError: if the vault does not open with this secret, or with this kind of secret.
    """
    if has_compartments(header):
        if secret.key is None:
            raise InputError.at(
                where, f"opens with personal keys, not with a {secret.kind}.", "Give --key."
            )
        return open_compartments(header, secret.key, where, layout.compartment_of)
    if secret.key is not None:
        raise InputError.at(
            where,
            "opens with one shared secret, not with personal keys.",
            "Give --vault-key or --passphrase-file.",
        )
    return open_vault(header, secret, where)


def holder_problems(state: Examined) -> list[Problem]:
    """Return problems of a vault that is not wrapped for the people in policy and log."""
    where = str(state.folder / layout.VAULT)
    if not state.has_keys:
        return []
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


def person_of(state: Examined, secret: Secret, named: str) -> str:
    """Return who acts: identified by their key or, under a shared secret, as stated.

    Raises:
        InputError: if the key does not belong to a person in the policy.
    """
    if secret.key is None:
        if not named:
            raise InputError.at("set", "has one shared secret.", "Give your name with --as.")
        return named
    line = secret.key.public.line
    person = next((listed.name for listed in state.policy.people if listed.key == line), None)
    if person is None:
        raise InputError.at(
            "policy",
            f"lists no person with the key {secret.key.public.fingerprint}: it is unknown, or was "
            "replaced or revoked.",
            "Use your current key, or ask the key custodian to admit you.",
        )
    return person


def _seal(policy: CustodyPolicy, vault: Vault | None, secret: Secret | None) -> EventSigner | None:
    if not policy.has_keys:
        return None if vault is None else vault_seal(vault)
    key = None if secret is None else secret.key
    return PolicySeal(policy, key)


def _opened(
    header: JsonObject, secret: Secret | None, where: str
) -> tuple[Vault | None, list[Problem]]:
    if secret is None or (secret.key is not None and not has_compartments(header)):
        return None, []  # a personal key means nothing to a set without personal keys
    try:
        return opened_vault(header, secret, where), []
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
