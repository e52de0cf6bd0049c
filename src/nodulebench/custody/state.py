"""Sealed test set -> how it stands: its log, its policy and its files as the log left them.

Everything that opens or checks a set begins here. Nothing is written, and nothing is decrypted.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, Problem
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
    """A sealed set as it stands."""

    folder: Path
    bundle: str
    """Digest of the signed manifest: which set it is."""
    manifest: Manifest
    """As it was signed."""
    changed: dict[str, str | None]
    """Files that are no longer those of the manifest; None: removed."""
    policy: CustodyPolicy
    """As the log left it: who has which role and key now."""
    header: Any
    """Of the vault."""
    log: EventLog[Event]
    check: LogCheck[Event]
    vault: Vault | None = field(repr=False)
    """Opened with the secret; None: without one, or it opens nothing."""
    problems: list[Problem]
    """Why the secret opens nothing, what is wrong with the log, which changes are missing."""

    @property
    def listed(self) -> dict[str, str]:
        """The files that the set has now, with their digests."""
        return with_changes(self.manifest.files, self.changed)

    @property
    def changes(self) -> list[str]:
        """Changes that the log names, by digest."""
        return [name for event in self.check.events if (name := change_named(event))]

    @property
    def pending(self) -> list[str]:
        """Changes whose files are not all in their places."""
        return [name for name in self.changes if is_pending(self.folder, name)]

    @property
    def has_keys(self) -> bool:
        """Whether each person has a key, so that nobody can pass for somebody else."""
        return has_compartments(self.header)


def examine(folder: Path, secret: Secret | None = None) -> Examined:
    """See how a sealed set stands.

    Args:
        folder: a sealed set.
        secret: opens the vault; without it codes under a shared secret are not checked. The
            signatures of people are checked without any secret.

    Raises:
        InputError: if manifest, policy or vault cannot be read at all.
    """
    manifest = read_manifest(folder)
    bundle = bytes_digest((folder / MANIFEST).read_bytes())
    seen = audit.log_of(folder, bundle).check().events  # not yet believed: each is checked below
    changed, problems = changes_of(seen, lambda digest: read_change(folder, digest))
    listed = with_changes(manifest.files, changed)
    text = _content(folder, layout.POLICY, listed).decode("utf-8", "replace")
    policy = parse_policy(text, layout.POLICY)
    header = parse_json(_content(folder, layout.VAULT, listed), folder / layout.VAULT)
    vault, unopened = _opened(header, secret, str(folder / layout.VAULT))
    seal = _seal(policy, vault, secret)
    if changed and seal is None:
        what = "was changed after it was sealed, by events whose codes need the vault's secret."
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
    """What makes and checks the codes of a log under a shared secret."""
    return SharedSecretSigner(lambda content: vault.authenticator(content, LOG_PURPOSE))


def opened_vault(header: Any, secret: Secret, where: str) -> Vault:
    """Open a vault as far as a secret opens it.

    Raises:
        InputError: if it does not open with this secret, or not with this kind.
    """
    if has_compartments(header):
        if secret.key is None:
            raise InputError.at(
                where, f"opens with keys of people, not with a {secret.kind}.", "Give --key."
            )
        return open_compartments(header, secret.key, where, layout.compartment_of)
    if secret.key is not None:
        raise InputError.at(
            where,
            "opens with one secret for all, and knows no keys of people.",
            "Give --vault-key or --passphrase-file.",
        )
    return open_vault(header, secret, where)


def holder_problems(found: Examined) -> list[Problem]:
    """Parts of the vault that are wrapped for others than those whom policy and log name."""
    where = str(found.folder / layout.VAULT)
    if not found.has_keys:
        return []
    wanted = {
        person.name: (person.key, compartments_of(person.roles))
        for person in found.policy.people
        if person.key
    }
    try:
        holders = holders_of(found.header, where)
    except InputError as error:
        return list(error.problems)
    return [
        Problem(where, f"does not wrap for '{name}' what policy and log say.")
        for name in sorted({*wanted, *(one.person for one in holders)})
        if [wanted.get(name)]
        != [(holder.key.line, holder.compartments) for holder in holders if holder.person == name]
    ]


def person_of(found: Examined, secret: Secret, named: str) -> str:
    """Who somebody is: by their key, or, under a shared secret, by their word.

    Raises:
        InputError: if the key is nobody's.
    """
    if secret.key is None:
        if not named:
            raise InputError.at("set", "has one secret for all.", "Say who you are with --as.")
        return named
    line = secret.key.public.line
    person = next((one.name for one in found.policy.people if one.key == line), None)
    if person is None:
        raise InputError.at(
            "policy",
            f"knows nobody with the key {secret.key.public.fingerprint}: it is another, or was "
            "replaced or revoked.",
        )
    return person


def _seal(policy: CustodyPolicy, vault: Vault | None, secret: Secret | None) -> EventSigner | None:
    if not policy.has_keys:
        return None if vault is None else vault_seal(vault)
    key = None if secret is None else secret.key
    return PolicySeal(policy, key)


def _opened(header: Any, secret: Secret | None, where: str) -> tuple[Vault | None, list[Problem]]:
    if secret is None or (secret.key is not None and not has_compartments(header)):
        return None, []  # somebody's own key says nothing of a set that knows none
    try:
        return opened_vault(header, secret, where), []
    except InputError as error:
        return None, list(error.problems)


def _content(folder: Path, name: str, listed: dict[str, str]) -> bytes:
    """A file as it shall be, in its place or ready for it; else as it is, which others tell."""
    found = content_of(folder, name, listed.get(name, ""))
    if found is not None:
        return found
    path = folder / name
    if not path.is_file():
        raise InputError.at(path, "is not there.")
    return path.read_bytes()
