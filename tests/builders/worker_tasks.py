"""Tasks of worker processes in tests; they import it, so it is a separate module."""

import os
import signal
import time


def double(number: int) -> int:
    """A task that works."""
    return 2 * number


def slow_double(number: int) -> int:
    """A task that works for a while."""
    time.sleep(0.2)
    return 2 * number


def first_letter(text: str) -> str:
    """A task that may be large, with a small result."""
    return text[0]


def behave(word: str) -> object:
    """A task that does what the word says."""
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "hang":
        time.sleep(3600)
    if word == "break":
        os._exit(3)
    if word == "eat":
        return len(bytearray(64 << 30))
    return word.upper()


def folder_of(_: object) -> str:
    """Where this process is."""
    return os.getcwd()  # noqa: PTH109 - as a text


def threads(name):
    """How many threads a variable allows."""
    return os.environ.get(name)


def memory_limit(_: object) -> int:
    """How many bytes of address space this worker may have."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0]
