"""nodulebench plan: calculators for whoever plans a test."""

from nodulebench.cli.plan.group import command

__all__ = ["command"]
