"""Refusals -> how many an event of the log shall tell: the first of a kind at once, others counted.

Whoever is refused a thousand times a second cannot fill the log with it.
"""

from threading import Lock
from time import monotonic

EVERY_S = 60.0
"""Of one account and one reason, no more than one event in this time."""


class Refusals:
    """What was refused of late, by account and reason."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._told: dict[tuple[str, str], tuple[float, int]] = {}

    def due(self, account: str, code: str) -> int:
        """Count one more; how many an event shall tell now, 0: none yet."""
        at = monotonic()
        with self._lock:
            told_at, kept = self._told.get((account, code), (float("-inf"), 0))
            is_due = at - told_at >= EVERY_S
            self._told[account, code] = (at, 0) if is_due else (told_at, kept + 1)
        return kept + 1 if is_due else 0
