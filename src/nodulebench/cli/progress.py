"""How far a long command is: a bar on a terminal; in a log a line for every tenth."""

import sys
from collections.abc import Iterator
from itertools import count
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

import click

from nodulebench.cli.terminal import commanded, harmless

BAR_WIDTH = 30
PATIENCE = 2.0
"""Seconds that nobody minds to wait without a word."""


Item = TypeVar("Item")


def told_while_made(work: str, items: Iterator[Item], of: int) -> Iterator[Item]:
    """Items that take long to make, each under a line that is gone before the item is printed."""
    for done in count():
        with ProgressLine(work) as line:
            line.tell(work, done, of)
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def tell_line(what: str, _done: int, _of: int) -> None:
    """Tell what was done as a line of its own: where that is worth keeping."""
    click.echo(what)


class ProgressLine:
    """One line on standard error that is written over and over, and gone at the end.

    ``tell`` is what workflows take as ``progress``. Work that is named here says so after a while
    even if it tells nothing, and what is done sooner is done without a word.
    """

    def __init__(self, work: str = "", patience: float = PATIENCE) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._told = (work, 0, 0)
        self._last = ("", -1)
        self._begin, self._patience = monotonic(), patience if work else 0.0
        self._end, self._lock = Event(), Lock()
        self._clock = Thread(target=self._tick, daemon=True) if work else None

    def __enter__(self) -> "ProgressLine":
        if self._clock is not None:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._clock is not None:
            self._clock.join()
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, file=commanded())

    def tell(self, what: str, done: int, of: int) -> None:
        """Show how far the work is; ``of`` is 0 where nobody knows."""
        with self._lock:
            self._told = (what, done, of)
            if monotonic() - self._begin >= self._patience:
                self._show()

    def _tick(self) -> None:
        pause = self._patience
        while not self._end.wait(pause):
            with self._lock:
                self._show()
            pause = 1.0

    def _show(self) -> None:
        what, done, of = self._told
        if self._is_terminal:
            filled = done * BAR_WIDTH // of if of else 0
            bar = "█" * filled + "░" * (BAR_WIDTH - filled) + f" {done}/{of} " if of else ""
            since = monotonic() - self._begin
            clock = f" {since:.0f} s" if self._clock is not None else ""
            words = harmless(" ".join(what.splitlines()))[:40]
            click.echo(f"\r\033[K{bar}{words}{clock}", nl=False, file=commanded())
            return
        tenth = done * 10 // of if of else 10
        if (what, tenth) != self._last:
            click.echo(f"{what}: {done} of {of}" if of else what, err=True)
        self._last = (what, tenth)
