"""Open a sealed test set for a person and an action: decrypt in memory and record in the log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Reference
from nodulebench.custody import audit, layout
from nodulebench.custody.audit import Event, Step
from nodulebench.custody.changes import apply_change, change_named, read_change
from nodulebench.custody.policy import Action, CustodyPolicy, Role
from nodulebench.custody.state import (
    Examined,
    examine,
    holder_problems,
    opened_vault,
    person_of,
)
from nodulebench.io.atomic import LEFTOVER
from nodulebench.io.bundle import SEALED_NOTE, reference_from
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import MANIFEST, Manifest, file_digest
from nodulebench.security.event_log import EventLog
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey
from nodulebench.security.signatures import check_signature
from nodulebench.security.vault import Vault

SCHEMA = "nodulebench/sealed@1"


@dataclass(frozen=True, slots=True)
class SealedSet:
    """An open sealed set, with the person and role that opened it."""

    folder: Path
    name: str
    policy: CustodyPolicy
    bundle: str
    """Digest of the signed manifest."""
    manifest: Manifest
    """The files after all changes in the log."""
    vault: Vault = field(repr=False)
    person: str
    role: Role | None
    log: EventLog[Event] = field(repr=False)
    """The log; new events have the code or signature of the person who opened the set."""
    changes: tuple[str, ...] = ()
    """Digests of the changes after sealing."""

    @property
    def events(self) -> list[Event]:
        return self.log.read()

    def record(
        self,
        step: Step,
        facts: dict[str, Fact] | Callable[[list[Event]], dict[str, Fact]],
        at: datetime | None = None,
    ) -> Event:
        """Write an event to the log.

        Args:
            step: the step.
            facts: the facts of the event, or a function that derives them from the log so far; it
                is called again if another process wrote to the log meanwhile.
            at: the time; None: now.

        Raises:
            InputError: if the log was tampered with, the set was changed since it was opened, or
                ``facts`` raises it.
        """
        seal = self.log.signer
        if seal is None:
            raise AssertionError("an open set has a signer")

        def following(events: list[Event]) -> Event:
            event = audit.next_event(
                events,
                bundle=self.bundle,
                at=at or datetime.now(UTC),
                person=self.person,
                role=self.role,
                step=step,
                facts=facts if isinstance(facts, dict) else facts(events),
                seal=seal,
            )
            self.require_unchanged(events)
            return event

        return self.log.append(following)

    def require_unchanged(self, events: list[Event]) -> None:
        """Require that no change was made to the set since it was opened."""
        if [name for event in events if (name := change_named(event))] != list(self.changes):
            what = "was changed by another process meanwhile."
            raise InputError.at(str(self.folder), what, "Run the command again.")

    def plain(self, name: str) -> bytes:
        path = self.folder / layout.sealed_file(name)
        return self.vault.open(path.read_bytes(), name, str(path))

    @property
    def secret_names(self) -> list[str]:
        start, end = len(layout.SECRETS) + 1, -len(layout.SUFFIX)
        listed = self.manifest.files
        return [name[start:end] for name in listed if name.startswith(f"{layout.SECRETS}/")]

    def reference(self) -> Reference:
        """Decrypt the reference standard, in memory only."""
        tables = [name for name in self.secret_names if "/" not in name]
        wanted = [name for name in tables if name == MANIFEST or name.endswith(".parquet")]
        return reference_from({name: self.plain(name) for name in wanted}, self.folder)


def open_sealed(folder: Path, own_key: PrivateKey, action: Action | None) -> SealedSet:
    """Open a sealed set for an action, if the person has permission; the log records refusals.

    The signature and all files except the images are checked; ``verify`` checks the images too.
    An interrupted change is completed.

    Args:
        folder: what ``seal`` wrote.
        own_key: the person's own key, which also identifies the person.
        action: the purpose; None: something that all people in the policy may do.

    Raises:
        InputError: if anything was changed, the key opens nothing, or the person has no permission.
    """
    note = read_note(folder)
    check_signature(folder)
    state = examine(folder, own_key)
    raise_problems(_file_problems(state) if not state.pending else ())
    raise_problems(state.problems)
    vault = opened_vault(state.header, own_key, str(folder / layout.VAULT))
    for digest in state.pending:
        change = read_change(folder, digest)
        if change is not None:
            apply_change(folder, change)
    raise_problems([*_file_problems(state), *holder_problems(state)])
    opened = SealedSet(
        folder,
        note["name"],
        state.policy,
        state.bundle,
        Manifest(state.listed, state.manifest.signed),
        vault,
        person_of(state, own_key),
        None,
        state.log,
        tuple(state.changes),
    )
    try:
        role = _role(state.policy, opened.person, action)
        require_in_use(state.check.events, action)
    except InputError as error:
        opened.record("refused", {"action": action, "reason": str(error)})
        raise
    return replace(opened, role=role)


def _role(policy: CustodyPolicy, person: str, action: Action | None) -> Role | None:
    if action is not None:
        return policy.role_of(person, action)
    return next((listed.roles[0] for listed in policy.people if listed.name == person), None)


def require_in_use(events: list[Event], action: Action | None) -> None:
    """Refuse to run or score on a retired set."""
    ended = next((event for event in events if event.step == "retired"), None)
    if ended is not None and action in ("run", "evaluate"):
        raise InputError.at(
            "set",
            f"was retired on {ended.at:%Y-%m-%d} (event {ended.number}): "
            f"{str(ended.facts.get('reason', '')).rstrip('.')}.",
            "It may no longer be used for tests.",
        )


def read_note(folder: Path) -> JsonObject:
    path = folder / SEALED_NOTE
    note = read_json(path) if path.is_file() else None
    if not isinstance(note, dict) or note.get("schema") != SCHEMA or "name" not in note:
        raise InputError.at(
            str(folder), "is not a sealed test set.", "Make one with: nodulebench seal"
        )
    return note


def require_outside(path: Path, folder: Path) -> None:
    """Refuse to write other files into a sealed set."""
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError.at(str(path), "is inside the sealed set.", "Choose a path outside of it.")


def is_leftover(path: Path) -> bool:
    """Whether a file was left behind by a killed process."""
    return LEFTOVER.fullmatch(path.name) is not None


def _file_problems(state: Examined) -> Iterator[Problem]:
    """Yield files, except images, that differ from manifest and log."""
    folder, sealed_images = state.folder, layout.sealed_file(f"{layout.IMAGES}/")
    images = (f"{layout.PAYLOAD}/{layout.IMAGES}/", sealed_images.removesuffix(layout.SUFFIX))
    for name, digest in state.listed.items():
        path = folder / name
        if name.startswith(images):
            continue
        if not path.is_file():
            yield Problem(str(path), f"is listed in {MANIFEST}, but does not exist.")
        elif file_digest(path) != digest:
            yield Problem(str(path), "was changed after the set was sealed.")
    if state.manifest.signed is None:
        yield Problem(str(folder / MANIFEST), "is not signed.")
