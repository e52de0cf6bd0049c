"""A sealed test set, opened by somebody for something: its secrets in memory, its log kept."""

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
from nodulebench.security.event_log.events import Fact
from nodulebench.security.event_log.log import EventLog
from nodulebench.security.signatures import check_signature
from nodulebench.security.vault import Secret, Vault

SCHEMA = "nodulebench/sealed@1"


@dataclass(frozen=True, slots=True)
class SealedSet:
    """An open sealed set, and who opened it in which role."""

    folder: Path
    name: str
    policy: CustodyPolicy
    bundle: str
    """Digest of the signed manifest."""
    manifest: Manifest
    """The files as the log left them."""
    vault: Vault = field(repr=False)
    person: str
    role: Role | None
    log: EventLog[Event] = field(repr=False)
    """Written with the codes or signatures of who opened the set."""
    changes: tuple[str, ...] = ()
    """What was changed after the set was sealed, by digests."""

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
            InputError: if the log was tampered with, the set is no longer the one that was opened,
                or as ``facts`` raises.
        """
        seal = self.log.signer
        if seal is None:
            raise AssertionError("who opened the set has a secret")

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
            self.refuse_changed(events)
            return event

        return self.log.append(following)

    def refuse_changed(self, events: list[Event]) -> None:
        """Refuse to go on with a set that somebody has changed since it was opened.

        Raises:
            InputError: if a patient was withdrawn meanwhile, a key replaced, or anything else.
        """
        if [name for event in events if (name := change_named(event))] != list(self.changes):
            what = "was changed by somebody else meanwhile."
            raise InputError.at(str(self.folder), what, "Call again.")

    def plain(self, name: str) -> bytes:
        """A secret file of the set, in memory.

        Raises:
            InputError: if it was changed.
        """
        path = self.folder / layout.sealed_file(name)
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


def open_sealed(folder: Path, secret: Secret, person: str, action: Action | None) -> SealedSet:
    """Open a sealed set for something, if the person may do it; refusals stand in the log.

    The signature and every file but the images are checked; ``verify`` checks the images too.
    A change that was interrupted is completed.

    Args:
        folder: what ``seal`` wrote.
        secret: a person's own key, or what all share.
        person: who acts; with a key of their own it may be left empty, and nobody else is let in.
        action: what for; None: for what everybody may whom the policy knows.

    Raises:
        InputError: if anything was changed, the secret is another, or the person may not.
    """
    note = read_note(folder)
    check_signature(folder)
    found = examine(folder, secret)
    raise_problems(_file_problems(found) if not found.pending else ())
    raise_problems(found.problems)
    vault = opened_vault(found.header, secret, str(folder / layout.VAULT))
    for digest in found.pending:
        change = read_change(folder, digest)
        if change is not None:
            apply_change(folder, change)
    raise_problems([*_file_problems(found), *holder_problems(found)])
    opened = SealedSet(
        folder,
        note["name"],
        found.policy,
        found.bundle,
        Manifest(found.listed, found.manifest.signed),
        vault,
        person_of(found, secret, person),
        None,
        found.log,
        tuple(found.changes),
    )
    try:
        _require_same_set(opened.person, person)
        role = _role(found.policy, opened.person, action)
        require_in_use(found.check.events, action)
    except InputError as error:
        opened.record("refused", {"action": action, "reason": str(error)})
        raise
    return replace(opened, role=role)


def _role(policy: CustodyPolicy, person: str, action: Action | None) -> Role | None:
    if action is not None:
        return policy.role_of(person, action)
    return next((one.roles[0] for one in policy.people if one.name == person), None)


def _require_same_set(person: str, named: str) -> None:
    if named and named != person:
        raise InputError.at("key", f"is that of '{person}', who cannot act as '{named}'.")


def require_in_use(events: list[Event], action: Action | None) -> None:
    """Refuse to score on a set that was retired.

    Raises:
        InputError: with the reason that was given.
    """
    ended = next((event for event in events if event.step == "retired"), None)
    if ended is not None and action in ("run", "evaluate"):
        raise InputError.at(
            "set",
            f"was retired on {ended.at:%Y-%m-%d} (event {ended.number}): "
            f"{str(ended.facts.get('reason', '')).rstrip('.')}.",
            "It is used for no more tests.",
        )


def read_note(folder: Path) -> JsonObject:
    """What a sealed set says of itself.

    Raises:
        InputError: if it is none.
    """
    path = folder / SEALED_NOTE
    note = read_json(path) if path.is_file() else None
    if not isinstance(note, dict) or note.get("schema") != SCHEMA or "name" not in note:
        raise InputError.at(
            str(folder), "is no sealed test set.", "Make one with: nodulebench seal"
        )
    return note


def require_outside(path: Path, folder: Path) -> None:
    """Refuse to write into a sealed set what is none of it.

    Raises:
        InputError: if the path lies in it.
    """
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError.at(str(path), "lies in the sealed set itself.", "Keep it somewhere else.")


def is_leftover(path: Path) -> bool:
    """Whether a file is what a killed process left behind."""
    return LEFTOVER.fullmatch(path.name) is not None


def _file_problems(found: Examined) -> Iterator[Problem]:
    """Files, but for the images, that are not as manifest and log say."""
    folder, sealed_images = found.folder, layout.sealed_file(f"{layout.IMAGES}/")
    images = (f"{layout.PAYLOAD}/{layout.IMAGES}/", sealed_images.removesuffix(layout.SUFFIX))
    for name, digest in found.listed.items():
        path = folder / name
        if name.startswith(images):
            continue
        if not path.is_file():
            yield Problem(str(path), f"is listed in {MANIFEST}, but is not there.")
        elif file_digest(path) != digest:
            yield Problem(str(path), "was changed after the set was sealed.")
    if found.manifest.signed is None:
        yield Problem(str(folder / MANIFEST), "is not signed.")
