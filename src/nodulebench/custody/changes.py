"""Changes of a sealed set after signing: files that differ from the signed manifest.

A signed manifest is never rewritten. Later changes (keys wrapped again, a patient withdrawn) are
listed in a change file, and an event of the log names this file by its digest.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import Problem
from nodulebench.custody import layout
from nodulebench.custody.events import Event, Step
from nodulebench.io.atomic import create_once, locked, settle, write_through
from nodulebench.io.bundle import SEALED_NOTE
from nodulebench.io.manifests import (
    PAYLOAD,
    PAYLOAD_MANIFEST,
    TAG_MANIFEST,
    bytes_digest,
    file_digest,
    tag_manifest,
)
from nodulebench.security.events import Fact, canonical

if TYPE_CHECKING:
    from nodulebench.custody.sealed_set import SealedSet


_LISTS = ("manifest-sha256.txt", "tagmanifest-sha256.txt", "bag-info.txt")
_SHEET = ("datasheet.json", "datasheet.md")
MAY_CHANGE: dict[Step, tuple[str, ...]] = {
    "admitted": (*_LISTS, layout.VAULT),
    "rotated": (*_LISTS, layout.VAULT),
    "revoked": (*_LISTS, layout.VAULT),
    "rekeyed": (*_LISTS, layout.VAULT, f"{layout.SECRETS}/", f"{layout.RESULTS}/"),
    "withdrawn": (*_LISTS, *_SHEET, SEALED_NOTE, f"{layout.PAYLOAD}/"),
}
"""Files, and folders with a slash, that the change of a step may replace or remove."""
MAY_REMOVE: dict[Step, tuple[str, ...]] = {"withdrawn": (f"{layout.RESULTS}/",)}
"""Files that the change of a step may remove, but not replace."""


class Change(ConfigModel):
    """Files that are replaced, added and removed together."""

    schema_name: Literal["nodulebench/change@1"] = "nodulebench/change@1"
    files: dict[str, str | None]
    """Path below the set -> digest; None: the file is removed."""

    def to_bytes(self) -> bytes:
        return canonical(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        return bytes_digest(self.to_bytes())


def parse_change(content: bytes) -> Change | None:
    try:
        change = Change.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return change if change.to_bytes() == content else None


def change_named(event: Event) -> str:
    named = event.facts.get("change")
    return named if isinstance(named, str) else ""


def changes_of(
    events: Sequence[Event], read: Callable[[str], Change | None]
) -> tuple[dict[str, str | None], list[Problem]]:
    files: dict[str, str | None] = {}
    problems = []
    for event in events:
        named = change_named(event)
        if not named:
            continue
        change, where = read(named), f"event {event.number}"
        if change is None:
            what = f"made a change {named} that does not exist or was modified."
            problems.append(Problem(where, what, "Restore it from a copy."))
        elif wrong := next(
            (file for file in change.files.items() if not _may(event.step, *file)), None
        ):
            what = f"changed '{wrong[0]}', which this kind of event may not change."
            problems.append(Problem(where, what))
        else:
            files |= change.files
    return files, problems


def _may(step: Step, name: str, digest: str | None) -> bool:
    """Whether a step may replace or remove a file; never for paths that leave the set."""
    if name != PurePosixPath(name).as_posix() or ".." in PurePosixPath(name).parts:
        return False
    allowed = MAY_CHANGE.get(step, ())
    if digest is None:
        allowed += MAY_REMOVE.get(step, ())
    return any(
        name == prefix or (prefix.endswith("/") and name.startswith(prefix)) for prefix in allowed
    )


def with_changes(listed: Mapping[str, str], changed: Mapping[str, str | None]) -> dict[str, str]:
    files = {**listed, **changed}
    return {name: digest for name, digest in files.items() if digest is not None}


_LIST, _FILES = "change.json", "files"


@dataclass(frozen=True, slots=True)
class StagedChange:
    """A change whose files are ready in the stage."""

    folder: Path
    change: Change

    @property
    def digest(self) -> str:
        return self.change.digest

    def apply(self) -> None:
        """Move the files to their targets; repeating this does nothing."""
        apply_change(self.folder, self.change)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Provide an empty folder for the files of a change, by their paths below the set.

    One process at a time changes a set, and all earlier changes have been applied. So any other
    stage was left by a killed run and is removed. The new stage has no effect before ``staged`` and
    an event.
    """
    place = folder.resolve()
    with locked(place.with_name(f".{place.name}.changing.lock"), folder):
        for leftover in _stages(folder):
            shutil.rmtree(leftover)
        stage = folder / layout.CHANGES / f".{token_hex(8)}.part"
        (stage / _FILES).mkdir(parents=True)
        try:
            yield stage / _FILES
        finally:
            shutil.rmtree(stage, ignore_errors=True)  # a staged change has another name by now


