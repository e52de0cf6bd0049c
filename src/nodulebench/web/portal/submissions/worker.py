"""A worker: takes jobs one after another, says that it lives, and writes down what it found."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from polars.exceptions import PanicException

from nodulebench.core.errors import InputError, first_line
from nodulebench.web.portal.benchmarks.releases import digest_releases
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.leaderboards.rankings import refresh_rankings
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.jobs import (
    BEAT_S,
    HEARTBEAT_S,
    Claimed,
    beat,
    claim,
    fail,
    finish,
    is_wanted,
    record_end,
    send_heartbeat,
)
from nodulebench.web.portal.submissions.scoring import SealedAccess, drop, score, sweep_results
from nodulebench.web.portal.submissions.service import forget_unpacked, sweep_uploads

IDLE_S, RANK_S, SWEEP_S, POLL_S = 0.5, 5.0, 3600.0, 1.0
LOG = logging.getLogger("nodulebench.web.portal")


class CancelledError(BaseException):
    """The job is to be ended, or is another's by now; nothing that scores takes it for its own."""


def work(
    site: Site, access: SealedAccess | None, stop: threading.Event, *, until_empty: bool = False
) -> int:
    """Do jobs until told to stop; how many were done.

    Args:
        site: the site.
        access: how sealed sets are opened; None: they are not.
        stop: set by whoever wants it to end after the job at hand.
        until_empty: end when nothing waits.
    """
    name, done = f"{socket.gethostname()}:{os.getpid()}", 0
    ranked_at = swept_at = heartbeat_at = float("-inf")

    def heartbeat() -> None:
        send_heartbeat(site, name, opens_sealed=access is not None)

    while not stop.is_set():
        try:
            if monotonic() - heartbeat_at > HEARTBEAT_S:
                heartbeat()
                heartbeat_at = monotonic()
            claimed = claim(site, name)
            if claimed is not None:
                _do(site, claimed, access, heartbeat)
                done += 1
                continue
            if until_empty or monotonic() - ranked_at > RANK_S:
                _refresh(site)
                ranked_at = monotonic()
            if until_empty:
                break
            if monotonic() - swept_at > SWEEP_S:
                sweep_uploads(site)
                sweep_results(site)
                swept_at = monotonic()
        except UNREACHED as error:  # what was at hand is somebody's again when its claim ends
            LOG.warning("the database is away: %s", first_line(error))
        stop.wait(IDLE_S)
    with suppress(*UNREACHED):
        record_end(site, name)
    return done


def _refresh(site: Site) -> None:
    """Rank what changed, and make digests; the site does without, where that breaks down."""
    for each in (refresh_rankings, digest_releases):
        try:
            each(site)
        except (PanicException, Exception):
            LOG.exception(each.__name__)


def _do(
    site: Site, claimed: Claimed, access: SealedAccess | None, heartbeat: Callable[[], object]
) -> None:
    def progress(what: str, step: int, of: int) -> None:
        if not beat(site, claimed, {"what": what, "done": step, "of": of}):
            raise CancelledError

    try:
        with _alive(site, claimed, heartbeat):
            scored = score(site, claimed, access, progress)
    except CancelledError:
        has_ended = fail(site, claimed, [], "cancelled")
    except InputError as error:
        messages = [f"{problem.what} {problem.remedy}".strip() for problem in error.problems]
        has_ended = fail(site, claimed, messages, str(error))
    except UNREACHED:  # the job is not to blame
        raise
    except (PanicException, Exception) as error:
        LOG.exception("job %s", claimed.job)
        has_ended = fail(site, claimed, [], f"{type(error).__name__}: {first_line(error)}")
    else:
        has_ended = finish(site, claimed, scored)
        if not has_ended:
            drop(site, scored)
            has_ended = fail(site, claimed, [], "cancelled")
    if has_ended:  # else it is another worker's by now, who may be reading what was unpacked
        forget_unpacked(site, claimed.entry)


@contextmanager
def _alive(site: Site, claimed: Claimed, heartbeat: Callable[[], object]) -> Iterator[None]:
    """Say every few seconds that the work goes on; end it when it shall not.

    A signal ends it, also while it waits for a program that it started; signals come to the main
    thread alone, and work in another one ends when it next tells how far it is.
    """
    stop, is_main = threading.Event(), threading.current_thread() is threading.main_thread()

    def keep_alive() -> None:
        beaten_at = monotonic()
        while not stop.wait(POLL_S):
            is_due = monotonic() - beaten_at >= BEAT_S
            try:
                if is_due:
                    heartbeat()
                goes_on = beat(site, claimed) if is_due else is_wanted(site, claimed)
            except UNREACHED:
                continue
            if goes_on:
                beaten_at = monotonic() if is_due else beaten_at
                continue
            if is_main and not stop.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            return

    def end(*_: object) -> None:
        if not stop.is_set():
            raise CancelledError

    before = signal.signal(signal.SIGUSR1, end) if is_main else None
    alive = threading.Thread(target=keep_alive, daemon=True)
    alive.start()
    try:
        yield
    finally:
        stop.set()
        alive.join()
        if is_main:
            signal.signal(signal.SIGUSR1, before)
