"""Bytes -> a file that appears whole, once and for all, or in place of an older one."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from nodulebench.io.lock import locked

NAMING_WAITS_S = 10.0
LEFTOVER = re.compile(r"\.([0-9a-f]{16}\.part|(naming|keeping)\.lock)")
"""A file that a killed process was about to name, or its claim; it was never part of anything."""


def create_once(path: Path, content: bytes, *, mode: int = 0o666) -> bool:
    """Write a file that is not there yet; whether it was written, or the name was taken."""
    try:
        _write_then(_name_once, path, content, mode)
    except FileExistsError:
        return False
    return True


def _name_once(stage: Path, path: Path) -> None:
    """Give a file its name, unless the name is taken.

    Raises:
        FileExistsError: if it is.
    """
    try:
        os.link(stage, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: one process at a time looks and renames
        with locked(path.with_name(".naming.lock"), path, waits_s=NAMING_WAITS_S):
            if path.exists():
                raise FileExistsError(path) from None
            stage.rename(path)


def replace_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file in the place of an older one, at once."""
    _write_then(Path.replace, path, content, mode)


def _write_then(
    name: Callable[[Path, Path], object], path: Path, content: bytes, mode: int = 0o666
) -> None:
    """Write a file under another name beside its place, then give it its own."""
    make_folder(path.parent)
    stage = path.parent / f".{token_hex(8)}.part"
    try:
        write_through(stage, content, mode=mode)
        name(stage, path)
    finally:
        stage.unlink(missing_ok=True)
    settle(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, and wait until the disk has their names."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in made:
        settle(one.parent)


def write_through(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file and wait until the disk has it; a new one is for whom ``mode`` says."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def settle(place: Path) -> None:
    """Wait until the disk has the names in a folder, or the bytes of a file."""
    is_posix = os.name == "posix"
    if not is_posix and place.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(place, os.O_RDONLY if is_posix else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle_all(place: Path) -> None:
    """Wait until the disk has a file, or a folder with all that is below it."""
    if place.is_dir():
        for below in place.iterdir():
            settle_all(below)
    settle(place)
