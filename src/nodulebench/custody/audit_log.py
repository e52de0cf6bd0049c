"""Sealed test set -> its log, how the budget stands, and an anchor for somebody else to keep."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import Problem, refuse_any
from nodulebench.core.text import in_a_line as in_a_line
from nodulebench.custody.audit import Event as Event
from nodulebench.custody.budget import Use, uses
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.custody.sealed_set import read_note, refuse_inside
from nodulebench.custody.state import examine
from nodulebench.custody.withdrawal import SEPARATOR, withdrawn_since
from nodulebench.security.event_log import checkpoints as anchor_file
from nodulebench.security.event_log.statements import Anchor
from nodulebench.security.vault import Secret


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


def write_anchor(
    folder: Path, path: Path, *, key: Path | None = None, passphrase: str = "", by: str = ""
) -> Anchor:
    """Write down how far a log goes, for somebody else to keep; an older anchor is checked first.

    Args:
        folder: a sealed set.
        path: the anchor, outside of it.
        key: private Ed25519 key, PEM or OpenSSH, that signs it.
        passphrase: of the key, if it is encrypted.
        by: name of the signer.

    Raises:
        InputError: if the log was tampered with, or no longer holds what the older anchor says.
    """
    refuse_inside(path, folder)
    found = examine(folder)
    refuse_any(found.problems)
    return anchor_file.write_anchor(
        found.log, found.check, path, key=key, passphrase=passphrase, by=by
    )
