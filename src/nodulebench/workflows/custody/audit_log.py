"""Sealed test set -> its log, how the budget stands, and an anchor for somebody else to keep."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.custody.audit import Event as Event
from nodulebench.custody.budget import Use, uses
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.errors import Problem, refuse_any
from nodulebench.storage.event_log.statements import Anchor
from nodulebench.storage.file_names import in_a_line as in_a_line
from nodulebench.storage.signature import sign_bytes
from nodulebench.storage.staging import staged_file
from nodulebench.storage.vault import Secret
from nodulebench.workflows.custody.life.examined import examine
from nodulebench.workflows.custody.sealed_set import read_note, refuse_inside
from nodulebench.workflows.custody.verify_sealed import signature_of_anchor


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a sealed set's log says, and whether it can be believed."""

    name: str
    policy: CustodyPolicy
    events: tuple[Event, ...]
    uses: tuple[Use, ...]
    """By developer; none where the log cannot be believed."""
    problems: tuple[Problem, ...]
    has_keys: bool
    """Whether each person has a key; else names are as those gave them who share the secret."""


def read_audit(folder: Path, secret: Secret | None = None) -> AuditReport:
    """The log of a sealed set; its chain is checked, with the secret also who wrote it."""
    note = read_note(folder)
    found = examine(folder, secret)
    events, policy = found.check.events, found.policy
    used = () if found.problems else uses(events, policy.reuse)
    told = (*found.problems, *found.check.dates)
    return AuditReport(note["name"], policy, tuple(events), used, told, found.has_keys)


def write_anchor(
    folder: Path, path: Path, *, key: Path | None = None, passphrase: str = ""
) -> Anchor:
    """Write down how far a log goes, for somebody else to keep; an older anchor is checked first.

    Args:
        folder: a sealed set.
        path: the anchor, outside of it.
        key: private Ed25519 key; the signature lies beside the anchor.
        passphrase: of the key, if it is encrypted.

    Raises:
        InputError: if the log was tampered with, or no longer holds what the older anchor says.
    """
    refuse_inside(path, folder)
    found = examine(folder)
    problems, links = list(found.problems), found.check.links
    if path.exists():
        problems += found.log.anchor_problems(path.read_bytes(), links, str(path))
    refuse_any(problems)
    anchor = found.log.anchor(found.check.events, datetime.now(UTC))
    signature = None if key is None else sign_bytes(anchor.to_bytes(), key, passphrase)
    with staged_file(path) as stage:
        stage.write_bytes(anchor.to_bytes())
    beside = signature_of_anchor(path)
    beside.unlink(missing_ok=True)
    if signature is not None:
        with staged_file(beside) as stage:
            stage.write_bytes(signature)
    return anchor
