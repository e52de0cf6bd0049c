"""A worker: takes jobs one after another, says that it lives, and writes down what it found."""

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from polars.exceptions import PanicException

from nodulebench.errors import InputError, first_line
from nodulebench.portal.jobs import BEAT_S, Claimed, beat, claim, fail, finish
from nodulebench.portal.rankings import refresh_rankings
from nodulebench.portal.scoring import Opening, drop, score
from nodulebench.portal.site import Site

IDLE_S, RANK_S = 0.5, 5.0
LOG = logging.getLogger("nodulebench.portal")


class CancelledError(Exception):
    """The job is to be ended, or is another's by now."""


def work(
    site: Site, opening: Opening | None, stop: threading.Event, *, until_empty: bool = False
) -> int:
    """Do jobs until told to stop; how many were done.

    Args:
        site: the site.
        opening: how sealed sets are opened; None: they are not.
        stop: set by whoever wants it to end after the job at hand.
        until_empty: end when nothing waits.
    """
    name, done, ranked_at = f"{socket.gethostname()}:{os.getpid()}", 0, 0.0
    while not stop.is_set():
        claimed = claim(site, name)
        if claimed is not None:
            _do(site, claimed, opening)
            done += 1
            continue
        if until_empty or monotonic() - ranked_at > RANK_S:
            _rank(site)
            ranked_at = monotonic()
        if until_empty:
            break
        stop.wait(IDLE_S)
    return done


def _rank(site: Site) -> None:
    """Rank what changed; a leaderboard does without, where that breaks down."""
    try:
        refresh_rankings(site)
    except (PanicException, Exception):
        LOG.exception("ranking")


def _do(site: Site, claimed: Claimed, opening: Opening | None) -> None:
    def progress(what: str, step: int, of: int) -> None:
        if not beat(site, claimed, {"what": what, "done": step, "of": of}):
            raise CancelledError

    try:
        with _alive(site, claimed):
            found = score(site, claimed, opening, progress)
    except CancelledError:
        fail(site, claimed, [], "cancelled")
    except InputError as error:
        told = [f"{one.what} {one.remedy}".strip() for one in error.problems]
        fail(site, claimed, told, str(error))
    except (PanicException, Exception) as error:
        LOG.exception("job %s", claimed.job)
        fail(site, claimed, [], f"{type(error).__name__}: {first_line(error)}")
    else:
        if not finish(site, claimed, found):
            drop(site, found)
            fail(site, claimed, [], "cancelled")


@contextmanager
def _alive(site: Site, claimed: Claimed) -> Iterator[None]:
    """Say every few seconds that the work goes on."""
    stop = threading.Event()

    def tell() -> None:
        while not stop.wait(BEAT_S):
            if not beat(site, claimed):
                return

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        stop.set()
        teller.join()
