"""A place for one sandbox's files that is gone with its thread, killed or not.

Where the system lets us, a thread gets mounts of its own: a file system in memory that nobody else
sees, with a part of fixed size for what the program writes. Elsewhere it is a plain folder.
"""

import ctypes
import errno
import hashlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from nodulebench.io.folders import process_folder
from nodulebench.runner.isolation.sandbox import SERVICE_ID, Isolation, Mount

Result = TypeVar("Result")
_NEW_MOUNTS = 0x00020000
_SLAVE, _ALL_BELOW = 1 << 19, 1 << 14
_AGAIN = 1 << 12
_NO_SUID, _NO_DEVICES = 2, 4
_DETACH = 2
_OPEN_TO_ALL = Path("/tmp")  # noqa: S108 - what lies there has a name that nobody knows
_MOST_NAMES = 20_000
"""Files and folders that a program may write for one case."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Folders of one sandbox: what it is given, and what it writes."""

    folder: Path
    output_bytes: int
    is_capped: bool
    """Whether the file system itself stops what is written at the limit."""

    @property
    def input(self) -> Path:
        """What the program finds, and cannot change."""
        return self.folder / "input"

    @property
    def output(self) -> Path:
        """What the program writes."""
        return self.folder / "output"

    @property
    def space(self) -> Path:
        """For whoever makes the sandbox."""
        return self.folder / "s"

    @property
    def taken(self) -> Path:
        """For copies of what was written: every thread sees it, so that any reader can read it."""
        return self.folder.with_name(f"{self.folder.name}-taken")

    def renew(self) -> None:
        """Empty both folders, for the next case."""
        for place in (self.input, self.output):
            _empty(place)

    def reachable(self, mounts: Iterable[Mount]) -> tuple[Mount, ...]:
        """The same mounts from places that the program's user can come to, whatever lies above.

        Raises:
            OSError: if one cannot be made, or its source is a link by now.
        """
        return tuple(map(self._reachable, mounts))

    def _reachable(self, mount: Mount) -> Mount:
        if mount.source.is_relative_to(self.folder):
            return mount
        name = hashlib.sha256(os.fsencode(mount.source)).hexdigest()[:16]
        place = self.folder / "mounts" / name
        if self.is_capped and place.exists():
            return replace(mount, source=place)
        with _opened(mount) as source:
            if not self.is_capped:
                return mount
            place.parent.mkdir(mode=0o755, exist_ok=True)
            place.mkdir() if stat.S_ISDIR(os.fstat(source).st_mode) else place.touch()
            # what is open is mounted, whatever lies at its path by now
            _mount_again(Path(f"/proc/self/fd/{source}"), place, mount.source)
        return replace(mount, source=place)

    def discard(self, folder: Path) -> None:
        """Remove a folder of ours."""
        shutil.rmtree(folder, ignore_errors=True)

    def is_over(self) -> bool:
        """Whether more was written than may be, where only looking tells."""
        if self.is_capped:
            return False
        total = 0
        for place, _, names in os.walk(self.output):  # links are not followed
            for name in names:
                with suppress(OSError):  # gone meanwhile
                    total += os.lstat(f"{place}/{name}").st_blocks * 512
        return total > self.output_bytes


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the places of sandboxes, which whoever runs in them can come through."""
    usual = Path(tempfile.gettempdir()).resolve()
    is_open = all(parent.stat().st_mode & 0o001 for parent in (usual, *usual.parents))
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    above = _OPEN_TO_ALL if is_root and not is_open else usual
    with process_folder(above) as place:
        for one in (place, place.parent):
            one.chmod(0o711)
        yield place


def in_own_thread(work: Callable[[], Result]) -> Result:
    """What some work gives, done where mounts of its own leave those of everybody else alone."""
    found: list[Result] = []
    failed: list[BaseException] = []

    def call() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def make_scratch(folder: Path, output_bytes: int, isolation: Isolation) -> Scratch:
    """The place of the sandboxes of this thread, in an empty folder."""
    folder.mkdir(mode=0o700, parents=True)
    is_capped = isolation.sees_our_mounts and _own_mounts() and _mount_memory(folder, 0)
    scratch = Scratch(folder, output_bytes, is_capped)
    scratch.input.mkdir()
    scratch.output.mkdir()
    scratch.space.mkdir(mode=0o711)
    if is_capped:
        _mount_memory(scratch.output, output_bytes)
    if os.geteuid() == 0:
        os.chown(folder, 0, SERVICE_ID)
        folder.chmod(0o710)
        scratch.output.chmod(0o700)
        os.chown(scratch.output, SERVICE_ID, SERVICE_ID)
    return scratch


def remove_scratch(scratch: Scratch) -> None:
    """Take the place away, of the thread that made it."""
    if scratch.is_capped:  # with all that is mounted below it
        _libc().umount2(os.fsencode(scratch.folder), _DETACH)
    shutil.rmtree(scratch.folder, ignore_errors=True)


def _empty(place: Path) -> None:
    for one in os.scandir(place):
        if one.is_dir(follow_symlinks=False):
            shutil.rmtree(one.path, ignore_errors=True)
        else:
            Path(one.path).unlink(missing_ok=True)


def _own_mounts() -> bool:
    """Give this thread mounts of its own; whether the system let us."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    # threads of polars that begin later would share our mounts and working folder for ever
    pl.LazyFrame({"begun": [True]}).collect(engine="streaming")
    libc = _libc()
    if libc.unshare(_NEW_MOUNTS) != 0:
        return False
    return bool(libc.mount(b"none", b"/", None, _SLAVE | _ALL_BELOW, None) == 0)


def _mount_memory(place: Path, size: int) -> bool:
    options = f"size={size},nr_inodes={_MOST_NAMES},mode=0700" if size else "mode=0700"
    flags = _NO_SUID | _NO_DEVICES
    made = _libc().mount(b"tmpfs", os.fsencode(place), b"tmpfs", flags, options.encode())
    return bool(made == 0)


def _mount_again(source: Path, place: Path, name: Path) -> None:
    names = os.fsencode(source), os.fsencode(place)
    if _libc().mount(*names, None, _AGAIN | _ALL_BELOW, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(name))


@contextmanager
def _opened(mount: Mount) -> Iterator[int]:
    """The source of a mount, opened without following a link below its folder.

    Raises:
        OSError: if it does not exist, or is a link or lies behind one.
    """
    folder = mount.below or mount.source
    source = os.open(folder, os.O_PATH)
    try:
        for part in mount.source.relative_to(folder).parts:
            inner = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=source)
            os.close(source)
            source = inner
            if stat.S_ISLNK(os.fstat(source).st_mode):
                what = "is a link, or lies behind one, since it was checked"
                raise OSError(errno.ELOOP, what, str(mount.source))
        yield source
    finally:
        os.close(source)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
