"""Retire a sealed set, check a backup copy, and take data out."""

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
from nodulebench.security.events import Checkpoint, Fact, parsed
from nodulebench.security.keys import PrivateKey


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


def open_result(sealed: Path, own_key: PrivateKey, number: int) -> JsonObject:
    """Return the stored result of an evaluation, by the number of its event in the log."""
    opened = open_sealed(sealed, own_key, "inspect")
    path, gone = stored_result_file(sealed, number), withdrawn_since(opened.events, number)
    if path is None and gone:
        what = f"was deleted: it was made with {', '.join(gone)}, withdrawn since."
        raise InputError.at(str(sealed / layout.result_file(number)), what)
    if path is None:
        stored = sorted(file.name for file in (sealed / layout.RESULTS).glob(f"*{layout.SUFFIX}"))
        listed = ", ".join(str(int(name.partition(".")[0])) for name in stored) or "none"
        where = str(sealed / layout.result_file(number))
        raise InputError.at(where, "does not exist.", f"Stored results: {listed}.")
    opened.record("inspected", {"evaluation": number})
    shown = shown_result(unsealed(opened, path, path.read_bytes()))
    return {**shown, "withdrawn_since": list(gone)} if gone else shown
