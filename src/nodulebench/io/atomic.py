"""Write files that appear whole or not at all: each is staged next to its target, then moved.

The bytes are on the disk before the file gets its name, so that a power cut cannot leave a name
without its content. The names are on the disk before the work counts as done.
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
    """Let one process at a time work on a path; the system frees the lock of a killed process.

    Args:
        file: the lock file, in a folder that exists; it is deleted afterwards.
        what: the file or folder that is worked on, for the message.
        waits_s: how long to wait for another process.

    Raises:
        InputError: if another process holds the lock.
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
            file.unlink()  # while it is held: a waiting process sees that it is gone
        lock.release()


NAMING_WAITS_S = 10.0
LEFTOVER = re.compile(r"\.([0-9a-f]{16}\.part|(naming|storing)\.lock)")
"""A file that a killed process was about to name, or its lock file; neither is ever read."""


def create_once(path: Path, content: bytes, *, mode: int = 0o666) -> bool:
    """Write a new file; False if the name is already taken."""
    try:
        _write_then(_name_once, path, content, mode)
    except FileExistsError:
        return False
    return True


def _name_once(stage: Path, path: Path) -> None:
    """Give a file its name."""
    try:
        os.link(stage, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links: one process at a time checks and renames
        with locked(path.with_name(".naming.lock"), path, waits_s=NAMING_WAITS_S):
            if path.exists():
                raise FileExistsError(path) from None
            stage.rename(path)


def replace_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replace a file in one step."""
    _write_then(Path.replace, path, content, mode)


def _write_then(
    name: Callable[[Path, Path], object], path: Path, content: bytes, mode: int = 0o666
) -> None:
    make_folder(path.parent)
    stage = path.parent / f".{token_hex(8)}.part"
    try:
        write_through(stage, content, mode=mode)
        name(stage, path)
    finally:
        stage.unlink(missing_ok=True)
    settle(path.parent)


def make_folder(folder: Path, *, is_final: bool = True) -> None:
    """Make a folder and those above it; if ``is_final``, wait until the disk has their names."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in made if is_final else ():
        settle(path.parent)


def write_through(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file and wait until the disk has it; ``mode`` holds for a new file only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def settle(path: Path) -> None:
    """Wait until the disk has the names in a folder, or the bytes of a file."""
    is_posix = os.name == "posix"
    if not is_posix and path.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if is_posix else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle_all(path: Path) -> None:
    if path.is_dir():
        for child in path.iterdir():
            settle_all(child)
    settle(path)


UNFINISHED = re.compile(r"\.[0-9a-f]{16}[-.].+|\.moving")
"""Names of what is being written. What a killed run left behind is never read."""
MOVING, GONE = ".moving", ".gone"
"""Within a folder: its files to come, and a list of the files to delete after the move."""
_RUN = "-run"


@contextmanager
def staged_folder(folder: Path, *, last: str = "", is_new: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write into; its files move to ``folder`` when all went well.

    A new folder appears in one step. In an existing folder, files of the same names are replaced;
    others stay, or are deleted (``leave_out``). The stage is first moved into the folder, so that
    the next process to open the folder can finish what a killed one began (``complete_move``).

    Args:
        folder: where the files go.
        last: the file that is moved after all others: if it exists, the others are complete.
        is_new: whether ``folder`` must be new or empty.

    Raises:
        InputError: if ``folder`` cannot be written to; nothing is left behind.
    """
    complete_move(folder)
    if is_new and folder.is_dir() and not all(map(is_unfinished, folder.iterdir())):
        what = "is not empty; its files could be mistaken for part of the result."
        raise InputError.at(folder, what, "Choose a new folder.")
    with _sibling_stage(folder, folder if folder.is_dir() else None) as stage:
        stage.mkdir()
        yield stage
        is_final = not is_unfinished(*folder.resolve().parents)
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
    """List the files to delete from the folder after the files of the stage have moved there."""
    (stage / GONE).write_text("\n".join(sorted(names)), encoding="utf-8")


def complete_move(folder: Path) -> None:
    """Finish the move into a folder that a killed process began."""
    if (folder / MOVING).is_dir():
        try:
            _move(folder)
        except OSError as error:
            what = f"was left half written, and cannot be completed: {error.strerror or error}."
            raise InputError.at(folder, what, "Make it writable, or write it again.") from error


def _move(folder: Path, last: str = "") -> None:
    stage = folder / MOVING
    gone = stage / GONE
    names = gone.read_text(encoding="utf-8").splitlines() if gone.is_file() else []
    moved = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
    is_final = not is_unfinished(*folder.resolve().parents)
    parents = {folder, *((folder / file).parent for file in moved)}
    for parent in sorted(parents):  # else after a power cut files could have left but not arrived
        make_folder(parent, is_final=is_final)
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
        settle(folder)  # so that a later run does not repeat the move over newer files


def is_unfinished(*paths: Path) -> bool:
    """Whether any of these is being written, or was when its process was killed.

    What is inside a folder being written is settled as a whole at the end.
    """
    return any(UNFINISHED.fullmatch(path.name) for path in paths)


@contextmanager
def staged_file(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """Yield a path to write one file to; it moves to ``path`` when all went well.

    Args:
        path: where the file goes.
        within: a run's folder on the same disk to write it in (``run_folder``), which settles all
            its files at the end; None: the folder of ``path``.

    Raises:
        InputError: if ``path`` cannot be written to; nothing is left behind.
    """
    with _sibling_stage(path, within) as stage:
        yield stage
        is_final = within is None and not is_unfinished(*path.resolve().parents)
        if is_final:
            settle(stage)
        stage.replace(path)
        if is_final:
            settle(path.resolve().parent)


@contextmanager
def run_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder in ``folder`` for what one run writes; those of killed runs are deleted.

    All files in ``folder`` are on the disk when the run is over. No reader opens a folder with
    such a name (``UNFINISHED``). Concurrent runs have one each.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in {path.name.removesuffix(".lock") for path in folder.glob(f".*{_RUN}*")}:
            with suppress(InputError), _is_own_run(folder / name):
                pass  # no process held the lock: it was killed
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
    parent = target.resolve().parent if within is None else within
    # the suffix stays, because writers look at it
    stage = parent / f".{token_hex(8)}-{target.name or 'folder'}"
    try:
        is_final = within is None and not is_unfinished(*target.resolve().parents)
        make_folder(parent if within is None else target.parent, is_final=is_final)
        yield stage
    except OSError as error:
        raise InputError.at(target, f"cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(stage) if stage.is_dir() else stage.unlink()
