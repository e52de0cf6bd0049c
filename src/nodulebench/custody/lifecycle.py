"""Sealed set -> retired; a copy of one -> whether it could take the place of the set."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.custody import layout
from nodulebench.custody.audit import Event
from nodulebench.custody.sealed_set import open_sealed, require_outside
from nodulebench.custody.stored_results import shown_result, stored_result_file, unsealed
from nodulebench.custody.verify import verify_sealed
from nodulebench.custody.withdrawal import withdrawn_since
from nodulebench.io.atomic import staged_folder
from nodulebench.security.event_log.events import Checkpoint, Fact, parsed
from nodulebench.security.vault import Secret


@dataclass(frozen=True, slots=True)
class Drill:
    """What a copy of a sealed set is worth."""

    events: int
    """In the copy's log."""
    expected: int
    """By the newest checkpoint; 0: there was none."""
    looks: int
    """In the copy's log; those that are lost could be had a second time."""
    opens: bool
    """Whether the secret opens it and everything that the secret opens was read."""
    problems: tuple[Problem, ...]
    """What is wrong with the copy besides what was lost."""

    @property
    def lost(self) -> int:
        """Events that are not in the copy."""
        return max(0, self.expected - self.events)

    @property
    def is_good(self) -> bool:
        """Whether the copy could replace the set, and nothing would be lost."""
        return not self.problems and not self.lost


def retire(sealed: Path, secret: Secret, person: str, reason: str) -> Event:
    """End the use of a set: from now on no look is given, and everybody is told why.

    Raises:
        InputError: if the person may not, gives no reason, or the set is retired already.
    """
    if not reason.strip():
        raise InputError.at("retire", "has no reason.", "Say why in --reason; it is logged.")
    opened = open_sealed(sealed, secret, person, "retire")

    def facts(events: list[Event]) -> dict[str, Fact]:
        if any(event.step == "retired" for event in events):
            raise InputError.at(str(sealed), "is retired already.")
        return {"reason": reason.strip()}

    return opened.record("retired", facts)


def restore_check(copy: Path, checkpoints: Sequence[Path], secret: Secret | None = None) -> Drill:
    """Try whether a copy would do, without touching it: all files, the log, what the secret opens.

    Args:
        copy: as it came out of the backup.
        checkpoints: of the set's log, kept elsewhere; without one nobody can tell what was lost.
        secret: what would open it.

    Raises:
        InputError: if a checkpoint cannot be read.
    """
    events_by_checkpoint = {path: _events_of(path) for path in checkpoints}
    found = verify_sealed(copy, secret=secret)
    events = len(found.events)
    reached = [path for path, known in events_by_checkpoint.items() if known <= events]
    compared = verify_sealed(copy, checkpoints=reached)
    return Drill(
        events,
        max(events_by_checkpoint.values(), default=0),
        sum(event.step == "look" for event in found.events),
        found.was_opened,
        tuple(dict.fromkeys([*found.problems, *compared.problems])),
    )


def _events_of(path: Path) -> int:
    checkpoint = parsed(Checkpoint, path.read_bytes())
    if checkpoint is None:
        raise InputError.at(path, "is no checkpoint, or was changed.")
    return checkpoint.events


def export_reference(sealed: Path, secret: Secret, person: str, reason: str, out: Path) -> int:
    """Write the sealed tables of a set in plain form into a new folder; how many files.

    Raises:
        InputError: if the person may not, gives no reason, or the folder is not empty.
    """
    if not reason.strip():
        raise InputError.at("export", "has no reason.", "Say why in --reason; it is logged.")
    require_outside(out, sealed)
    opened = open_sealed(sealed, secret, person, "export")
    names = opened.secret_names
    with staged_folder(out, is_new=True) as stage:
        opened.record("exported", {"reason": reason.strip(), "files": len(names)})
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(opened.plain(name))
    return len(names)


def open_result(sealed: Path, secret: Secret, person: str, look: int) -> JsonObject:
    """The kept result of an evaluation, by the number of its look in the log.

    Raises:
        InputError: if there is none, it was changed, or the person may not.
    """
    opened = open_sealed(sealed, secret, person, "inspect")
    path, gone = stored_result_file(sealed, look), withdrawn_since(opened.events, look)
    if path is None and gone:
        what = f"was erased: it was made with {', '.join(gone)}, withdrawn since."
        raise InputError.at(str(sealed / layout.result_file(look)), what)
    if path is None:
        kept = sorted(one.name for one in (sealed / layout.RESULTS).glob(f"*{layout.SUFFIX}"))
        listed = ", ".join(str(int(name.partition(".")[0])) for name in kept) or "none"
        where = str(sealed / layout.result_file(look))
        raise InputError.at(where, "is not there.", f"Kept looks: {listed}.")
    opened.record("inspected", {"look": look})
    shown = shown_result(unsealed(opened, path, path.read_bytes()))
    return {**shown, "withdrawn_since": list(gone)} if gone else shown
