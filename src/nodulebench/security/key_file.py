"""A file with a key -> its bytes; secret ones that others can read are refused, of any kind."""

import os
from pathlib import Path

from nodulebench.core.errors import InputError


def key_content(path: Path, remedy: str = "") -> bytes:
    """The bytes of a file with a key, secret or public.

    Raises:
        InputError: if it cannot be read; says how to make one.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}.", remedy) from error


def refuse_read_by_others(path: Path) -> None:
    """Refuse a file with a secret that others than its owner can read.

    Raises:
        InputError: if they can.
    """
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError.at(path, "can be read by others.", f"Run first: chmod 600 {path}")
