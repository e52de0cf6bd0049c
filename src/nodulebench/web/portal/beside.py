"""Commands that run beside the server: started again when they end, and ended with it."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

LOOK_S = 1.0
LOG = logging.getLogger("nodulebench.web.portal")


@contextmanager
def beside(commands: Sequence[Sequence[str]], secrets: Mapping[str, str]) -> Iterator[None]:
    """Keep commands of ``nodulebench`` running.

    They end after what is at hand, also where the server was killed: its end of the pipe closes.

    Args:
        commands: the words of each.
        secrets: variables that they are given, which no list of processes shows.
    """
    stop, known = threading.Event(), {**os.environ, **secrets}

    def start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
        whole = [sys.executable, "-m", "nodulebench", *words, "--until-parent-ends"]
        return subprocess.Popen(whole, stdin=subprocess.PIPE, env=known)  # noqa: S603

    def watch() -> None:
        while not stop.wait(LOOK_S):
            for number, one in enumerate(started):
                if one.poll() is not None:
                    words = " ".join(commands[number][:2])
                    LOG.warning("%s ended by %s and is started again", words, one.returncode)
                    started[number] = start(commands[number])

    started = [start(words) for words in commands]
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()
        for one in started:
            one.terminate()
        for one in started:
            one.wait()
