"""Scratch folder for one sandbox's files that disappears with its thread, even if killed.

If the system permits, the thread gets private mounts: a file system in memory that no other process
sees, with a part of fixed size for the program's output. Otherwise it is an ordinary folder.
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
_OPEN_TO_ALL = Path("/tmp")  # noqa: S108 - the folder there has an unpredictable name
_MOST_NAMES = 20_000
"""Number of files and folders that a program may write for one case."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Input and output folders of one sandbox."""

    folder: Path
    output_bytes: int
    is_capped: bool
    """Whether the file system itself enforces the limit on output."""

    @property
    def input(self) -> Path:
        """Input of the program, which it cannot change."""
        return self.folder / "input"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def space(self) -> Path:
        return self.folder / "s"

    @property
    def taken(self) -> Path:
        """Copies of the output, visible to every thread, so that any reader can read them."""
        return self.folder.with_name(f"{self.folder.name}-taken")

    def renew(self) -> None:
        for entry in (*os.scandir(self.input), *os.scandir(self.output)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)

    def reachable(self, mounts: Iterable[Mount]) -> tuple[Mount, ...]:
        """Return the same mounts from paths that the program's user can reach.

        Raises:
            OSError: if a mount cannot be created, or its source has become a link.
        """
        return tuple(map(self._reachable, mounts))

    def _reachable(self, mount: Mount) -> Mount:
        if mount.source.is_relative_to(self.folder):
            return mount
        name = hashlib.sha256(os.fsencode(mount.source)).hexdigest()[:16]
        target = self.folder / "mounts" / name
        if self.is_capped and target.exists():
            return replace(mount, source=target)
        with _opened(mount) as source:
            if not self.is_capped:
                return mount
            target.parent.mkdir(mode=0o755, exist_ok=True)
            target.mkdir() if stat.S_ISDIR(os.fstat(source).st_mode) else target.touch()
            # the open file is mounted, even if its path has been replaced since
            _mount_again(Path(f"/proc/self/fd/{source}"), target, mount.source)
        return replace(mount, source=target)

    def discard(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def is_over(self) -> bool:
        """Whether the output exceeds the limit, if the file system does not enforce it."""
        if self.is_capped:
            return False
        total = 0
        for folder, _, names in os.walk(self.output):  # links are not followed
            for name in names:
                with suppress(OSError):  # removed meanwhile
                    total += os.lstat(f"{folder}/{name}").st_blocks * 512
        return total > self.output_bytes


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Provide a folder for the files of sandboxes, which users inside them can traverse."""
    usual = Path(tempfile.gettempdir()).resolve()
    is_open = all(parent.stat().st_mode & 0o001 for parent in (usual, *usual.parents))
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    above = _OPEN_TO_ALL if is_root and not is_open else usual
    with process_folder(above) as private:
        for folder in (private, private.parent):
            folder.chmod(0o711)
        yield private


def in_own_thread(work: Callable[[], Result]) -> Result:
    """Run work in a new thread, whose private mounts do not affect other threads."""
    results: list[Result] = []
    failed: list[BaseException] = []

    def call() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return results[0]


def make_scratch(folder: Path, output_bytes: int, isolation: Isolation) -> Scratch:
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
    """Remove a scratch folder, in the thread that created it."""
    if scratch.is_capped:  # with all mounts below it
        _libc().umount2(os.fsencode(scratch.folder), _DETACH)
    shutil.rmtree(scratch.folder, ignore_errors=True)


def _own_mounts() -> bool:
    """Give this thread private mounts; return whether the system permitted it."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    # threads of polars that start later would share our mounts and working folder permanently
    pl.LazyFrame({"begun": [True]}).collect(engine="streaming")
    libc = _libc()
    if libc.unshare(_NEW_MOUNTS) != 0:
        return False
    return bool(libc.mount(b"none", b"/", None, _SLAVE | _ALL_BELOW, None) == 0)


def _mount_memory(target: Path, size: int) -> bool:
    options = f"size={size},nr_inodes={_MOST_NAMES},mode=0700" if size else "mode=0700"
    flags = _NO_SUID | _NO_DEVICES
    made = _libc().mount(b"tmpfs", os.fsencode(target), b"tmpfs", flags, options.encode())
    return bool(made == 0)


def _mount_again(source: Path, target: Path, name: Path) -> None:
    names = os.fsencode(source), os.fsencode(target)
    if _libc().mount(*names, None, _AGAIN | _ALL_BELOW, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(name))


@contextmanager
def _opened(mount: Mount) -> Iterator[int]:
    """Open the source of a mount without following a link below its folder."""
    folder = mount.below or mount.source
    source = os.open(folder, os.O_PATH)
    try:
        for part in mount.source.relative_to(folder).parts:
            inner = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=source)
            os.close(source)
            source = inner
            if stat.S_ISLNK(os.fstat(source).st_mode):
                what = "has become a link, or is behind one, since it was checked"
                raise OSError(errno.ELOOP, what, str(mount.source))
        yield source
    finally:
        os.close(source)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
