"""Verify a sealed test set: files, signature, log and stored results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.custody import layout
from nodulebench.custody.budget import Use, evaluation_of, uses
from nodulebench.custody.bundle import image_problems
from nodulebench.custody.changes import change_named
from nodulebench.custody.events import SEPARATOR, Event, withdrawn_since
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.custody.sealed_set import (
    Examined,
    examine,
    holder_problems,
    is_leftover,
    read_note,
    require_outside,
)
from nodulebench.custody.stored_results import (
    result_digest,
    stored_result_file,
    stored_result_files,
    was_erased,
)
from nodulebench.io.manifests import MANIFEST, file_digest, listed_files, manifest_problems
from nodulebench.security import checkpoints as checkpoint_file
from nodulebench.security.checkpoints import checkpoint_file_problems
from nodulebench.security.events import Checkpoint, parsed
from nodulebench.security.keys import PrivateKey, parse_public_key
from nodulebench.security.signatures import Signature, check_signature
from nodulebench.security.vault import Vault


@dataclass(frozen=True, slots=True)
class SealedCheck:
    """What was checked in a sealed set, and all problems."""

    files: int
    signature: Signature | None
    events: tuple[Event, ...]
    was_opened: bool
    """Whether the vault was opened: sealed contents were checked too."""
    checkpoints: int
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]

    @property
    def is_good(self) -> bool:
        return not self.problems


def verify_sealed(
    folder: Path,
    *,
    public_key: Path | None = None,
    own_key: PrivateKey | None = None,
    checkpoints: Sequence[Path] = (),
    images: Path | None = None,
) -> SealedCheck:
    """Check a sealed set; nothing is written, and no permission is needed.

    ``public_key`` is that of the expected signer of the set and of the checkpoints, which are
    stored elsewhere. Without ``own_key`` sealed contents are not checked. ``images`` are those that
    the set only lists.
    """
    problems, signature = _signature_problems(folder, public_key)
    try:
        state = examine(folder, own_key)
    except InputError as error:
        problems += [*manifest_problems(folder, is_apart=layout.grows), *error.problems]
        return SealedCheck(len(listed_files(folder)), signature, (), False, 0, _once(problems), ())
    problems += [
        *manifest_problems(folder, layout.grows, state.changed),
        *state.problems,
        *state.check.dates,
        *holder_problems(state),
    ]
    problems += _checkpoint_problems(state, checkpoints, public_key)
    problems += _result_problems(state)
    problems += _stray_problems(state)
    problems += _pending_problems(state)
    if images is not None:
        problems += image_problems(folder, images)
    if state.vault is not None:
        problems += _content_problems(state, state.vault)
    return SealedCheck(
        files=len(state.listed),
        signature=signature,
        events=tuple(state.check.events),
        was_opened=state.vault is not None,
        checkpoints=len(checkpoints),
        problems=_once(problems),
        notices=tuple(_notices(state)),
    )


def _once(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))


def _signature_problems(
    folder: Path, public_key: Path | None
) -> tuple[list[Problem], Signature | None]:
    try:
        signature = check_signature(folder, public_key)
    except InputError as error:
        return list(error.problems), None
    if signature is None:
        return [Problem(str(folder / MANIFEST), "is not signed.")], None
    return [], signature


def _pending_problems(state: Examined) -> Iterator[Problem]:
    for digest in state.pending:
        yield Problem(
            str(state.folder / layout.change_file(digest)),
            "lists a change that was interrupted.",
            "The next command that opens the set completes it.",
        )


def _checkpoint_problems(
    state: Examined, checkpoints: Sequence[Path], public_key: Path | None
) -> Iterator[Problem]:
    people = [parse_public_key(person.key) for person in state.policy.people if person.key]
    for checkpoint in checkpoints:
        yield from checkpoint_file_problems(
            state.log, state.check.links, checkpoint, public_key, people
        )


def _result_problems(state: Examined) -> Iterator[Problem]:
    folder = state.folder
    for event in state.check.events:
        if event.step != "evaluated":
            continue
        charged = event.facts.get("evaluation")
        number = charged if isinstance(charged, int) else 0
        path = stored_result_file(folder, number)
        if path is None and was_erased(state.changed, number):
            continue
        if path is None:
            where = str(folder / layout.result_file(number))
            yield Problem(where, f"is named by event {event.number}, but does not exist.")
        elif file_digest(path) != result_digest(state.listed, event, path):
            yield Problem(str(path), f"was changed: event {event.number} names another digest.")


def _stray_problems(state: Examined) -> Iterator[Problem]:
    folder, checked = state.folder, state.check
    numbers = [event.number for event in checked.events if event.step == "evaluation_charged"]
    expected = {layout.HEAD, *(layout.event_file(link.place) for link in checked.links)}
    results = (stored_result_file(folder, number) for number in numbers)
    expected |= {path.relative_to(folder).as_posix() for path in results if path is not None}
    named = (change_named(event) for event in checked.events)
    expected |= {layout.change_file(digest) for digest in named if digest}
    for part in (layout.AUDIT, layout.RESULTS, layout.CHANGES):
        for path in sorted((folder / part).glob("*")):
            if path.relative_to(folder).as_posix() not in expected and not is_leftover(path):
                yield Problem(str(path), "does not belong there: it was added.")


def _content_problems(state: Examined, vault: Vault) -> Iterator[Problem]:
    folder, secrets = state.folder, state.folder / layout.SECRETS
    files = [(path, path.relative_to(secrets).as_posix()) for path in secrets.rglob("*")]
    results = stored_result_files(folder, state.check.events)
    files += [(path, f"{layout.RESULTS}/{path.name}") for path in results]
    for path, sealed in sorted(files):
        name = sealed.removesuffix(layout.SUFFIX)
        if path.is_file() and layout.compartment_of(name) in vault.keys:
            try:
                vault.open(path.read_bytes(), name, str(path))
            except InputError as error:
                yield from error.problems


def _notices(state: Examined) -> Iterator[Notice]:
    folder, events = state.folder, state.check.events
    needed = {folder / layout.change_stage(digest) for digest in state.pending}
    failed = {event.facts.get("evaluation") for event in events if event.step == "failed"}
    answered = {evaluation_of(event.facts) for event in events if event.step == "evaluated"}
    for event in events:
        if event.step != "evaluation_charged" or event.number in failed:
            continue
        if evaluation_of(event.facts) not in answered:
            yield Notice("evaluation_interrupted", {"event": event.number})
    for path in sorted(folder.rglob("*.part")):
        if is_leftover(path) and path not in needed:
            yield Notice("leftover", {"file": str(path)})


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The log of a sealed set, and whether it is valid."""

    name: str
    policy: CustodyPolicy
    events: tuple[Event, ...]
    uses: tuple[Use, ...]
    problems: tuple[Problem, ...]
    dates: tuple[Problem, ...]
    """Dates that go backwards; the log is still valid."""
    outdated: dict[int, str]
    """Evaluations whose results include cases that were withdrawn since, and these cases."""


