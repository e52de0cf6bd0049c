"""Compiled templates, cached between runs in jinja2's folder for each user."""

from contextlib import suppress

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


class BytecodeCache(FileSystemBytecodeCache):
    """Caches what it can; without a writable folder templates are compiled in every run."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template that an earlier run compiled."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def bytecode_cache() -> BytecodeCache | None:
    """The cache; None if no folder belongs safely to this user only."""
    with suppress(OSError, RuntimeError):
        return BytecodeCache()
    return None
