"""A lock file -> the claim of one process to write."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
