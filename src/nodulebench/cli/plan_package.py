"""nodulebench plan: calculators for whoever plans a test."""

from nodulebench.cli.plan import command

__all__ = ["command"]
