r"""What a command says -> what a terminal may get: texts of others cannot command it.

Names and header texts come from anybody. The streams themselves are guarded while a command runs,
so that no line, warning, error or traceback can pass by: a character that a terminal would obey
is shown as ``\x1b``, but for line ends, tabs and colours of our own on standard output:
while streams are guarded, ``click.style`` marks these by a word that nobody else can know.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import count
from secrets import token_hex
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TextIO, TypeVar, cast

import click
from click import termui

_OURS = f"\ue000{token_hex(8)}"
_COLOURS = _OURS + r"(\[[0-9;]*m)"
_OBEYED = (
    r"[\0-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but for tab and line feed
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line ends and orders of writing
    r"\ud800-\udfff]"  # bytes of a file name that are no UTF-8
)
_COMMANDS = re.compile(_OBEYED)
_COMMANDS_OR_COLOURS = re.compile(f"{_COLOURS}|{_OBEYED}")
_style = click.style


def harmless(text: str) -> str:
    r"""A text without anything that a terminal obeys, colours too; line ends and tabs stay."""
    return _COMMANDS.sub(lambda found: _shown(found[0]), text)


def _harmless_in_colour(text: str, *, is_terminal: bool) -> str:
    escape = "\x1b" if is_terminal else ""

    def put(found: re.Match[str]) -> str:
        ours = found[1]
        return _shown(found[0]) if ours is None else (escape and escape + ours)

    return _COMMANDS_OR_COLOURS.sub(put, text)


def _marked(text: Any, *arguments: Any, **how: Any) -> str:
    """What ``click.style`` makes, with our word in place of the escapes that it adds."""
    inner = str(text)
    before, _, after = _style("\0", *arguments, **how).partition("\0")
    return f"{before.replace(chr(27), _OURS)}{inner}{after.replace(chr(27), _OURS)}"


def _shown(one: str) -> str:
    byte = ord(one) - 0xDC00  # Python's way to keep a byte that is not UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else one.encode("unicode_escape").decode()


class _Guarded:
    """A text stream that shows commands to a terminal instead of giving them.

    It has no ``buffer``, which would be a way around it.
    """

    def __init__(self, stream: TextIO, *, has_colours: bool) -> None:
        self.stream = stream
        self._has_colours = has_colours

    def write(self, text: str | bytes) -> int:
        # click offers words to a shell as bytes; that empty ones fail tells it that this is text
        words = text.decode("utf-8", "replace") if text and isinstance(text, bytes) else text
        self.stream.write(self._clean(cast("str", words)))
        return len(text)

    def _clean(self, text: str) -> str:
        if not self._has_colours:
            return harmless(re.sub(_COLOURS, "", text) if _OURS in text else text)
        return _harmless_in_colour(text, is_terminal=self.stream.isatty())

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(name)
        return getattr(self.stream, name)


def guard() -> None:
    """Let nothing reach standard output and standard error but harmless text, from now on."""
    sys.stdout = _guarded(sys.stdout, has_colours=True)
    sys.stderr = _guarded(sys.stderr, has_colours=False)
    click.style = termui.style = _marked


def _guarded(stream: Any, *, has_colours: bool) -> TextIO:
    if stream is None or isinstance(stream, _Guarded):  # a program without a console has none
        return cast("TextIO", stream)
    if isinstance(stream, TextIOWrapper) and "ascii" in stream.encoding.lower():
        stream.reconfigure(encoding="utf-8", errors="replace")  # a locale that says nothing
    return cast("TextIO", _Guarded(stream, has_colours=has_colours))


@contextmanager
def guarded() -> Iterator[None]:
    """Guard both streams for a while."""
    before = sys.stdout, sys.stderr, click.style
    guard()
    try:
        yield
    finally:
        sys.stdout, sys.stderr, click.style = before
        termui.style = click.style


def commanded() -> TextIO:
    """Standard error for a text that is to command the terminal: all else in it is harmless."""
    stream: Any = sys.stderr
    return cast("TextIO", stream.stream if isinstance(stream, _Guarded) else stream)


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
