"""A sealed test set, opened by somebody for something: its secrets in memory, its log kept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodulebench.custody import audit, layout
from nodulebench.custody.audit import Event, Fact, Step
from nodulebench.custody.policy import CustodyPolicy, parse_policy
from nodulebench.custody.roles import Action, Role
from nodulebench.errors import InputError, Problem, refuse_any
from nodulebench.formats.bundle import reference_from
from nodulebench.model.tables import Reference
from nodulebench.storage.digest import bytes_digest, file_digest
from nodulebench.storage.durable import LEFTOVER
from nodulebench.storage.event_log.log import EventLog
from nodulebench.storage.event_log.seal import CodeSeal, Seal
from nodulebench.storage.json_text import read_json
from nodulebench.storage.manifest import MANIFEST, Manifest, read_manifest
from nodulebench.storage.signature import check_signature
from nodulebench.storage.vault import Secret, Vault, open_vault

SCHEMA = "nodulebench/sealed@1"
LOG_PURPOSE = "audit log"


def is_sealed(folder: Path) -> bool:
    """Whether a folder says that it is a sealed test set."""
    return (folder / layout.SEALED_NOTE).is_file()


def vault_seal(vault: Vault) -> Seal:
    """What makes and checks the codes of a set's log."""
    return CodeSeal(lambda content: vault.authenticator(content, LOG_PURPOSE))


@dataclass(frozen=True, slots=True)
class SealedSet:
    """An open sealed set, and who opened it in which role."""

    folder: Path
    name: str
    policy: CustodyPolicy
    bundle: str
    """Digest of the signed manifest."""
    manifest: Manifest
    vault: Vault = field(repr=False)
    person: str
    role: Role | None

    @property
    def log(self) -> EventLog[Event]:
        """The log, written with the codes of who opened the set."""
        return audit.log_of(self.folder, self.bundle, vault_seal(self.vault))

    @property
    def events(self) -> list[Event]:
        """What was done so far.

        Raises:
            InputError: if anything in the log was changed or cut off.
        """
        return self.log.read()

    def record(
        self,
        step: Step,
        facts: dict[str, Fact] | Callable[[list[Event]], dict[str, Fact]],
        at: datetime | None = None,
    ) -> Event:
        """Write down what is done.

        Args:
            step: what.
            facts: more about it; or what makes them of the log so far, which is asked again where
                somebody else wrote to the log meanwhile.
            at: the time; None: now.

        Raises:
            InputError: if the log was tampered with, or as ``facts`` raises.
        """
        seal = vault_seal(self.vault)
        return self.log.append(
            lambda events: audit.next_event(
                events,
                bundle=self.bundle,
                at=at or datetime.now(UTC),
                person=self.person,
                role=self.role,
                step=step,
                facts=facts if isinstance(facts, dict) else facts(events),
                seal=seal,
            )
        )

    def plain(self, name: str) -> bytes:
        """A secret file of the set, in memory.

        Raises:
            InputError: if it was changed.
        """
        path = self.folder / layout.place_of(name).target
        return self.vault.open(path.read_bytes(), name, str(path))

    @property
    def secret_names(self) -> list[str]:
        """The files that are sealed, by their names in the plain set."""
        start, end = len(layout.SECRETS) + 1, -len(layout.SUFFIX)
        listed = self.manifest.files
        return [name[start:end] for name in listed if name.startswith(f"{layout.SECRETS}/")]

    def reference(self) -> Reference:
        """The reference standard, in memory only."""
        tables = [name for name in self.secret_names if "/" not in name]
        wanted = [name for name in tables if name == MANIFEST or name.endswith(".parquet")]
        return reference_from({name: self.plain(name) for name in wanted}, self.folder)


def open_sealed(folder: Path, secret: Secret, person: str, action: Action) -> SealedSet:
    """Open a sealed set for something, if the person may do it; refusals stand in the log.

    The signature and every file but the images are checked; ``verify`` checks the images too.

    Raises:
        InputError: if anything was changed, the secret is another, or the person may not.
    """
    manifest = _checked_manifest(folder)
    policy = parse_policy((folder / layout.POLICY).read_text(encoding="utf-8"), layout.POLICY)
    note = read_note(folder)
    vault_file = folder / layout.VAULT
    vault = open_vault(read_json(vault_file), secret, str(vault_file))
    content = (folder / MANIFEST).read_bytes()
    opened = SealedSet(
        folder, note["name"], policy, bytes_digest(content), manifest, vault, person, None
    )
    try:
        role = policy.role_of(person, action)
    except InputError as error:
        opened.record("refused", {"action": action, "reason": str(error)})
        raise
    return SealedSet(folder, note["name"], policy, opened.bundle, manifest, vault, person, role)


def read_note(folder: Path) -> dict[str, Any]:
    """What a sealed set says of itself.

    Raises:
        InputError: if it is none.
    """
    path = folder / layout.SEALED_NOTE
    note = read_json(path) if path.is_file() else None
    if not isinstance(note, dict) or note.get("schema") != SCHEMA or "name" not in note:
        raise InputError.at(
            str(folder), "is no sealed test set.", "Make one with: nodulebench seal"
        )
    return note


def refuse_inside(path: Path, folder: Path) -> None:
    """Refuse to write into a sealed set what is none of it.

    Raises:
        InputError: if the path lies in it.
    """
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError.at(str(path), "lies in the sealed set itself.", "Keep it somewhere else.")


def is_leftover(path: Path) -> bool:
    """Whether a file is what a killed process left behind."""
    return LEFTOVER.fullmatch(path.name) is not None


def _checked_manifest(folder: Path) -> Manifest:
    """The manifest, if its signature holds and all files but the images are as it says."""
    read_note(folder)
    check_signature(folder)
    manifest = read_manifest(folder)
    images = f"{layout.PAYLOAD}/{layout.IMAGES}/"
    problems = []
    for name, digest in manifest.files.items():
        path = folder / name
        if name.startswith(images):
            continue
        if not path.is_file():
            problems.append(Problem(str(path), f"is listed in {MANIFEST}, but is not there."))
        elif file_digest(path) != digest:
            problems.append(Problem(str(path), "was changed after the set was sealed."))
    if manifest.signed is None:
        problems.append(Problem(str(folder / MANIFEST), "is not signed."))
    refuse_any(problems)
    return manifest
