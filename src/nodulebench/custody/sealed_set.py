"""The sealed set as it is now, and opening it for a person: decrypt in memory and log each use.

``examine`` is where everything begins that opens or checks a set: it writes and decrypts nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Reference
from nodulebench.custody import layout
from nodulebench.custody.changes import (
    apply_change,
    change_named,
    changes_of,
    content_of,
    is_pending,
    read_change,
    with_changes,
)
from nodulebench.custody.events import Event, PolicySeal, Step, log_of, next_event
from nodulebench.custody.policy import Action, CustodyPolicy, Role, compartments_of, parse_policy
from nodulebench.io.atomic import LEFTOVER, staged_folder
from nodulebench.io.bundle import SEALED_NOTE, reference_from
from nodulebench.io.json_files import parse_json, read_json
from nodulebench.io.manifests import MANIFEST, Manifest, bytes_digest, file_digest, read_manifest
from nodulebench.security.event_log import EventLog, LogCheck
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey
from nodulebench.security.signatures import check_signature
from nodulebench.security.vault import SHARED_SECRET_SCHEMA, Vault, holders_of, open_vault


@dataclass(frozen=True, slots=True)
class Examined:
    """The current state of a sealed set."""

    folder: Path
    bundle: str
    """Digest of the signed manifest, which identifies the set."""
    manifest: Manifest
    changed: dict[str, str | None]
    """Files that differ from the manifest; None: removed."""
    policy: CustodyPolicy
    """The policy after all events: current roles and keys."""
    header: JsonObject
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
    manifest = read_manifest(folder)
    bundle = bytes_digest((folder / MANIFEST).read_bytes())
    seen = log_of(folder, bundle).check().events  # not trusted yet: each is checked below
    changed, problems = changes_of(seen, lambda digest: read_change(folder, digest))
    listed = with_changes(manifest.files, changed)
    where = folder / layout.VAULT
    header = parse_json(_content(folder, layout.VAULT, listed), where)
    _require_personal_keys(header, where)
    text = _content(folder, layout.POLICY, listed).decode("utf-8", "replace")
    policy = parse_policy(text, layout.POLICY)
    vault, unopened = _opened(header, own_key, str(where))
    seal = PolicySeal(policy, own_key)
    log = log_of(folder, bundle, seal)
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
            "nodulebench keys new.",
        )


def opened_vault(header: JsonObject, own_key: PrivateKey, where: str) -> Vault:
    _require_personal_keys(header, Path(where))
    return open_vault(header, own_key, where, layout.compartment_of)


def holder_problems(state: Examined) -> list[Problem]:
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


SCHEMA = "nodulebench/sealed@1"


@dataclass(frozen=True, slots=True)
class SealedSet:
    """An open sealed set, with the person and role that opened it."""

    folder: Path
    name: str
    policy: CustodyPolicy
    bundle: str
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
        """Write an event to the log, unless this was tampered with or the set was changed.

        ``facts`` may derive the facts from the log so far; it is called again if another process
        wrote to the log meanwhile.
        """
        seal = self.log.signer
        if seal is None:
            raise AssertionError("an open set has a signer")

        def following(events: list[Event]) -> Event:
            event = next_event(
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
        tables = [name for name in self.secret_names if "/" not in name]
        wanted = [name for name in tables if name == MANIFEST or name.endswith(".parquet")]
        return reference_from({name: self.plain(name) for name in wanted}, self.folder)


def open_sealed(folder: Path, own_key: PrivateKey, action: Action | None) -> SealedSet:
    """Open a sealed set for an action, if the person has permission; the log records refusals.

    The signature and all files except the images are checked; ``verify`` checks the images too. An
    interrupted change is completed. The key identifies the person. Action None: something that all
    people in the policy may do.
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
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError.at(str(path), "is inside the sealed set.", "Choose a path outside of it.")


def is_leftover(path: Path) -> bool:
    return LEFTOVER.fullmatch(path.name) is not None


def _file_problems(state: Examined) -> Iterator[Problem]:
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


def retire(sealed: Path, own_key: PrivateKey, reason: str) -> Event:
    """End the use of a set: further evaluations are refused, with the reason."""
    if not reason.strip():
        raise InputError.at("retire", "has no reason.", "Give --reason; it is logged.")
    opened = open_sealed(sealed, own_key, "retire")

    def facts(events: list[Event]) -> dict[str, Fact]:
        if any(event.step == "retired" for event in events):
            raise InputError.at(str(sealed), "is already retired.")
        return {"reason": reason.strip()}

    return opened.record("retired", facts)


def export_reference(sealed: Path, own_key: PrivateKey, reason: str, out: Path) -> int:
    """Write the sealed tables of a set in plain form into a new folder; return the file count."""
    if not reason.strip():
        raise InputError.at("export", "has no reason.", "Give --reason; it is logged.")
    require_outside(out, sealed)
    opened = open_sealed(sealed, own_key, "export")
    names = opened.secret_names
    with staged_folder(out, is_new=True) as stage:
        opened.record("exported", {"reason": reason.strip(), "files": len(names)})
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(opened.plain(name))
    return len(names)
