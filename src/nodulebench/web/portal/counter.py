"""Uploads, a few at a time: who sends a file waits for a place before any of it is read.

So the disk holds no more than the files of those who have a place, each as large as a site takes
and unpacked once, beside the entries that are kept.
"""

import shutil
from collections import Counter as Counted
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from time import monotonic

import anyio

from nodulebench.web.portal.accounts.service import DeniedError

AT_ONCE, OF_ONE = 4, 1
"""How many files a server takes at the same time, and how many of one account."""
MOST_WAITING, WAITS_S, LOOKS_S = 400, 120.0, 0.02
SPARE = 1024**3
"""What stays free on the disk, for the database and for results."""


class Counter:
    """The places where files are taken, of one server."""

    def __init__(self, at_once: int = AT_ONCE, of_one: int = OF_ONE, waits_s: float = WAITS_S):
        self._at_once, self._of_one, self._waits_s = at_once, of_one, waits_s
        self._lock = Lock()
        self._taken: Counted[str] = Counted()
        self._waiting = 0

    @asynccontextmanager
    async def place(self, account: str) -> AsyncIterator[None]:
        """A place for one file of an account, waited for.

        Raises:
            DeniedError: if too many wait, or none became free in time.
        """
        await self._waited_for(account)
        try:
            yield
        finally:
            with self._lock:
                self._taken[account] -= 1
                self._taken += Counted()  # names of nobody are not kept

    async def _waited_for(self, account: str) -> None:
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise DeniedError("busy", 503)
            self._waiting += 1
        try:
            until = monotonic() + self._waits_s
            while not self._take(account):
                if monotonic() > until:
                    raise DeniedError("busy", 503)
                await anyio.sleep(LOOKS_S)
        finally:
            with self._lock:
                self._waiting -= 1

    def _take(self, account: str) -> bool:
        with self._lock:
            is_free = self._taken.total() < self._at_once and self._taken[account] < self._of_one
            if is_free:
                self._taken[account] += 1
            return is_free


def room(folder: Path) -> int:
    """How many bytes may still be written to the disk of a folder."""
    return max(0, shutil.disk_usage(folder).free - SPARE)


def refuse_full(folder: Path, declared: str) -> None:
    """Refuse a file that the disk has no room for, twice: as it comes, and as it is kept.

    Args:
        folder: where it would be kept.
        declared: its size as the request says it; anything else: the least.

    Raises:
        DeniedError: if there is none.
    """
    if room(folder) <= 2 * (int(declared) if declared.isdecimal() else 0):
        raise DeniedError("disk_full", 507)
