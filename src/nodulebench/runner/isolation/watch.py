"""A program in its sandbox and a time -> how it ended, what it used, what it said at first."""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodulebench.runner.isolation.sandbox import Running, Usage

MOST_OUTPUT_BYTES = 64 << 10
"""What is kept of the words of a program; the rest is read and forgotten."""
POLL_S = 0.05
"""How often it is looked how much memory and disk a program uses."""


@dataclass
class ProgramOutput:
    """The first words of a program on both its streams, as they came."""

    content: bytearray = field(default_factory=bytearray)

    def take(self, part: bytes) -> None:
        """More words; those over the cap are dropped."""
        room = MOST_OUTPUT_BYTES - len(self.content)
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
    said: ProgramOutput,
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
            next_look = start + POLL_S / 5
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
                    next_look = now + POLL_S
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


def _hear(ready: selectors.BaseSelector, fd: int, said: ProgramOutput) -> None:
    part = os.read(fd, 1 << 16)
    if part:
        said.take(part)
    else:
        ready.unregister(fd)


def _hear_rest(ready: selectors.BaseSelector, ended: int, said: ProgramOutput) -> None:
    """What is left in the pipes; nobody writes to them any more, or nobody waits for them."""
    ready.unregister(ended)
    while found := ready.select(0):
        for key, _ in found:
            _hear(ready, key.fd, said)
        if len(said.content) >= MOST_OUTPUT_BYTES:
            return


def higher(one: int | None, other: int | None) -> int | None:
    """The higher of two numbers, of those that are known."""
    return other if one is None else one if other is None else max(one, other)


_LONGEST_LINE = 4096
READY, DONE, CALL = b"ready", b"done", b"read\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call."""

    line: bytes | None
    """None: the program ended, or its time was over."""
    seconds: float
    peak_anonymous_bytes: int | None
    is_late: bool = False
    is_over_output: bool = False


@dataclass
class Calls:
    """Lines to and from a program in its sandbox, or what speaks to it in its name."""

    running: Running
    speaker: "subprocess.Popen[bytes]"
    said: ProgramOutput = field(default_factory=ProgramOutput)
    _heard: bytearray = field(default_factory=bytearray)

    def call(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> Answer:
        """Let the program read the case that lies in its input."""
        if self.speaker.stdin is None:
            raise AssertionError("it was given a pipe")
        self.said, start = ProgramOutput(), time.monotonic()
        with suppress(OSError):  # it has ended, which the answer tells
            self.speaker.stdin.write(CALL)
        return self.answer(seconds, is_over, start)

    def answer(
        self,
        seconds: float,
        is_over: Callable[[], bool] = lambda: False,
        start: float | None = None,
    ) -> Answer:
        """The next line of the program, whose time began at a start, or begins now."""
        process, start = self.running.process, time.monotonic() if start is None else start
        end, next_look, peak = start + seconds, start + POLL_S / 5, None
        lines = self.speaker.stdout
        streams = {process.stdout, process.stderr, lines} - {None}
        with selectors.DefaultSelector() as ready:
            for stream in streams:
                if stream is not None:
                    ready.register(stream, selectors.EVENT_READ)
            while b"\n" not in self._heard:
                now = time.monotonic()
                if now >= end:
                    return Answer(None, now - start, peak, is_late=True)
                if now >= next_look:
                    peak = higher(peak, self.running.usage().anonymous_bytes)
                    next_look = now + POLL_S
                    if is_over():
                        return Answer(None, now - start, peak, is_over_output=True)
                for key, _ in ready.select(max(0.0, min(end, next_look) - now)):
                    part = os.read(key.fd, 1 << 16)
                    if lines is not None and key.fd == lines.fileno():
                        self._heard += part
                        if not part or len(self._heard) > _LONGEST_LINE:
                            return Answer(None, time.monotonic() - start, peak)
                    elif part:
                        self.said.take(part)
                    else:
                        ready.unregister(key.fd)
        line, _, rest = bytes(self._heard).partition(b"\n")
        self._heard[:] = rest
        return Answer(line.strip(), time.monotonic() - start, peak)


@contextmanager
def calls_of(running: Running, *, by_http: bool) -> Iterator[Calls]:
    """The calls of a program: on its own lines, or by HTTP in the network of its sandbox."""
    if not by_http:
        yield Calls(running, running.process)
        return
    program = Path(__file__).with_name("http_calls.py")
    speaker = subprocess.Popen(  # noqa: S603 - our own
        [*running.network_of(), sys.executable, "-I", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        bufsize=0,
    )
    try:
        yield Calls(running, speaker)
    finally:
        speaker.kill()
        speaker.wait()
        for stream in (speaker.stdin, speaker.stdout):
            if stream is not None:
                stream.close()
