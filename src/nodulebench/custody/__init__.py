"""Sequestered test sets: seal, open, budget, evaluate, and a log of every use."""

from nodulebench.io.bundle import is_sealed, require_local_workers

__all__ = ["is_sealed", "require_local_workers"]
