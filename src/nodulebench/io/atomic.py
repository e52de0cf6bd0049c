"""Files that appear whole or not at all: they are written beside their place, then moved there.

The disk has their bytes before they get their names, so that a power cut cannot leave a name
without its content; and it has the names before the work counts as done.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from nodulebench.core.errors import InputError


@contextmanager
def locked(file: Path, what: Path, *, waits_s: float = 0) -> Iterator[None]:
    """Let one process at a time work on something; the system ends the claim of a killed one.

    Args:
        file: the lock file, in a folder that is there; it is gone afterwards.
        what: the file or folder that is worked on, for the message.
        waits_s: how long to wait for another process.

    Raises:
        InputError: if another process has the claim.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(timeout=waits_s)
    except Timeout as error:
        raise InputError.at(
            what, "is being written by another process.", "Wait for it to end."
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps open files, and removes this one at the release
            file.unlink()  # while it is held: who waits for it sees that it is gone
        lock.release()


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
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
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


UNFINISHED = re.compile(r"\.[0-9a-f]{16}[-.].+|\.moving")
"""Names of what is being written; what a killed run left was never part of anything."""
MOVING, GONE = ".moving", ".gone"
"""What a folder is being brought to, within it; and the files that shall then be gone."""
_RUN = "-run"


@contextmanager
def staged_folder(folder: Path, *, last: str = "", is_new: bool = False) -> Iterator[Path]:
    """An empty folder to write into; its files move to ``folder`` when all went well.

    A folder that was not there appears at once. In one that was, files of the same names are
    replaced and others stay, or go (``leave_out``): what was written gets a name within it first,
    and whoever opens it next ends what a killed process began (``complete_move``).

    Args:
        folder: where the files shall be in the end.
        last: the file that is moved after all others, so that whoever sees it can trust them.
        is_new: whether a folder that already holds something is refused.

    Raises:
        InputError: if the place cannot be written to; nothing is left behind.
    """
    complete_move(folder)
    if is_new and folder.is_dir() and not all(map(is_unfinished, folder.iterdir())):
        raise InputError.at(
            folder,
            "is not empty; its files would be taken for part of what is written.",
            "Choose a new folder.",
        )
    with _sibling_stage(folder, folder if folder.is_dir() else None) as stage:
        stage.mkdir()
        yield stage
        is_final = not _is_within_unfinished(folder)
        if not folder.is_dir():
            (stage / GONE).unlink(missing_ok=True)
        if is_final:
            settle_all(stage)
        if folder.is_dir():
            stage.replace(folder / MOVING)
            if is_final:
                settle(folder)
            _move(folder, last)
        else:
            stage.replace(folder)
        if is_final:
            settle(folder.resolve().parent)


def leave_out(stage: Path, names: Iterable[str]) -> None:
    """Say which files of the folder shall be gone when those of the stage have moved there."""
    (stage / GONE).write_text("\n".join(sorted(names)), encoding="utf-8")


def complete_move(folder: Path) -> None:
    """Bring a folder to the end of what a process was writing into it when it was killed.

    Raises:
        InputError: if the folder cannot be written to.
    """
    if (folder / MOVING).is_dir():
        try:
            _move(folder)
        except OSError as error:
            what = f"was left half written, and cannot be completed: {error.strerror or error}."
            raise InputError.at(folder, what, "Make it writable, or write it anew.") from error


def _move(folder: Path, last: str = "") -> None:
    """Move what has got its name within a folder to its places."""
    stage = folder / MOVING
    gone = stage / GONE
    names = gone.read_text(encoding="utf-8").splitlines() if gone.is_file() else []
    moved = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
    is_final = not _is_within_unfinished(folder)
    parents = {folder, *((folder / file).parent for file in moved)}
    for parent in sorted(parents):  # else a power cut could keep that files left, not where to
        _make(parent, is_final=is_final)
    for file in sorted(moved, key=lambda file: (file == Path(GONE), file == Path(last), file)):
        if file == Path(GONE):
            for name in names:
                (folder / name).unlink(missing_ok=True)
            gone.unlink(missing_ok=True)
        else:
            with suppress(FileNotFoundError):  # another process completes it too
                (stage / file).replace(folder / file)
    for parent in parents if is_final else ():
        settle(parent)
    shutil.rmtree(stage, ignore_errors=True)
    if is_final:
        settle(folder)  # so that it is not completed again, over what comes later


def _make(folder: Path, *, is_final: bool) -> None:
    """Make a folder; one that is not settled in the end by others is on the disk at once."""
    if is_final:
        make_folder(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def is_unfinished(path: Path) -> bool:
    """Whether a name is one of what is being written, or was when its process was killed."""
    return UNFINISHED.fullmatch(path.name) is not None


def _is_within_unfinished(path: Path) -> bool:
    """Whether a place lies within something that is being written, which settles it in the end."""
    return any(map(is_unfinished, path.resolve().parents))


@contextmanager
def staged_file(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """A path to write one file to; it moves to ``path`` when all went well.

    Args:
        path: where the file shall be in the end.
        within: a run's folder on the same disk to write it in (``run_folder``), which settles all
            its files at the end; None: beside its place.

    Raises:
        InputError: if the place cannot be written to; nothing is left behind.
    """
    with _sibling_stage(path, within) as stage:
        yield stage
        is_final = within is None and not _is_within_unfinished(path)
        if is_final:
            settle(stage)
        stage.replace(path)
        if is_final:
            settle(path.resolve().parent)


@contextmanager
def run_folder(folder: Path) -> Iterator[Path]:
    """A folder in ``folder`` for what one run is about to write; those of killed runs go.

    All that lies in ``folder`` is on the disk when the run is over.
    Nobody reads what has such a name (``UNFINISHED``). Runs at the same time have one each.

    Raises:
        InputError: if the place cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in {path.name.removesuffix(".lock") for path in folder.glob(f".*{_RUN}*")}:
            with suppress(InputError), _is_own_run(folder / name):
                pass  # nobody had the claim: it was killed
        with _is_own_run(folder / f".{token_hex(8)}{_RUN}") as own:
            own.mkdir()
            yield own
            settle_all(folder)
    except OSError as error:
        raise InputError.at(folder, f"cannot be written: {error.strerror or error}.") from error


@contextmanager
def _is_own_run(folder: Path) -> Iterator[Path]:
    with locked(folder.with_name(f"{folder.name}.lock"), folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sibling_stage(target: Path, within: Path | None = None) -> Iterator[Path]:
    beside = target.resolve().parent if within is None else within
    # the suffix stays, because writers look at it
    stage = beside / f".{token_hex(8)}-{target.name or 'folder'}"
    try:
        is_final = within is None and not _is_within_unfinished(target)
        _make(beside if within is None else target.parent, is_final=is_final)
        yield stage
    except OSError as error:
        raise InputError.at(target, f"cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(stage) if stage.is_dir() else stage.unlink()