def read_audit(folder: Path) -> AuditReport:
    note = read_note(folder)
    state = examine(folder)
    events, policy = state.check.events, state.policy
    used = () if state.problems else uses(events, policy.reuse)
    numbers = (event.number for event in events if event.step == "evaluation_charged")
    outdated = {
        number: SEPARATOR.join(gone)
        for number in numbers
        if (gone := withdrawn_since(events, number))
    }
    return AuditReport(
        note["name"],
        policy,
        tuple(events),
        used,
        tuple(state.problems),
        tuple(state.check.dates),
        outdated,
    )


def write_checkpoint(
    folder: Path, path: Path, *, key: Path | None = None, passphrase: str = "", by: str = ""
) -> Checkpoint:
    """Write a checkpoint of a log for another person; check an existing checkpoint first."""
    require_outside(path, folder)
    state = examine(folder)
    raise_problems(state.problems)
    return checkpoint_file.write_checkpoint(
        state.log, state.check, path, key=key, passphrase=passphrase, by=by
    )


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """Whether a copy could replace a sealed set."""

    events: int
    """Events in the copy's log."""
    expected: int
    """Events according to the newest checkpoint; 0: no checkpoint."""
    evaluations: int
    """Evaluations in the copy's log; lost ones could be repeated."""
    opens: bool
    """Whether the key opens the copy and everything it opens was read."""
    problems: tuple[Problem, ...]
    """Problems of the copy apart from lost events."""

    @property
    def lost(self) -> int:
        return max(0, self.expected - self.events)

    @property
    def is_good(self) -> bool:
        return not self.problems and not self.lost


def check_copy(
    copy: Path, checkpoints: Sequence[Path], own_key: PrivateKey | None = None
) -> CopyCheck:
    """Check a copy without changing it: all files, the log, and what the key opens."""
    events_by_checkpoint = {path: _events_of(path) for path in checkpoints}
    checked = verify_sealed(copy, own_key=own_key)
    events = len(checked.events)
    reached = [path for path, known in events_by_checkpoint.items() if known <= events]
    compared = verify_sealed(copy, checkpoints=reached)
    return CopyCheck(
        events,
        max(events_by_checkpoint.values(), default=0),
        sum(event.step == "evaluation_charged" for event in checked.events),
        checked.was_opened,
        tuple(dict.fromkeys([*checked.problems, *compared.problems])),
    )


def _events_of(path: Path) -> int:
    checkpoint = parsed(Checkpoint, path.read_bytes())
    if checkpoint is None:
        raise InputError.at(path, "is not a checkpoint, or was changed.")
    return checkpoint.events
