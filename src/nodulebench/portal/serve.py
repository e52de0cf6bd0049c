"""Settings -> a site that answers: web server and workers, until somebody stops them."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from sqlalchemy import select, update

from nodulebench.portal.access.accounts import make_link
from nodulebench.portal.app import make_app
from nodulebench.portal.site import Settings, Site
from nodulebench.portal.store.tables import Account, Invitation, now

PROXY = "127.0.0.1"
"""Only a reverse proxy on this machine is believed when it says who asks."""


def serve(
    settings: Settings, host: str, port: int, workers: int, tell: Callable[[str], object]
) -> None:
    """Serve a site until it is stopped.

    Args:
        settings: where it keeps what.
        host: address to listen on.
        port: port to listen on.
        workers: worker processes that are started beside; 0: they run elsewhere.
        tell: told the address, and the organiser's link where nobody is organiser yet.
    """
    site = Site.open(settings)
    tell(f"{settings.address}/")
    link = organiser_link(site)
    if link:
        tell(f"organiser, once: {link}")
    config = uvicorn.Config(
        make_app(site),
        host=host,
        port=port,
        log_level="warning",
        forwarded_allow_ips=PROXY,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    signal.signal(signal.SIGTERM, _end)  # the server passes the signal on when it has ended
    with suppress(KeyboardInterrupt, _EndedError), _workers(settings, workers):
        uvicorn.Server(config).run()
    site.database.close()


def organiser_link(site: Site) -> str:
    """A link that makes the first organiser; nothing where there is one. Older ones end."""
    with site.database.writing() as session:
        if any("organiser" in one for one in session.scalars(select(Account.roles))):
            return ""
        unused = update(Invitation).where(Invitation.used_at.is_(None), Invitation.made_by == "")
        session.execute(unused.values(expires_at=now()))
    return f"{site.settings.address}/link/{make_link(site, ('organiser',), '')}"


@contextmanager
def _workers(settings: Settings, count: int) -> Iterator[None]:
    """Worker processes on the same database and storage, ended with the server.

    They end after the job at hand, also where the server was killed: its end of the pipe closes.
    """
    command = [sys.executable, "-m", "nodulebench", "portal", "worker"]
    places = ["--storage", str(settings.storage), "--database", settings.database_url]
    whole = [*command, *places, "--until-parent-ends"]
    started = [subprocess.Popen(whole, stdin=subprocess.PIPE) for _ in range(count)]  # noqa: S603
    try:
        yield
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait()


class _EndedError(Exception):
    """The server was told to end."""


def _end(*_: object) -> None:
    raise _EndedError
