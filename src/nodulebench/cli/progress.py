"""How far a long command is: a bar on a terminal; in a log a line for every tenth."""

import sys

import click

BAR_WIDTH = 30


class ProgressLine:
    """One line on standard error that is written over and over, and gone at the end.

    ``tell`` is what workflows take as ``progress``.
    """

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ("", -1)

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, err=True)

    def tell(self, what: str, done: int, of: int) -> None:
        """Show how far the work is."""
        if self._is_terminal:
            filled = done * BAR_WIDTH // of if of else BAR_WIDTH
            bar = "█" * filled + "░" * (BAR_WIDTH - filled)
            click.echo(f"\r\033[K{bar} {done}/{of} {what[:40]}", nl=False, err=True)
            return
        tenth = done * 10 // of if of else 10
        if (what, tenth) != self._last:
            click.echo(f"{what}: {done} of {of}", err=True)
        self._last = (what, tenth)
