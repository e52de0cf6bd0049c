"""A worker: takes jobs one after another, sends heartbeats, and stores the results."""

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
from nodulebench.security.keys import PrivateKey
from nodulebench.web.portal.benchmarks.releases import digest_releases
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.leaderboards.rankings import refresh_rankings
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.checks import for_page
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
from nodulebench.web.portal.submissions.scoring import drop, score, sweep_results
from nodulebench.web.portal.submissions.service import forget_unpacked, sweep_uploads

IDLE_S, RANK_S, SWEEP_S, POLL_S = 0.5, 5.0, 3600.0, 1.0
LOG = logging.getLogger("nodulebench.web.portal")


class CancelledError(BaseException):
    """The job was cancelled or its claim is lost; scoring code must not catch this."""


def work(
    site: Site, own_key: PrivateKey | None, stop: threading.Event, *, until_empty: bool = False
) -> int:
    """Do jobs until ``stop`` is set, or until none waits; return their number."""
    name, done = f"{socket.gethostname()}:{os.getpid()}", 0
    ranked_at = swept_at = heartbeat_at = float("-inf")

    def heartbeat() -> None:
        send_heartbeat(site, name, opens_sealed=own_key is not None)

    while not stop.is_set():
        try:
            if monotonic() - heartbeat_at > HEARTBEAT_S:
                heartbeat()
                heartbeat_at = monotonic()
            claimed = claim(site, name)
            if claimed is not None:
                _do(site, claimed, own_key, heartbeat)
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
        except UNREACHED as error:  # the current job is claimed again when its lease ends
            LOG.warning("the database is away: %s", first_line(error))
        stop.wait(IDLE_S)
    with suppress(*UNREACHED):
        record_end(site, name)
    return done


def _refresh(site: Site) -> None:
    """Update rankings and digests; the site works without them if that fails."""
    for each in (refresh_rankings, digest_releases):
        try:
            each(site)
        except (PanicException, Exception):
            LOG.exception(each.__name__)


def _do(
    site: Site, claimed: Claimed, own_key: PrivateKey | None, heartbeat: Callable[[], object]
) -> None:
    def progress(what: str, step: int, of: int) -> None:
        if not beat(site, claimed, {"what": what, "done": step, "of": of}):
            raise CancelledError

    try:
        with _alive(site, claimed, heartbeat):
            scored = score(site, claimed, own_key, progress)
    except CancelledError:
        has_ended = fail(site, claimed, [], "cancelled")
    except InputError as error:
        problems = for_page(error.problems)
        messages = [f"{problem.what} {problem.remedy}".strip() for problem in problems]
        has_ended = fail(site, claimed, messages, str(error))
    except UNREACHED:  # the job did not cause it
        raise
    except (PanicException, Exception) as error:
        LOG.exception("job %s", claimed.job)
        has_ended = fail(site, claimed, [], f"{type(error).__name__}: {first_line(error)}")
    else:
        has_ended = finish(site, claimed, scored)
        if not has_ended:
            drop(site, scored)
            has_ended = fail(site, claimed, [], "cancelled")
    if has_ended:  # otherwise another worker may be reading the unpacked files
        forget_unpacked(site, claimed.entry)


@contextmanager
def _alive(site: Site, claimed: Claimed, heartbeat: Callable[[], object]) -> Iterator[None]:
    """Send heartbeats while the block runs, and interrupt the block when the job is cancelled.

    A signal interrupts it, also while it waits for a program. Signals reach only the main thread;
    work in another thread ends when it next reports progress.
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
