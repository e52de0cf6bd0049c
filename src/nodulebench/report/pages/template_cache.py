"""Compiled templates, kept from one run to the next in jinja2's own folder for each user."""

from contextlib import suppress

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


class BytecodeCache(FileSystemBytecodeCache):
    """Keeps what can be kept; what cannot is compiled anew the next time, and nothing fails."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what an earlier run compiled."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def bytecode_cache() -> BytecodeCache | None:
    """Where compiled templates lie; None where no folder is safely this user's own."""
    with suppress(OSError, RuntimeError):
        return BytecodeCache()
    return None
