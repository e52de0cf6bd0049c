"""A wall around decoders: a small file may not fill the memory, whatever its stream asks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM_BYTES = 1 << 30
"""What decoding a slice may need beside its own size; libraries that are loaded for it included."""

_STATE = Path("/proc/self/statm")


@contextmanager
def bounded_memory(needed: int) -> Iterator[None]:
    """Let this process grow by no more than ``needed`` bytes and some room; then MemoryError.

    Where the system cannot tell or limit it (other than Linux), nothing is bounded.
    """
    try:
        import resource

        pages = int(_STATE.read_text(encoding="ascii").split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        yield
        return
    limit = pages * resource.getpagesize() + needed + ROOM_BYTES
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
