"""A folder, watched while a command writes to it -> what a disk may hold after a power cut.

The disk keeps the bytes of a file that were there at the last ``fsync``, and the names in
a folder likewise. Of what came later it keeps any part: a name may be the old or the new one, bytes
may be those of before, none, half or all.
"""

import os
import random
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Names = dict[str, int]
"""Names in a folder -> which file or folder they name."""


@dataclass
class Moment:
    """All there is at one moment, and what the disk is sure to keep of it."""

    where: str
    root: int
    folders: dict[int, Names] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    modes: dict[int, int] = field(default_factory=dict)
    """Who may read, write and run files and folders: keys are for their owners only."""
    safe_folders: dict[int, Names] = field(default_factory=dict)
    safe_files: dict[int, bytes] = field(default_factory=dict)


_WATCHING: "list[Recorder]" = []
_HOOKS: list[Any] = []
"""The one hook of this process, which cannot be taken off."""


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir"):
        for recorder in _WATCHING:
            recorder.add(f"{event} {arguments[0]}")


class Recorder:
    """Looks at a folder before every operation on files of this process, and at every fsync."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[int, int] = {}
        """All that was seen stays open, so that no number becomes that of another file."""
        self.moments = [self.snapshot("the beginning", None)]
        first = self.moments[0]
        first.safe_folders, first.safe_files = dict(first.folders), dict(first.files)
        self._is_busy = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what is done within."""
        fsync = os.fsync

        def watched(file: Any) -> None:
            fsync(file)
            self._synced(os.fstat(file if isinstance(file, int) else file.fileno()).st_ino)

        os.fsync = watched
        _WATCHING.append(self)
        if not _HOOKS:
            sys.addaudithook(_watch)
            _HOOKS.append(_watch)
        try:
            yield
            self.add("the end")
        finally:
            os.fsync = fsync
            _WATCHING.remove(self)
            self.close()

    def close(self) -> None:
        """Let go of all that was seen."""
        while self._held:
            os.close(self._held.popitem()[1])

    def add(self, where: str) -> None:
        """Take a snapshot, unless the operation is part of one."""
        if self._is_busy:
            return
        self._is_busy = True
        before = self.moments[-1]
        now = self.snapshot(where, before)
        if (now.folders, now.files) != (before.folders, before.files):
            self.moments.append(now)
        self._is_busy = False

    def _synced(self, number: int) -> None:
        self.add("fsync")
        last = self.moments[-1]
        now = Moment("fsync", last.root, last.folders, last.files, last.modes)
        now.safe_folders, now.safe_files = dict(last.safe_folders), dict(last.safe_files)
        if number in last.folders:
            now.safe_folders[number] = last.folders[number]
        if number in last.files:
            now.safe_files[number] = last.files[number]
        self.moments.append(now)

    def snapshot(self, where: str, before: "Moment | None") -> Moment:
        """All there is now; bytes that were there before are not held twice."""
        known = {} if before is None else before.files
        now = Moment(where, self.folder.stat().st_ino)
        waiting = [str(self.folder)]
        while waiting:
            place = waiting.pop()
            names: Names = {}
            for entry in os.scandir(place):
                names[entry.name] = entry.inode()
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    held = self._hold(entry.path, entry.inode())
                    content, old = os.pread(held, 1 << 26, 0), known.get(entry.inode())
                    now.files[entry.inode()] = old if old == content else content
                    now.modes[entry.inode()] = os.fstat(held).st_mode
            status = Path(place).stat()
            number = status.st_ino
            now.modes[number] = status.st_mode
            self._hold(place, number)
            now.folders[number] = names
        if before is not None:
            now.safe_files, now.safe_folders = before.safe_files, before.safe_folders
            now.modes = before.modes | now.modes
        return now

    def _hold(self, place: str, number: int) -> int:
        if number not in self._held:
            self._held[number] = os.open(place, os.O_RDONLY)
        return self._held[number]


@dataclass
class DiskState:
    """One state that a disk may have after a power cut.

    ``how`` says what survives of what was not synchronised: as little as possible (``least``), all
    names without their bytes (``names``), any part by chance (``any``); all of it, as when only a
    process was killed (``all``).
    """

    moment: Moment
    how: str
    chance: random.Random
    changes: dict[int | None, bool] = field(default_factory=dict)
    """Which files and folders have their new names on the disk."""

    @property
    def where(self) -> str:
        """When the power was cut, and what survived."""
        return f"{self.moment.where}, survived: {self.how}"

    def put(self, folder: Path) -> None:
        """Write it to a folder."""
        self._folder(self.moment.root, folder)

    def _folder(self, number: int, place: Path) -> None:
        place.mkdir(parents=True)
        now = self.moment.folders.get(number, {})
        safe = self.moment.safe_folders.get(number, {})
        for name in sorted({*now, *safe}):
            is_new = self._has_new(now.get(name, safe.get(name)))
            known = (now if is_new else safe).get(name)
            if known in self.moment.folders or known in self.moment.safe_folders:
                self._folder(known, place / name)
            elif known is not None:
                (place / name).write_bytes(self._bytes(known))
                (place / name).chmod(stat.S_IMODE(self.moment.modes[known]))
        place.chmod(stat.S_IMODE(self.moment.modes[number]))

    def _has_new(self, number: int | None) -> bool:
        """Whether an unsynchronised change of a name is on the disk; a move is whole or absent."""
        if self.how != "any":
            return self.how in ("names", "all")
        return self.changes.setdefault(number, self.chance.random() < 0.5)

    def _bytes(self, number: int) -> bytes:
        now = self.moment.files.get(number)
        safe = self.moment.safe_files.get(number)
        if self.how == "all":
            return now or b""
        if now is None or safe == now:
            return safe or b""
        if self.how != "any":
            return safe or b""
        return self.chance.choice([safe or b"", now[: len(now) // 2], now])