def staged(
    folder: Path, files: Path, removed: Iterable[str], listed: Mapping[str, str]
) -> StagedChange:
    names = sorted(
        path.relative_to(files).as_posix() for path in files.rglob("*") if path.is_file()
    )
    changed: dict[str, str | None] = {name: file_digest(files / name) for name in names}
    changed |= dict.fromkeys(removed)
    changed |= _bag_files(folder, files, {**listed, **changed})
    change = Change(files=changed)
    target = folder / layout.change_stage(change.digest)
    for path in (*files.rglob("*"), files):
        if path.is_dir():
            settle(path)
    write_through(files.parent / _LIST, change.to_bytes())
    if target.exists():
        shutil.rmtree(target)
    files.parent.rename(target)
    _settle_up(target, folder)
    return StagedChange(folder, change)


def commit(
    opened: "SealedSet",
    step: Step,
    facts: dict[str, Fact] | Callable[[list[Event]], dict[str, Fact]],
    change: StagedChange,
) -> Event:
    """Write a staged change to the log, unless the set was changed since, and apply it."""

    def all_facts(events: list[Event]) -> dict[str, Fact]:
        more = facts if isinstance(facts, dict) else facts(events)
        return {**more, "change": change.digest}

    event = opened.record(step, all_facts)
    change.apply()
    return event


def read_change(folder: Path, digest: str) -> Change | None:
    for path in (layout.change_file(digest), f"{layout.change_stage(digest)}/{_LIST}"):
        if (folder / path).is_file():
            change = parse_change((folder / path).read_bytes())
            if change is not None and change.digest == digest:
                return change
    return None


def is_pending(folder: Path, digest: str) -> bool:
    return (folder / layout.change_stage(digest)).is_dir()


def apply_change(folder: Path, change: Change) -> None:
    stage = folder / layout.change_stage(change.digest)
    create_once(folder / layout.change_file(change.digest), change.to_bytes())
    for name, digest in change.files.items():
        target, ready = folder / name, stage / _FILES / name
        if digest is None:
            target.unlink(missing_ok=True)
            _settle_up(_without_empty(target.parent, folder), folder)
        elif ready.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            ready.replace(target)
            _settle_up(target.parent, folder)
    shutil.rmtree(stage, ignore_errors=True)


def content_of(folder: Path, name: str, digest: str) -> bytes | None:
    ready = (stage / _FILES / name for stage in _stages(folder))
    for path in (folder / name, *ready):
        if path.is_file() and file_digest(path) == digest:
            return path.read_bytes()
    return None


def put(files: Path, name: str, content: bytes) -> None:
    (files / name).parent.mkdir(parents=True, exist_ok=True)
    write_through(files / name, content)


def put_json(files: Path, name: str, content: object) -> None:
    put(files, name, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def _stages(folder: Path) -> list[Path]:
    return sorted((folder / layout.CHANGES).glob(".*.part"))


def _bag_files(
    folder: Path, files: Path, listed: Mapping[str, str | None]
) -> dict[str, str | None]:
    known = {name: digest for name, digest in listed.items() if digest is not None}
    payload = {name: digest for name, digest in known.items() if name.startswith(f"{PAYLOAD}/")}
    put(files, PAYLOAD_MANIFEST, tag_manifest(payload))
    known[PAYLOAD_MANIFEST] = file_digest(files / PAYLOAD_MANIFEST)
    written = [PAYLOAD_MANIFEST, TAG_MANIFEST]
    info = _info_with(folder, files, payload)
    if info is not None:
        put(files, "bag-info.txt", info)
        known["bag-info.txt"] = file_digest(files / "bag-info.txt")
        written.append("bag-info.txt")
    is_tag = {
        name: digest
        for name, digest in known.items()
        if not name.startswith(f"{PAYLOAD}/") and name != TAG_MANIFEST and not layout.grows(name)
    }
    put(files, TAG_MANIFEST, tag_manifest(is_tag))
    return {name: file_digest(files / name) for name in written}


def _info_with(folder: Path, files: Path, payload: Mapping[str, str]) -> bytes | None:
    path = folder / "bag-info.txt"
    if not path.is_file():
        return None
    sizes = (
        (files / name if (files / name).is_file() else folder / name).stat().st_size
        for name in payload
    )
    size = f"Payload-Oxum: {sum(sizes)}.{len(payload)}"
    lines = path.read_text(encoding="utf-8").splitlines()
    written = [size if line.startswith("Payload-Oxum:") else line for line in lines]
    return ("\n".join(written) + "\n").encode()


def _settle_up(folder: Path, top: Path) -> None:
    settle(folder)
    while folder != top:
        folder = folder.parent
        settle(folder)


def _without_empty(folder: Path, top: Path) -> Path:
    """Remove a folder if empty, then its empty parents; return the first that remains."""
    while folder != top and not (folder.is_dir() and any(folder.iterdir())):
        if folder.is_dir():
            folder.rmdir()
        folder = folder.parent
    return folder
