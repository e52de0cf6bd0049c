"""A program that is started once -> its answers, line by line, each within a time."""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from nodulebench.runner.isolation.sandbox import Running
from nodulebench.runner.isolation.watch import LOOKS_S, Said, higher

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
    said: Said = field(default_factory=Said)
    _heard: bytearray = field(default_factory=bytearray)

    def call(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> Answer:
        """Let the program read the case that lies in its input."""
        if self.speaker.stdin is None:
            raise AssertionError("it was given a pipe")
        self.said, start = Said(), time.monotonic()
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
        end, next_look, peak = start + seconds, start + LOOKS_S / 5, None
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
                    next_look = now + LOOKS_S
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
