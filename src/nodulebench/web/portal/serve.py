"""Run a site: web servers and workers, until they are stopped."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import uvicorn
from sqlalchemy import select, update

from nodulebench.web.portal.accounts.service import make_link
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.database.models import Account, Invitation, now
from nodulebench.web.portal.site import MIB, Settings, Site
from nodulebench.web.viewer.app import open_listener

POLL_S = 1.0
LOG = logging.getLogger("nodulebench.web.portal")


@contextmanager
def run_alongside(commands: Sequence[Sequence[str]], secrets: Mapping[str, str]) -> Iterator[None]:
    """Keep ``nodulebench`` commands running as child processes.

    They end after their current work, also if the server is killed: its end of the pipe closes.
    Nothing is imported from the working folder (``-P``). ``secrets`` are environment variables,
    which process lists do not show.
    """
    stop, known = threading.Event(), {**os.environ, **secrets}

    def start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
        whole = [sys.executable, "-P", "-m", "nodulebench", *words, "--until-parent-ends"]
        return subprocess.Popen(whole, stdin=subprocess.PIPE, env=known)  # noqa: S603

    def watch() -> None:
        while not stop.wait(POLL_S):
            for number, process in enumerate(started):
                if process.poll() is not None:
                    words = " ".join(commands[number][:2])
                    LOG.warning("%s ended by %s and is started again", words, process.returncode)
                    started[number] = start(commands[number])

    started = [start(words) for words in commands]
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def serve(
    settings: Settings,
    host: str,
    port: int,
    tell: Callable[[str], object],
    *,
    processes: int = 1,
    workers: int = 1,
    first: Callable[[Site], object] | None = None,
) -> None:
    """Serve until stopped; ``tell`` gets the address and the link of the first organiser."""
    open_listener(host, port).close()  # fail if another program uses the port
    site = Site.open(settings)
    if first is not None:
        first(site)
    tell(f"{settings.address}/")
    link = organiser_link(site)
    if link:
        tell(f"organiser, once: {link}")
    commands = [_web(settings, host, port)] * (processes - 1) + [_worker(settings)] * workers
    with run_alongside(commands, {"NODULEBENCH_DATABASE": settings.database_url}):
        _answer(site, open_listener(host, port, is_shared=processes > 1), threading.Event())


def serve_alongside(settings: Settings, host: str, port: int, stop: threading.Event) -> None:
    _answer(Site.open(settings), open_listener(host, port, is_shared=True), stop)


def _answer(site: Site, heard: socket.socket, stop: threading.Event) -> None:
    config = uvicorn.Config(
        make_app(site),
        log_level="warning",
        proxy_headers=False,  # the application decides which proxies to trust
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)

    def end_with_parent() -> None:
        stop.wait()
        server.should_exit = True

    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt, _EndedError), _ended_by_signal():
        server.run(sockets=[heard])
    site.database.close()


def _web(settings: Settings, host: str, port: int) -> list[str]:
    given: dict[str, object] = {
        "storage": settings.storage,
        "host": host,
        "port": port,
        "address": settings.address,
        "proxy": settings.proxy,
        "test-sets": settings.sets,
        "scans": settings.scan_sets,
        "largest-upload": settings.largest_upload // MIB,
        "account-quota": settings.account_quota // (1024 * MIB),
    }
    if settings.provider is not None:  # the secret is passed in an environment variable
        provider = settings.provider
        given |= {"oidc-issuer": provider.issuer, "oidc-client": provider.client}
        given |= {"oidc-name": provider.name}
    return ["portal", *(f"--{name}={value}" for name, value in given.items())]


def _worker(settings: Settings) -> list[str]:
    return ["portal", "worker", "--storage", str(settings.storage)]


def organiser_link(site: Site) -> str:
    """A link for the first organiser; empty if there is one. Earlier links expire."""
    with site.database.writing() as session:
        if any("organiser" in roles for roles in session.scalars(select(Account.roles))):
            return ""
        unused = update(Invitation).where(Invitation.used_at.is_(None), Invitation.made_by == "")
        session.execute(unused.values(expires_at=now()))
    return f"{site.settings.address}/link/{make_link(site, ('organiser',), '')}"


class _EndedError(Exception):
    """The process received a signal to end."""


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Raise our own exception on SIGTERM: the server would send the signal again after its end."""

    def end(*_: object) -> None:
        raise _EndedError

    signal.signal(signal.SIGTERM, end)
    yield
