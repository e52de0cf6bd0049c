"""Drafts of readings: every edit is written to disk as one line; the lines give the current state.

An edit names the version that it changes. If another client changed the finding first, the edit is
refused, never merged. A client numbers its edits, so that an edit sent twice changes nothing.
Submitted readings are frozen.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
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
    """One change of a finding."""

    client: Name
    number: int = Field(ge=1)
    finding_id: Name | None = None
    """None: the edit only reports time."""
    based_on: int = Field(default=0, ge=0)
    """The version of the finding that is changed; 0: the finding is new."""
    finding: Finding | None = None
    seconds: Seconds = 0.0
    """Working time on the scan since the client's last edit."""


@dataclass
class SavedDraft:
    """The current state of a finding and how often it was changed; ``finding`` None: removed."""

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
        return {
            name: finding.finding
            for name, finding in self.findings.items()
            if finding.finding is not None
        }

    def make(self, edit: Edit) -> None:
        self.seen[edit.client] = edit.number
        self.seconds += edit.seconds
        if edit.finding_id:
            self.findings[edit.finding_id] = state_after(edit)


def state_after(edit: Edit) -> SavedDraft:
    return SavedDraft(edit.based_on + 1, edit.finding)


class ConflictError(NoduleBenchError):
    """An edit that does not fit the current state."""

    def __init__(self, code: str, current: SavedDraft | None = None) -> None:
        super().__init__(code)
        self.code = code
        """``changed_elsewhere`` or ``submitted``."""
        self.current = current
        """The state that the client does not know yet."""


def require_editable(draft: Draft, edit: Edit) -> bool:
    """Refuse a conflicting edit; True if it was already applied and must not be again."""
    current = draft.findings.get(edit.finding_id or "")
    if edit.number <= draft.seen.get(edit.client, 0):
        return True
    if draft.is_submitted:
        raise ConflictError("submitted", current)
    if edit.finding_id and (current.version if current else 0) != edit.based_on:
        raise ConflictError("changed_elsewhere", current)
    return False


class Drafts(Protocol):
    """The drafts of one reader by case; thread-safe."""

    def every(self) -> Mapping[str, Draft]: ...

    def of(self, case_id: str) -> Draft: ...

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        """Apply an edit unless it was applied before; return the state of its finding."""
        ...

    def submit(self, case_id: str) -> None: ...

    def submitting(self, case_id: str) -> AbstractContextManager[Draft]: ...


class FolderDrafts:
    """Drafts in a folder: a journal with one line per edit."""

    def __init__(self, file: BinaryIO, reader: str, drafts: dict[str, Draft]) -> None:
        self._file = file
        self._reader = reader
        self._drafts = drafts
        self._lock = Lock()

    def every(self) -> Mapping[str, Draft]:
        with self._lock:
            return dict(self._drafts)

    def of(self, case_id: str) -> Draft:
        with self._lock:
            return self._drafts.setdefault(case_id, Draft())

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        with self._lock:
            draft = self._drafts.setdefault(case_id, Draft())
            if not require_editable(draft, edit):
                self._write({"case_id": case_id, "edit": edit.model_dump(mode="json")})
                draft.make(edit)
            return draft.findings.get(edit.finding_id or "")

    def submit(self, case_id: str) -> None:
        with suppress(ConflictError), self.submitting(case_id):
            pass

    @contextmanager
    def submitting(self, case_id: str) -> Iterator[Draft]:
        with self._lock:
            draft = self._drafts.setdefault(case_id, Draft())
            if draft.is_submitted:
                raise ConflictError("submitted")
            yield draft
            self._write({"case_id": case_id, "submitted": True})
            draft.is_submitted = True

    def _write(self, entry: JsonObject) -> None:
        """Append a line and wait until it is on disk; remove it again if that fails halfway."""
        stamped = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
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
    """The drafts of a folder; an unfinished last line of a killed process is dropped."""
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
                entry = json.loads(line)
                draft = drafts.setdefault(entry["case_id"], Draft())
                if "edit" in entry:
                    draft.make(checked(Edit, entry["edit"], where))
                else:
                    draft.is_submitted = bool(entry["submitted"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError.at(
                    where, "cannot be read.", "Put the file back from a copy."
                ) from error
            whole += len(line)
    return drafts, whole
