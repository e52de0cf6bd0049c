"""Sealed test set -> everything in it that is not as it was: files, signature, log, results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.custody import audit, layout
from nodulebench.custody.audit import Event
from nodulebench.custody.budget import look_of
from nodulebench.errors import InputError, Problem
from nodulebench.model.notice import Notice
from nodulebench.storage.digest import file_digest
from nodulebench.storage.event_log.log import EventLog, LogCheck
from nodulebench.storage.json_text import read_json
from nodulebench.storage.manifest import MANIFEST, listed_files, manifest_problems
from nodulebench.storage.signature import Signature, check_signature, is_signature_of
from nodulebench.storage.vault import Secret, Vault, open_vault
from nodulebench.workflows.custody.bundle import image_problems
from nodulebench.workflows.custody.kept_results import kept_file
from nodulebench.workflows.custody.sealed_set import is_leftover, vault_seal


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
    anchors: int
    """Anchors that were compared."""
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
    anchors: Sequence[Path] = (),
    images: Path | None = None,
) -> SealedCheck:
    """Check a sealed set; nothing is written, and nobody's permission is needed.

    Args:
        folder: what ``seal`` wrote.
        public_key: of whoever shall have sealed it, and signed the anchors.
        secret: opens the vault; without it codes of the log are not checked.
        anchors: statements on the log that were kept elsewhere.
        images: where the images are that the set only lists.
    """
    problems = manifest_problems(folder, is_apart=layout.grows)
    signature: Signature | None = None
    try:
        signature = check_signature(folder, public_key)
        if signature is None:
            problems.append(Problem(str(folder / MANIFEST), "is not signed."))
    except InputError as error:
        problems.extend(one for one in error.problems if one not in problems)
    log, unopened = log_with(folder, secret)
    checked = log.check()
    events = checked.events
    problems += [*unopened, *checked.problems, *checked.dates]
    problems += _anchor_problems(log, checked, anchors, public_key)
    problems += _result_problems(folder, events)
    problems += _stray_problems(folder, checked)
    if images is not None:
        problems += image_problems(folder, images)
    vault, _ = _opened(folder, secret)
    if vault is not None:
        problems += _content_problems(folder, vault)
    return SealedCheck(
        files=len(listed_files(folder)),
        signature=signature,
        events=tuple(events),
        was_opened=vault is not None,
        anchors=len(anchors),
        problems=tuple(dict.fromkeys(problems)),
        notices=tuple(_notices(folder, events)),
    )


def log_with(folder: Path, secret: Secret | None) -> tuple[EventLog[Event], list[Problem]]:
    """The log of a set, whose codes are checked with the secret; and why it opens nothing."""
    vault, problems = _opened(folder, secret)
    seal = None if vault is None else vault_seal(vault)
    return audit.log_of(folder, _bundle_digest(folder), seal), problems


def _opened(folder: Path, secret: Secret | None) -> tuple[Vault | None, list[Problem]]:
    file = folder / layout.VAULT
    try:
        return (None if secret is None else open_vault(read_json(file), secret, str(file))), []
    except InputError as error:
        return None, list(error.problems)


def _bundle_digest(folder: Path) -> str:
    manifest = folder / MANIFEST
    return file_digest(manifest) if manifest.is_file() else ""


def _anchor_problems(
    log: EventLog[Event],
    checked: LogCheck[Event],
    anchors: Sequence[Path],
    public_key: Path | None,
) -> Iterator[Problem]:
    for anchor in anchors:
        yield from log.anchor_problems(anchor.read_bytes(), checked.links, str(anchor))
        yield from _anchor_signature_problems(anchor, public_key)


def signature_of_anchor(anchor: Path) -> Path:
    """Where the signature of an anchor lies, if it has one."""
    return anchor.with_name(f"{anchor.name}.sig")


def _anchor_signature_problems(anchor: Path, public_key: Path | None) -> Iterator[Problem]:
    file = signature_of_anchor(anchor)
    if (
        public_key is not None
        and file.is_file()
        and not is_signature_of(anchor.read_bytes(), file.read_bytes(), public_key)
    ):
        yield Problem(str(file), f"is not the signature of {anchor.name} by {public_key.name}.")


def _result_problems(folder: Path, events: Sequence[Event]) -> Iterator[Problem]:
    """Kept results that are not those that the log names."""
    for event in events:
        if event.step != "evaluated":
            continue
        look = event.facts.get("look")
        number = look if isinstance(look, int) else 0
        path = kept_file(folder, number)
        if path is None:
            where = str(folder / layout.result_file(number))
            yield Problem(where, f"is named by event {event.number}, but is not there.")
        elif file_digest(path) != event.facts.get("result"):
            yield Problem(str(path), f"was changed: event {event.number} names another content.")


def _stray_problems(folder: Path, checked: LogCheck[Event]) -> Iterator[Problem]:
    """Files beside the log and the results that nobody wrote."""
    looks = [event.number for event in checked.events if event.step == "look"]
    kept = {layout.HEAD, *(layout.event_file(one.place) for one in checked.links)}
    found = (kept_file(folder, one) for one in looks)
    kept |= {path.relative_to(folder).as_posix() for path in found if path is not None}
    for part in (layout.AUDIT, layout.RESULTS):
        for path in sorted((folder / part).rglob("*")):
            if path.relative_to(folder).as_posix() not in kept and not is_leftover(path):
                yield Problem(str(path), "does not belong there: it was added.")


def _content_problems(folder: Path, vault: Vault) -> Iterator[Problem]:
    """Sealed files that do not open."""
    secrets = folder / layout.SECRETS
    files = [(path, path.relative_to(secrets).as_posix()) for path in secrets.rglob("*")]
    results = (folder / layout.RESULTS).glob(f"*{layout.SUFFIX}")
    files += [(path, f"{layout.RESULTS}/{path.name}") for path in results]
    for path, name in sorted(files):
        if path.is_file():
            try:
                vault.open(path.read_bytes(), name.removesuffix(layout.SUFFIX), str(path))
            except InputError as error:
                yield from error.problems


def _notices(folder: Path, events: Sequence[Event]) -> Iterator[Notice]:
    failed = {event.facts.get("look") for event in events if event.step == "failed"}
    answered = {look_of(event.facts) for event in events if event.step == "evaluated"}
    for event in events:
        if event.step != "look" or event.number in failed:
            continue
        if look_of(event.facts) not in answered:
            yield Notice("look_interrupted", {"event": event.number})
    for path in sorted(folder.rglob("*.part")):
        if is_leftover(path):
            yield Notice("leftover", {"file": str(path)})
