"""Every edit of a reading -> a line on disk at once; what stands now follows from the lines.

An edit names the version that it was made on: where somebody else came first it is refused, never
merged. A client numbers its edits, so that one that is sent again changes nothing. What was handed
in is frozen.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Annotated, BinaryIO, Protocol

from pydantic import Field, FiniteFloat

from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.json_types import JsonObject
from nodulebench.io.atomic import locked, make_folder, settle
from nodulebench.web.viewer.findings import Finding

JOURNAL = "edits.jsonl"
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Seconds = Annotated[FiniteFloat, Field(ge=0, le=86_400)]


class Edit(ConfigModel):
    """One change that a client asks for."""

    client: Name
    """The tab that sends it."""
    number: int = Field(ge=1)
    """Of the edit within its client, rising."""
    finding_id: Name | None = None
    """None: nothing but time."""
    based_on: int = Field(default=0, ge=0)
    """The version of the finding that was changed; 0: it is new."""
    finding: Finding | None = None
    """As it shall be; None: removed."""
    seconds: Seconds = 0.0
    """Time that the reader was at work on the scan since the client's last edit."""


@dataclass
class SavedDraft:
    """A finding as it stands, or that it was removed, and how often it was changed."""

    version: int
    finding: Finding | None


@dataclass
class Draft:
    """The reading of one scan so far."""

    findings: dict[str, SavedDraft] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    """Client -> the number of its last edit."""
    seconds: float = 0.0
    is_submitted: bool = False

    @property
    def present(self) -> dict[str, Finding]:
        """The findings that were not removed, in the order in which they were begun."""
        return {
            name: finding.finding
            for name, finding in self.findings.items()
            if finding.finding is not None
        }

    def make(self, edit: Edit) -> None:
        """Make an edit that may be made."""
        self.seen[edit.client] = edit.number
        self.seconds += edit.seconds
        if edit.finding_id:
            self.findings[edit.finding_id] = applied(edit)


def applied(edit: Edit) -> SavedDraft:
    """How the finding of an edit stands after it."""
    return SavedDraft(edit.based_on + 1, edit.finding)


class ConflictError(NoduleBenchError):
    """An edit that cannot be made on what stands now."""

    def __init__(self, code: str, kept: SavedDraft | None = None) -> None:
        super().__init__(code)
        self.code = code
        """``changed_elsewhere`` or ``handed_in``."""
        self.kept = kept


def require_editable(draft: Draft, edit: Edit) -> bool:
    """Whether an edit was made before, and is not made again.

    Raises:
        ConflictError: if it cannot be made: somebody else came first, or the reading is handed in.
    """
    kept = draft.findings.get(edit.finding_id or "")
    if edit.number <= draft.seen.get(edit.client, 0):
        return True
    if draft.is_submitted:
        raise ConflictError("submitted", kept)
    if edit.finding_id and (kept.version if kept else 0) != edit.based_on:
        raise ConflictError("changed_elsewhere", kept)
    return False


class Drafts(Protocol):
    """What one reader drew, by case; safe for several threads."""

    def every(self) -> Mapping[str, Draft]:
        """All readings by case."""
        ...

    def of(self, case_id: str) -> Draft:
        """The reading of a case; an empty one where nothing was done yet."""
        ...

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        """Make an edit, unless it was made before, and tell how its finding stands then.

        Raises:
            ConflictError: if the finding was changed meanwhile, or the reading was handed in.
        """
        ...

    def hand_in(self, case_id: str) -> None:
        """Freeze a reading."""
        ...

    def handing_in(self, case_id: str) -> AbstractContextManager[Draft]:
        """Freeze a reading with what the block does with it; nothing is drawn in it meanwhile.

        Raises:
            ConflictError: if it was handed in before.
        """
        ...


class FolderDrafts:
    """The readings of a folder."""

    def __init__(self, file: BinaryIO, reader: str, drafts: dict[str, Draft]) -> None:
        self._file = file
        self._reader = reader
        self._drafts = drafts
        self._lock = Lock()

    def every(self) -> Mapping[str, Draft]:
        """All readings by case."""
        with self._lock:
            return dict(self._drafts)

    def of(self, case_id: str) -> Draft:
        """The reading of a case; an empty one where nothing was done yet."""
        with self._lock:
            return self._drafts.setdefault(case_id, Draft())

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        """Make an edit, unless it was made before, and tell how its finding stands then.

        Raises:
            ConflictError: if the finding was changed meanwhile, or the reading was handed in.
        """
        with self._lock:
            draft = self._drafts.setdefault(case_id, Draft())
            if not require_editable(draft, edit):
                self._write({"case_id": case_id, "edit": edit.model_dump(mode="json")})
                draft.make(edit)
            return draft.findings.get(edit.finding_id or "")

    def hand_in(self, case_id: str) -> None:
        """Freeze a reading."""
        with self._lock:
            draft = self._drafts.setdefault(case_id, Draft())
            if not draft.is_submitted:
                self._write({"case_id": case_id, "submitted": True})
                draft.is_submitted = True

    @contextmanager
    def handing_in(self, case_id: str) -> Iterator[Draft]:
        """Freeze a reading with what the block does with it; nothing is drawn in it meanwhile.

        Raises:
            ConflictError: if it was handed in before.
        """
        with self._lock:
            draft = self._drafts.setdefault(case_id, Draft())
            if draft.is_submitted:
                raise ConflictError("submitted")
            yield draft
            self._write({"case_id": case_id, "submitted": True})
            draft.is_submitted = True

    def _write(self, told: JsonObject) -> None:
        """Add a line and wait until the disk has it; half a line is taken back."""
        stamped = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **told}
        line = json.dumps({**stamped, "reader": self._reader}, allow_nan=False)
        start = self._file.tell()
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(start)
            raise


@contextmanager
def open_drafts(folder: Path, reader: str) -> Iterator[FolderDrafts]:
    """The readings that a folder keeps; a line that a killed process left unfinished is dropped.

    Raises:
        InputError: if another process writes there, or a line cannot be read.
    """
    make_folder(folder)
    path = folder / JOURNAL
    with locked(folder / ".reading.lock", folder):
        drafts, whole = _read(path)
        is_new = not path.exists()
        with path.open("r+b" if not is_new else "w+b", buffering=0) as raw:
            raw.truncate(whole)
            raw.seek(whole)
            if is_new:
                settle(folder)
            yield FolderDrafts(raw, reader, drafts)


def _read(path: Path) -> tuple[dict[str, Draft], int]:
    """What stands, and how many bytes are whole lines."""
    drafts: dict[str, Draft] = {}
    whole = 0
    if not path.is_file():
        return drafts, whole
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            where = f"{path} line {number}"
            try:
                told = json.loads(line)
                draft = drafts.setdefault(told["case_id"], Draft())
                if "edit" in told:
                    draft.make(checked(Edit, told["edit"], where))
                else:
                    draft.is_submitted = bool(told["submitted"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError.at(
                    where, "cannot be read.", "Put the file back from a copy."
                ) from error
            whole += len(line)
    return drafts, whole
