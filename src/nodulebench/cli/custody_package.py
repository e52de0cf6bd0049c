"""nodulebench custody: what becomes of a sealed set, its people and their keys."""

from nodulebench.cli.custody import command

__all__ = ["command"]
