"""A folder -> the claim of one process to write in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nodulebench.errors import InputError, Problem


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time work in a folder; the system ends the claim of a killed one.

    Raises:
        InputError: if another process has the claim.
    """
    try:
        import fcntl
    except ImportError:  # where there is none, nothing keeps two runs apart
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise InputError(
            Problem(str(folder), "is being written by another process.", "Wait for it to end.")
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)
