"""Log of a sealed set -> which of its files are no longer those that its manifest lists.

A signed manifest is never rewritten. What changes later (keys wrapped anew, a patient withdrawn) is
listed in a change, and an event of the log names the change by its digest.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from pydantic import ValidationError

from nodulebench.core.config_model import Written
from nodulebench.core.errors import Problem
from nodulebench.custody import layout
from nodulebench.custody.audit import Event, Step
from nodulebench.io.bundle import SEALED_NOTE
from nodulebench.io.digest import bytes_digest
from nodulebench.security.event_log.statements import canonical

_LISTS = ("manifest-sha256.txt", "tagmanifest-sha256.txt", "bag-info.txt")
_SHEET = ("datasheet.json", "datasheet.md")
MAY_CHANGE: dict[Step, tuple[str, ...]] = {
    "admitted": (*_LISTS, layout.VAULT),
    "rotated": (*_LISTS, layout.VAULT),
    "revoked": (*_LISTS, layout.VAULT),
    "rekeyed": (*_LISTS, layout.VAULT, f"{layout.SECRETS}/", f"{layout.RESULTS}/"),
    "withdrawn": (*_LISTS, *_SHEET, SEALED_NOTE, f"{layout.PAYLOAD}/"),
}
"""What a step is about: the files, and folders with a slash, that its change may name."""
MAY_REMOVE: dict[Step, tuple[str, ...]] = {"withdrawn": (f"{layout.RESULTS}/",)}
"""What its change may name as removed, and not as replaced."""


class Change(Written):
    """Files that are replaced, added and removed at once."""

    schema_name: Literal["nodulebench/change@1"] = "nodulebench/change@1"
    files: dict[str, str | None]
    """Path below the set -> digest; None: the file is no longer there."""

    def to_bytes(self) -> bytes:
        """The change as it stands on the disk."""
        return canonical(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """By which an event names it."""
        return bytes_digest(self.to_bytes())


def parse_change(content: bytes) -> Change | None:
    """The change that some bytes are, exactly as it would be written; None: they are none."""
    try:
        found = Change.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return found if found.to_bytes() == content else None


def change_named(event: Event) -> str:
    """The digest of the change that an event made; empty: it made none."""
    named = event.facts.get("change")
    return named if isinstance(named, str) else ""


def changes_of(
    events: Sequence[Event], read: Callable[[str], Change | None]
) -> tuple[dict[str, str | None], list[Problem]]:
    """What all changes together replaced and removed, and what is wrong with some of them.

    Args:
        events: the log.
        read: the change of a digest; None: it is not there, or was changed.
    """
    files: dict[str, str | None] = {}
    problems = []
    for event in events:
        named = change_named(event)
        if not named:
            continue
        change, where = read(named), f"event {event.number}"
        if change is None:
            what = f"made a change {named} that is not there, or is not as it was written."
            problems.append(Problem(where, what, "Restore it from a copy."))
        elif wrong := next(
            (one for one in change.files.items() if not _may(event.step, *one)), None
        ):
            problems.append(Problem(where, f"changed '{wrong[0]}', which such an event cannot."))
        else:
            files |= change.files
    return files, problems


def _may(step: Step, name: str, digest: str | None) -> bool:
    """Whether a step replaces or removes such a file; paths that lead elsewhere, never."""
    if name != PurePosixPath(name).as_posix() or ".." in PurePosixPath(name).parts:
        return False
    allowed = MAY_CHANGE.get(step, ())
    if digest is None:
        allowed += MAY_REMOVE.get(step, ())
    return any(name == one or (one.endswith("/") and name.startswith(one)) for one in allowed)


def with_changes(listed: Mapping[str, str], changed: Mapping[str, str | None]) -> dict[str, str]:
    """The files that a set has after its changes, with their digests."""
    found = {**listed, **changed}
    return {name: digest for name, digest in found.items() if digest is not None}
