"""Sealed test set -> everything in it that is not as it was: files, signature, log, results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.custody import layout
from nodulebench.custody.audit import Event
from nodulebench.custody.budget import Use, evaluation_of, uses
from nodulebench.custody.bundle import image_problems
from nodulebench.custody.changes import change_named
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.custody.sealed_set import is_leftover, read_note, require_outside
from nodulebench.custody.state import Examined, examine, holder_problems
from nodulebench.custody.stored_results import (
    result_digest,
    stored_result_file,
    stored_result_files,
    was_erased,
)
from nodulebench.custody.withdrawal import SEPARATOR, withdrawn_since
from nodulebench.io.manifests import MANIFEST, file_digest, listed_files, manifest_problems
from nodulebench.security.event_log import checkpoints as checkpoint_file
from nodulebench.security.event_log.checkpoints import checkpoint_file_problems
from nodulebench.security.event_log.events import Checkpoint
from nodulebench.security.keys import parse_public_key
from nodulebench.security.signatures import Signature, check_signature
from nodulebench.security.vault import CompartmentVault, Secret, Vault


@dataclass(frozen=True, slots=True)
class SealedCheck:
    """What was checked in a sealed set, and everything that is not as it should be."""

    files: int
    signature: Signature | None
    """The signature if it holds."""
    events: tuple[Event, ...]
    """The log, as far as it can be read."""
    was_opened: bool
    """Whether the vault was opened: codes of the log and sealed contents were checked too."""
    has_keys: bool
    """Whether each person has a key: signatures of events were checked without the vault."""
    checkpoints: int
    """Checkpoints that were compared."""
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]

    @property
    def is_good(self) -> bool:
        """Whether everything is as it should be."""
        return not self.problems


def verify_sealed(
    folder: Path,
    *,
    public_key: Path | None = None,
    secret: Secret | None = None,
    checkpoints: Sequence[Path] = (),
    images: Path | None = None,
) -> SealedCheck:
    """Check a sealed set; nothing is written, and nobody's permission is needed.

    Args:
        folder: what ``seal`` wrote.
        public_key: of whoever shall have sealed it, and signed the checkpoints.
        secret: opens the vault; without it codes of the log are not checked.
        checkpoints: statements on the log that were kept elsewhere.
        images: where the images are that the set only lists.
    """
    problems, signature = _signature_problems(folder, public_key)
    try:
        found = examine(folder, secret)
    except InputError as error:
        problems += [*manifest_problems(folder, is_apart=layout.grows), *error.problems]
        return SealedCheck(
            len(listed_files(folder)), signature, (), False, False, 0, _once(problems), ()
        )
    problems += [
        *manifest_problems(folder, layout.grows, found.changed),
        *found.problems,
        *found.check.dates,
        *holder_problems(found),
    ]
    problems += _checkpoint_problems(found, checkpoints, public_key)
    problems += _result_problems(found)
    problems += _stray_problems(found)
    problems += _pending_problems(found)
    if images is not None:
        problems += image_problems(folder, images)
    if found.vault is not None:
        problems += _content_problems(found, found.vault)
    return SealedCheck(
        files=len(found.listed),
        signature=signature,
        events=tuple(found.check.events),
        was_opened=found.vault is not None,
        has_keys=found.has_keys,
        checkpoints=len(checkpoints),
        problems=_once(problems),
        notices=tuple(_notices(found)),
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


def _pending_problems(found: Examined) -> Iterator[Problem]:
    for digest in found.pending:
        yield Problem(
            str(found.folder / layout.change_file(digest)),
            "lists a change that was interrupted.",
            "Whoever opens the set next completes it.",
        )


def _checkpoint_problems(
    found: Examined, checkpoints: Sequence[Path], public_key: Path | None
) -> Iterator[Problem]:
    people = [parse_public_key(person.key) for person in found.policy.people if person.key]
    for checkpoint in checkpoints:
        yield from checkpoint_file_problems(
            found.log, found.check.links, checkpoint, public_key, people
        )


def _result_problems(found: Examined) -> Iterator[Problem]:
    """Kept results that are not those that the log names."""
    folder = found.folder
    for event in found.check.events:
        if event.step != "evaluated":
            continue
        look = event.facts.get("look")
        number = look if isinstance(look, int) else 0
        path = stored_result_file(folder, number)
        if path is None and was_erased(found.changed, number):
            continue
        if path is None:
            where = str(folder / layout.result_file(number))
            yield Problem(where, f"is named by event {event.number}, but is not there.")
        elif file_digest(path) != result_digest(found.listed, event, path):
            yield Problem(str(path), f"was changed: event {event.number} names another content.")


def _stray_problems(found: Examined) -> Iterator[Problem]:
    """Files beside the log and the results that nobody wrote."""
    folder, checked = found.folder, found.check
    looks = [event.number for event in checked.events if event.step == "look"]
    kept = {layout.HEAD, *(layout.event_file(link.place) for link in checked.links)}
    results = (stored_result_file(folder, look) for look in looks)
    kept |= {path.relative_to(folder).as_posix() for path in results if path is not None}
    named = (change_named(event) for event in checked.events)
    kept |= {layout.change_file(digest) for digest in named if digest}
    for part in (layout.AUDIT, layout.RESULTS, layout.CHANGES):
        for path in sorted((folder / part).glob("*")):
            if path.relative_to(folder).as_posix() not in kept and not is_leftover(path):
                yield Problem(str(path), "does not belong there: it was added.")


def _content_problems(found: Examined, vault: Vault) -> Iterator[Problem]:
    """Sealed files that do not open."""
    folder, secrets = found.folder, found.folder / layout.SECRETS
    files = [(path, path.relative_to(secrets).as_posix()) for path in secrets.rglob("*")]
    results = stored_result_files(folder, found.check.events)
    files += [(path, f"{layout.RESULTS}/{path.name}") for path in results]
    for path, sealed in sorted(files):
        name = sealed.removesuffix(layout.SUFFIX)
        is_closed = (
            isinstance(vault, CompartmentVault) and layout.compartment_of(name) not in vault.keys
        )
        if path.is_file() and not is_closed:
            try:
                vault.open(path.read_bytes(), name, str(path))
            except InputError as error:
                yield from error.problems


def _notices(found: Examined) -> Iterator[Notice]:
    folder, events = found.folder, found.check.events
    needed = {folder / layout.change_stage(digest) for digest in found.pending}
    failed = {event.facts.get("look") for event in events if event.step == "failed"}
    answered = {evaluation_of(event.facts) for event in events if event.step == "evaluated"}
    for event in events:
        if event.step != "look" or event.number in failed:
            continue
        if evaluation_of(event.facts) not in answered:
            yield Notice("look_interrupted", {"event": event.number})
    for path in sorted(folder.rglob("*.part")):
        if is_leftover(path) and path not in needed:
            yield Notice("leftover", {"file": str(path)})


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a sealed set's log says, and whether it can be believed."""

    name: str
    policy: CustodyPolicy
    events: tuple[Event, ...]
    uses: tuple[Use, ...]
    """By developer; none where the log cannot be believed."""
    problems: tuple[Problem, ...]
    dates: tuple[Problem, ...]
    """Dates that go backwards, which do not keep a log from being believed."""
    has_keys: bool
    """Whether each person has a key; else names are as those gave them who share the secret."""
    outdated: dict[int, str]
    """Looks whose kept results were made with cases that were withdrawn since, and these."""


