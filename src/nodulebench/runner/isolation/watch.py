"""A program in its sandbox and a time -> how it ended, what it used, what it said at first."""

import os
import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from nodulebench.runner.isolation.sandbox import Running, Usage

MOST_SAID_BYTES = 64 << 10
"""What is kept of the words of a program; the rest is read and forgotten."""
LOOKS_S = 0.05
"""How often it is looked how much memory and disk a program uses."""


@dataclass
class Said:
    """The first words of a program on both its streams, as they came."""

    content: bytearray = field(default_factory=bytearray)

    def take(self, part: bytes) -> None:
        """More words; those over the cap are dropped."""
        room = MOST_SAID_BYTES - len(self.content)
        self.content += part[: max(0, room)]

    @property
    def text(self) -> str:
        """Whatever it was, as text."""
        return bytes(self.content).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, or was ended."""

    exit_code: int | None
    """None: a signal ended it."""
    signal: int | None
    seconds: float
    usage: Usage
    peak_anonymous_bytes: int | None
    is_late: bool = False
    is_over_output: bool = False


def watch(
    running: Running,
    seconds: float,
    said: Said,
    is_over: Callable[[], bool] = lambda: False,
) -> Ended:
    """Wait for a program until its time is over; what still runs then is ended.

    Args:
        running: the program.
        seconds: how long it may take.
        said: gets its words.
        is_over: whether it has written more than it may.
    """
    process, start = running.process, time.monotonic()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    end = start + seconds
    peak: int | None = None
    is_late = is_over_output = False
    with selectors.DefaultSelector() as ready:
        ended = os.pidfd_open(process.pid)
        try:
            ready.register(ended, selectors.EVENT_READ)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    ready.register(stream, selectors.EVENT_READ)
            next_look = start + LOOKS_S / 5
            while not (is_late or is_over_output):
                now = time.monotonic()
                found = ready.select(max(0.0, min(end, next_look) - now))
                keys = {key.fd for key, _ in found}
                for fd in keys - {ended}:
                    _hear(ready, fd, said)
                if ended in keys:
                    break
                now = time.monotonic()
                if now >= next_look:
                    peak = higher(peak, running.usage().anonymous_bytes)
                    is_over_output = is_over()
                    next_look = now + LOOKS_S
                is_late = now >= end
            taken = time.monotonic() - start
            running.kill()
            _hear_rest(ready, ended, said)
        finally:
            os.close(ended)
    usage = running.usage()
    code = process.returncode
    was_ended = is_late or is_over_output
    return Ended(
        exit_code=code if code >= 0 and not was_ended else None,
        signal=-code if code < 0 and not was_ended else None,
        seconds=taken if was_ended or usage.seconds is None else usage.seconds,
        usage=replace(usage, anonymous_bytes=None),
        peak_anonymous_bytes=peak,
        is_late=is_late,
        is_over_output=is_over_output,
    )


def _hear(ready: selectors.BaseSelector, fd: int, said: Said) -> None:
    part = os.read(fd, 1 << 16)
    if part:
        said.take(part)
    else:
        ready.unregister(fd)


def _hear_rest(ready: selectors.BaseSelector, ended: int, said: Said) -> None:
    """What is left in the pipes; nobody writes to them any more, or nobody waits for them."""
    ready.unregister(ended)
    while found := ready.select(0):
        for key, _ in found:
            _hear(ready, key.fd, said)
        if len(said.content) >= MOST_SAID_BYTES:
            return


def higher(one: int | None, other: int | None) -> int | None:
    """The higher of two numbers, of those that are known."""
    return other if one is None else one if other is None else max(one, other)
