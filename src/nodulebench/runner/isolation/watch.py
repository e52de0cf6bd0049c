"""Watch a program in its sandbox: time limit, usage, first output, and how it ended."""

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
"""Stored bytes of a program's output; the rest is read and dropped."""
POLL_S = 0.05
"""Interval of checks of a program's memory and disk use."""


@dataclass
class ProgramOutput:
    """The first output of a program on both streams, in order of arrival."""

    content: bytearray = field(default_factory=bytearray)

    def take(self, part: bytes) -> None:
        """Add output; bytes over the limit are dropped."""
        left = MOST_OUTPUT_BYTES - len(self.content)
        self.content += part[: max(0, left)]

    @property
    def text(self) -> str:
        return bytes(self.content).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    exit_code: int | None
    """None: it was ended by a signal."""
    signal: int | None
    seconds: float
    usage: Usage
    peak_anonymous_bytes: int | None
    is_late: bool = False
    is_over_output: bool = False


def watch(
    running: Running,
    seconds: float,
    output: ProgramOutput,
    is_over: Callable[[], bool] = lambda: False,
) -> Ended:
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
            next_poll = start + POLL_S / 5
            while not (is_late or is_over_output):
                now = time.monotonic()
                events = ready.select(max(0.0, min(end, next_poll) - now))
                keys = {key.fd for key, _ in events}
                for fd in keys - {ended}:
                    _hear(ready, fd, output)
                if ended in keys:
                    break
                now = time.monotonic()
                if now >= next_poll:
                    peak = higher(peak, running.usage().anonymous_bytes)
                    is_over_output = is_over()
                    next_poll = now + POLL_S
                is_late = now >= end
            taken = time.monotonic() - start
            running.kill()
            _hear_rest(ready, ended, output)
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


def _hear(ready: selectors.BaseSelector, fd: int, output: ProgramOutput) -> None:
    part = os.read(fd, 1 << 16)
    if part:
        output.take(part)
    else:
        ready.unregister(fd)


def _hear_rest(ready: selectors.BaseSelector, ended: int, output: ProgramOutput) -> None:
    ready.unregister(ended)
    while events := ready.select(0):
        for key, _ in events:
            _hear(ready, key.fd, output)
        if len(output.content) >= MOST_OUTPUT_BYTES:
            return


def higher(first: int | None, other: int | None) -> int | None:
    return other if first is None else first if other is None else max(first, other)


_LONGEST_LINE = 4096
READY, DONE, CALL = b"ready", b"done", b"read\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to one call."""

    line: bytes | None
    """None: the program ended, or its time limit was reached."""
    seconds: float
    peak_anonymous_bytes: int | None
    is_late: bool = False
    is_over_output: bool = False


@dataclass
class Calls:
    """Exchange lines with a program in its sandbox, directly or through a helper process."""

    running: Running
    speaker: "subprocess.Popen[bytes]"
    output: ProgramOutput = field(default_factory=ProgramOutput)
    _heard: bytearray = field(default_factory=bytearray)

    def call(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> Answer:
        """Ask the program to read the case in its input folder."""
        if self.speaker.stdin is None:
            raise AssertionError("the process has a pipe")
        self.output, start = ProgramOutput(), time.monotonic()
        with suppress(OSError):  # it has ended, which the answer shows
            self.speaker.stdin.write(CALL)
        return self.answer(seconds, is_over, start)

    def answer(
        self,
        seconds: float,
        is_over: Callable[[], bool] = lambda: False,
        start: float | None = None,
    ) -> Answer:
        """Return the next line of the program; its time starts at ``start``, or now."""
        process, start = self.running.process, time.monotonic() if start is None else start
        end, next_poll, peak = start + seconds, start + POLL_S / 5, None
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
                if now >= next_poll:
                    peak = higher(peak, self.running.usage().anonymous_bytes)
                    next_poll = now + POLL_S
                    if is_over():
                        return Answer(None, now - start, peak, is_over_output=True)
                for key, _ in ready.select(max(0.0, min(end, next_poll) - now)):
                    part = os.read(key.fd, 1 << 16)
                    if lines is not None and key.fd == lines.fileno():
                        self._heard += part
                        if not part or len(self._heard) > _LONGEST_LINE:
                            return Answer(None, time.monotonic() - start, peak)
                    elif part:
                        self.output.take(part)
                    else:
                        ready.unregister(key.fd)
        line, _, rest = bytes(self._heard).partition(b"\n")
        self._heard[:] = rest
        return Answer(line.strip(), time.monotonic() - start, peak)


@contextmanager
def calls_of(running: Running, *, by_http: bool) -> Iterator[Calls]:
    """Open the calls of a program: by lines, or by HTTP in the network of its sandbox."""
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
