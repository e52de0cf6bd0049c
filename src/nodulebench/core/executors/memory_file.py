"""A large task -> a file in memory that other processes of this machine read: nothing is sent.

It has no name, belongs to the process that made it, and is gone with it, however that ends.
"""

import os
from dataclasses import dataclass
from pathlib import Path

LARGE = 1 << 20
"""Bytes from which sending costs more than reading."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """Bytes that lie in memory until they are closed."""

    descriptor: int

    @property
    def path(self) -> Path:
        """Where processes of the same user read it."""
        return Path(f"/proc/{os.getpid()}/fd/{self.descriptor}")

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.descriptor)


def memory_file(content: bytes) -> MemoryFile | None:
    """Bytes as a file in memory; None if they are few, or this system has no such files."""
    if len(content) < LARGE or not hasattr(os, "memfd_create"):
        return None
    made = MemoryFile(os.memfd_create("nodulebench-task", os.MFD_CLOEXEC))
    with open(made.descriptor, "wb", closefd=False) as file:
        file.write(content)
    return made
