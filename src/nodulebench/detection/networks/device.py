"""Where networks run: a GPU if there is one, or the CPU with the memory that it was given."""

import ctypes
from functools import cache

import torch

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt."""
KEPT_BYTES, LARGEST_PIECE = 1 << 30, 1 << 25


def best_device() -> torch.device:
    """A GPU that is there, or the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    keep_freed_memory()
    return torch.device("cpu")


@cache
def keep_freed_memory() -> bool:
    """Let the C library keep what a batch frees for the next one; whether it could be asked to.

    It would give every batch its memory anew, page by page: a tenth of the time of judging.
    """
    try:
        ask = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # another C library than glibc
        return False
    limits = ((TRIM_THRESHOLD, KEPT_BYTES), (MMAP_THRESHOLD, LARGEST_PIECE))
    return all(ask(which, limit) for which, limit in limits)
