r"""Safe output on a terminal: untrusted text cannot send control sequences to it.

Names and header texts are untrusted. Both streams are guarded while a command runs, so that every
line, warning, error and traceback is cleaned: a character that a terminal would obey is shown as
``\x1b``. Line ends, tabs and our own colours on standard output stay: while streams are guarded,
``click.style`` marks colours by a secret word.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from io import TextIOWrapper
from itertools import count
from math import isfinite, isnan
from secrets import token_hex
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click
from click import termui

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonValue

_OURS = f"\ue000{token_hex(8)}"
_COLOURS = _OURS + r"(\[[0-9;]*m)"
_OBEYED = (
    r"[\0-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but for tab and line feed
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line ends and directions of writing
    r"\ud800-\udfff]"  # bytes of a file name that are not UTF-8
)
_COMMANDS = re.compile(_OBEYED)
_COMMANDS_OR_COLOURS = re.compile(f"{_COLOURS}|{_OBEYED}")
_style = click.style


def harmless(text: str) -> str:
    r"""A text without control sequences, also without colours; line ends and tabs stay."""
    return _COMMANDS.sub(lambda match: _shown(match[0]), text)


def _marked(text: Any, *arguments: Any, **how: Any) -> str:
    """The result of ``click.style``, with our word instead of the escapes that it adds."""
    inner = str(text)
    before, _, after = _style("\0", *arguments, **how).partition("\0")
    return f"{before.replace(chr(27), _OURS)}{inner}{after.replace(chr(27), _OURS)}"


def _shown(character: str) -> str:
    byte = ord(character) - 0xDC00  # how Python represents a byte that is not UTF-8
    if 0x80 <= byte <= 0xFF:
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode()


class _Guarded:
    """A text stream that shows control sequences instead of sending them.

    It has no ``buffer``, which would circumvent it.
    """

    def __init__(self, stream: TextIO, *, has_colours: bool) -> None:
        self.stream = stream
        self._has_colours = has_colours

    def write(self, text: str | bytes) -> int:
        # click writes bytes to a shell; if empty bytes fail, it takes this as a text stream
        plain = text.decode("utf-8", "replace") if text and isinstance(text, bytes) else text
        words = cast("str", plain)
        if self._has_colours:
            escape = "\x1b" if self.stream.isatty() else ""
            words = _COMMANDS_OR_COLOURS.sub(
                lambda part: _shown(part[0]) if part[1] is None else escape and escape + part[1],
                words,
            )
        else:
            words = harmless(re.sub(_COLOURS, "", words) if _OURS in words else words)
        self.stream.write(words)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(name)
        return getattr(self.stream, name)


def guard() -> None:
    """Let only harmless text reach standard output and standard error, from now on."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None or isinstance(stream, _Guarded):  # a program without a console has none
            continue
        if isinstance(stream, TextIOWrapper) and "ascii" in stream.encoding.lower():
            stream.reconfigure(encoding="utf-8", errors="replace")  # a locale without an encoding
        setattr(sys, name, _Guarded(stream, has_colours=name == "stdout"))
    click.style = termui.style = _marked


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
    """Standard error for our own control sequences; the rest of the text must be harmless."""
    stream: Any = sys.stderr
    return cast("TextIO", stream.stream if isinstance(stream, _Guarded) else stream)


_QUIET, _JSON = f"{__name__}.quiet", f"{__name__}.json"


def set_quiet(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    """The callback of ``--quiet``."""
    context.meta[_QUIET] = given or context.meta.get(_QUIET, False)


def is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def print_done(text: str) -> None:
    """Print a line about what was written or may come next, unless ``--quiet`` is given."""
    if not is_quiet():
        click.echo(text)


def _begin_json(context: click.Context, _parameter: click.Parameter, is_given: bool) -> None:
    """Keep standard output for the JSON document; everything else goes to standard error."""
    if is_given:
        context.meta[_JSON] = sys.stdout
        context.call_on_close(partial(setattr, sys, "stdout", sys.stdout))
        sys.stdout = sys.stderr


json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_begin_json,
    help="Print the result as JSON; everything else goes to standard error.",
)


def print_json(document: "JsonValue") -> None:
    """Print a result, or what a function returns, as one JSON document if ``--json`` is given."""
    stream = click.get_current_context().meta.get(_JSON)
    if stream is not None:
        made = document() if callable(document) else document
        click.echo(json.dumps(_plain(made), indent=2), file=stream)


def _plain(value: "JsonValue") -> "JsonValue":
    """A value as JSON knows it; what has no place there becomes text, and NaN becomes null."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None if isnan(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    for method in ("to_json", "model_dump", "to_dicts", "tolist"):
        if hasattr(value, method):
            return _plain(getattr(value, method)())
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return str(value)


BAR_WIDTH = 30
PATIENCE = 2.0
"""Seconds to wait before the first message."""


Item = TypeVar("Item")


def with_progress(work: str, items: Iterator[Item], of: int) -> Iterator[Item]:
    """Yield items that take long; a progress line is shown while each is made."""
    for done in count():
        with ProgressLine(work) as line:
            line.tell(work, done, of)
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def tell_line(what: str, _done: int, _of: int) -> None:
    """Print progress as a separate line, which stays on the terminal."""
    print_done(what)


class ProgressLine:
    """A line on standard error that is overwritten, and removed at the end.

    ``tell`` is the ``progress`` argument of services. Work with a name is shown after a while even
    if it reports no progress; work that ends sooner is not shown.
    """

    def __init__(self, work: str = "", patience: float = PATIENCE) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._current = (work, 0, 0)
        self._last = ("", -1)
        self._begin, self._patience = monotonic(), patience if work else 0.0
        self._end, self._lock = Event(), Lock()
        self._is_quiet = is_quiet()
        has_clock = bool(work) and not self._is_quiet
        self._clock = Thread(target=self._tick, daemon=True) if has_clock else None

    def __enter__(self) -> "ProgressLine":
        if self._clock is not None:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._clock is not None:
            self._clock.join()
        if self._is_terminal and not self._is_quiet:
            click.echo("\r\033[K", nl=False, file=commanded())

    def tell(self, what: str, done: int, of: int) -> None:
        """Show the progress of the work; ``of`` is 0 if the total is unknown."""
        with self._lock:
            self._current = (what, done, of)
            if not self._is_quiet and monotonic() - self._begin >= self._patience:
                self._show()

    def _tick(self) -> None:
        pause = self._patience
        while not self._end.wait(pause):
            with self._lock:
                self._show()
            pause = 1.0

    def _show(self) -> None:
        what, done, of = self._current
        if self._is_terminal:
            call_with = done * BAR_WIDTH // of if of else 0
            bar = "█" * call_with + "░" * (BAR_WIDTH - call_with) + f" {done}/{of} " if of else ""
            since = monotonic() - self._begin
            clock = f" {since:.0f} s" if self._clock is not None else ""
            words = harmless(" ".join(what.splitlines()))[:40]
            click.echo(f"\r\033[K{bar}{words}{clock}", nl=False, file=commanded())
            return
        tenth = done * 10 // of if of else 10
        if (what, tenth) != self._last:
            click.echo(f"{what}: {done} of {of}" if of else what, err=True)
        self._last = (what, tenth)
