"""Graphics cards of a slot -> the most of their memory that was used while something ran."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ASKS_S = 0.5
"""How often they are asked: an answer takes tens of milliseconds."""
_ANSWERS_S = 10.0


@dataclass
class CardMemory:
    """What was seen of the memory of some cards."""

    peak_mb: float | None = None
    """Of all of them together; None: nobody could tell."""


@contextmanager
def watched_cards(cards: tuple[int, ...]) -> Iterator[CardMemory]:
    """Look at the memory of cards until the context is left; they are nobody else's meanwhile."""
    seen = CardMemory()
    if not cards:
        yield seen
        return
    ended = threading.Event()

    def look() -> None:
        while True:
            used = used_mb(cards)
            if used is not None:
                seen.peak_mb = used if seen.peak_mb is None else max(seen.peak_mb, used)
            if ended.wait(ASKS_S):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def used_mb(cards: tuple[int, ...]) -> float | None:
    """The memory that is in use on cards, in MiB, as NVIDIA's program tells; None: it does not."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(  # noqa: S603
            [program, *asked, f"--id={','.join(map(str, cards))}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_ANSWERS_S,
        )
        numbers = [float(line) for line in told.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return sum(numbers) if len(numbers) == len(cards) else None
