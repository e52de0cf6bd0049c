"""nodulebench annotate: from readers to a reference standard."""

from nodulebench.cli.annotate.group import command

__all__ = ["command"]