def read_audit(folder: Path, secret: Secret | None = None) -> AuditReport:
    """The log of a sealed set; its chain is checked, with the secret also who wrote it."""
    note = read_note(folder)
    found = examine(folder, secret)
    events, policy = found.check.events, found.policy
    used = () if found.problems else uses(events, policy.reuse)
    looks = (event.number for event in events if event.step == "look")
    outdated = {
        look: SEPARATOR.join(gone) for look in looks if (gone := withdrawn_since(events, look))
    }
    return AuditReport(
        note["name"],
        policy,
        tuple(events),
        used,
        tuple(found.problems),
        tuple(found.check.dates),
        found.has_keys,
        outdated,
    )


def write_checkpoint(
    folder: Path, path: Path, *, key: Path | None = None, passphrase: str = "", by: str = ""
) -> Checkpoint:
    """Write how far a log goes, for another person to keep; check an older checkpoint first.

    Args:
        folder: a sealed set.
        path: the checkpoint, outside of it.
        key: private Ed25519 key, PEM or OpenSSH, that signs it.
        passphrase: of the key, if it is encrypted.
        by: name of the signer.

    Raises:
        InputError: if the log was tampered with, or no longer holds what the older checkpoint says.
    """
    require_outside(path, folder)
    found = examine(folder)
    raise_problems(found.problems)
    return checkpoint_file.write_checkpoint(
        found.log, found.check, path, key=key, passphrase=passphrase, by=by
    )
