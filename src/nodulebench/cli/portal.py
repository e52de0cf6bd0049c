"""nodulebench portal: a site for submissions and leaderboards."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import (
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    Command,
    OwnKey,
    call_with,
    option,
    own_key_options,
    print_next,
    print_written,
)
from nodulebench.cli.terminal import ProgressLine

if TYPE_CHECKING:
    from nodulebench.web.portal.accounts.oidc import Provider
    from nodulebench.web.portal.site import Settings, Site

STORAGE = Path("nodulebench-portal")
MIB = 1024 * 1024
LOOPBACK = "127.0.0.1"
DATABASE_WAIT_S = 60.0
"""How long a worker waits for a database that starts at the same time."""
OIDC_SECRET = "NODULEBENCH_OIDC_SECRET"  # noqa: S105 - the name of a variable


def places(command: Command) -> Command:
    """Add the options for the storage and the database of a site."""
    command = option(
        "--storage", FOLDER, STORAGE, "Folder of the site: uploads, results and its key."
    )(command)
    words = "Database: postgresql://USER:PASSWORD@HOST/NAME.  [default: SQLite]"
    return click.option("--database", envvar="NODULEBENCH_DATABASE", help=words)(command)


def _times(unit: int) -> "Callable[[click.Context, click.Parameter, int], int]":
    """Turn a number of units into bytes."""
    return lambda _context, _parameter, number: number * unit


@click.group("portal", invoke_without_command=True)
@places
@option("--host", str, "127.0.0.1", "Address to listen on.")
@option("--port", click.IntRange(1, 65535), 8000, "Port to listen on.")
@click.option(
    "--address", help="Public address, such as https://bench.example.  [default: the host]"
)
@click.option(
    "--proxy",
    help="Trusted reverse proxies, separated by commas.  "
    "[default: 127.0.0.1 if --address is https, else none]",
)
@click.option("--test-sets", type=FOLDER, help="Folder of test sets.  [default: in the storage]")
@option("--processes", click.IntRange(1, 64), 1, "Number of web server processes.")
@click.option(
    "--scans", type=FOLDER, help="Root of all folders of scans.  [default: in the storage]"
)
@option("--workers", click.IntRange(0, 64), 1, "Number of parallel processes that score.")
@option(
    "--largest-upload",
    click.IntRange(1, 1 << 20),
    512,
    "Largest submission, in MiB.",
    callback=_times(MIB),
)
@option(
    "--account-quota",
    click.IntRange(1, 1 << 20),
    8,
    "Storage per account, in GiB.",
    callback=_times(1024 * MIB),
)
@click.option("--oidc-issuer", help="OpenID Connect provider for signing in.")
@click.option("--oidc-client", help="Client ID of the site at the provider.")
@click.option("--oidc-name", help="Name of the provider on pages.  [default: its host]")
@click.option("--demo", is_flag=True, help="Fill a new site with example data.")
@click.option("--until-parent-ends", is_flag=True, hidden=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    host: str,
    port: int,
    processes: int,
    workers: int,
    demo: bool,
    until_parent_ends: bool,
    **given: object,
) -> None:
    r"""Serve a site with benchmarks and leaderboards.

    On a new machine it creates its storage and prints a link, which works once: the first organiser
    creates an account with it. Sealed test sets are scored by workers that are started
    separately, with their key: see 'portal worker'.

    \b
    nodulebench portal
    nodulebench portal --demo --storage demo/
    """
    if context.invoked_subcommand is not None:
        return
    from nodulebench.web.portal.serve import serve, serve_alongside

    address = str(given["address"] or f"http://{host}:{port}").rstrip("/")
    proxy = call_with(_proxies, {"given": given["proxy"]}, address)
    oidc = {name: given.pop(f"oidc_{name}") for name in ("issuer", "client", "name")}
    given |= {"address": address, "proxy": proxy, "provider": call_with(_provider, oidc)}
    settings = call_with(_settings, given)
    if until_parent_ends:
        serve_alongside(settings, host, port, _parent_ended())
        return
    first = _fill if demo else None
    serve(settings, host, port, click.echo, processes=processes, workers=workers, first=first)


@command.command("worker")
@places
@own_key_options()
@click.option("--until-empty", is_flag=True, help="Stop when no job is waiting.")
@click.option("--until-parent-ends", is_flag=True, hidden=True)
def worker(
    storage: Path, database: str | None, own_key: OwnKey, until_empty: bool, until_parent_ends: bool
) -> None:
    r"""Score the submissions of a site until stopped.

    The key of sealed test sets is given when a worker starts, and is not stored.

    \b
    nodulebench portal worker --storage portal/ --key portal_key
    """
    from nodulebench.web.portal.site import Site
    from nodulebench.web.portal.submissions.worker import work

    key = own_key.read()
    stop = _parent_ended() if until_parent_ends else threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    site = Site.open(_settings(storage, database), DATABASE_WAIT_S)
    work(site, key, stop, until_empty=until_empty)


@command.command("backup")
@places
@click.argument("archive", type=FILE)
def backup(storage: Path, database: str | None, archive: Path) -> None:
    r"""Back up a site into one ARCHIVE.

    The site may be running. The archive contains the key of the site: protect it. Test sets are not
    included.

    \b
    nodulebench portal backup site.zip --storage portal/
    """
    from nodulebench.web.portal.backup import back_up
    from nodulebench.web.portal.site import Site

    with ProgressLine("backing up"):
        back_up(Site.open(_settings(storage, database)), archive)
    print_written(archive)


@command.command("restore")
@places
@click.argument("archive", type=FILE)
def restore(storage: Path, database: str | None, archive: Path) -> None:
    r"""Restore a site from ARCHIVE, and verify its log.

    The storage must be new and the database empty.

    \b
    nodulebench portal restore site.zip --storage new-portal/
    """
    from nodulebench.web.portal.backup import restore as restored

    with ProgressLine("restoring"):
        count = restored(archive, _settings(storage, database))
    click.echo(f"restored to {storage}: the log is valid, {count:,} events")


@command.group("project")
def project() -> None:
    """Manage the annotation projects of a site."""


@project.command("add")
@places
@click.argument("folder", type=EXISTING_FOLDER)
@click.option(
    "--images",
    required=True,
    metavar="FOLDER",
    help="Folder of scans, below the root of all scans.",
)
@click.option("--title", required=True, help="Title of the project.")
@click.option(
    "--scans", type=FOLDER, help="Root of all folders of scans.  [default: in the storage]"
)
def add_project(
    storage: Path, database: str | None, folder: Path, images: str, title: str, scans: Path | None
) -> None:
    r"""Add the project in FOLDER, which `annotate review start` made.

    \b
    nodulebench portal project add panel/ --images hospital-1 --title Panel --storage portal/
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.web.portal.projects.service import take_project

    site = _site(storage, database, scans=scans)
    with _refusals():
        made = take_project(site, "", open_project(folder), title=title, images=images)
    click.echo(made)
    print_next(f"nodulebench portal project assign {made} PERSON LOGIN --storage {storage}")


@project.command("assign")
@places
@click.argument("project_id", metavar="PROJECT")
@click.argument("person")
@click.argument("login")
def assign_account(
    storage: Path, database: str | None, project_id: str, person: str, login: str
) -> None:
    r"""Assign the account LOGIN to a PERSON in a PROJECT.

    \b
    nodulebench portal project assign 0123456789abcdef r1 anna --storage portal/
    """
    from nodulebench.web.portal.projects.members import account_of, assign
    from nodulebench.web.portal.projects.service import open_project_access

    site = _site(storage, database)
    with _refusals():
        assign(open_project_access(site, project_id, ""), "", person, account_of(site, login))
    click.echo(f"{login} is {person}")


@project.command("write")
@places
@click.argument("project_id", metavar="PROJECT")
@click.argument("folder", type=FILE)
def write_project(storage: Path, database: str | None, project_id: str, folder: Path) -> None:
    r"""Write a PROJECT to a FOLDER for `annotate review`.

    \b
    nodulebench portal project write 0123456789abcdef panel/ --storage portal/
    """
    from nodulebench.web.portal.projects.service import open_project_access, write_project

    with _refusals():
        write_project(open_project_access(_site(storage, database), project_id, ""), folder)
    print_written(folder)


@contextmanager
def _refusals() -> Iterator[None]:
    """Show a refusal of the site as an error message."""
    from nodulebench.i18n.translator import portal_translator
    from nodulebench.web.portal.accounts.service import DeniedError

    try:
        yield
    except DeniedError as error:
        words = portal_translator("en")(f"portal.refused.{error.code}")
        raise click.ClickException(words) from error


def _site(storage: Path, database: str | None, **more: object) -> "Site":
    from nodulebench.web.portal.site import Site

    return Site.open(_settings(storage, database, **more))


def _parent_ended() -> threading.Event:
    """An event that is set when the parent process has ended: its end of the pipe is closed."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


def _provider(issuer: str | None, client: str | None, name: str | None) -> "Provider | None":
    """The sign-in provider; its secret is an environment variable, not visible in process lists."""
    from nodulebench.web.portal.accounts.oidc import Provider, is_safe

    if not issuer:
        return None
    if not is_safe(issuer):
        raise click.UsageError("--oidc-issuer: it has to begin with https://.")
    if not client:
        raise click.UsageError("--oidc-issuer needs --oidc-client, too.")
    return Provider(issuer, client, os.environ.get(OIDC_SECRET, ""), name or "")


def _proxies(address: str, given: str | None) -> str:
    """The trusted proxies: the given ones; with TLS by default a proxy on this machine."""
    if given is None:
        return LOOPBACK if address.startswith("https://") else ""
    for proxy in filter(None, given.split(",")):
        try:
            ip_network(proxy.strip())
        except ValueError as error:
            raise click.UsageError(f"--proxy: '{proxy}' is not an address: {error}.") from error
    return given


def _settings(storage: Path, database: str | None, **more: object) -> "Settings":
    from nodulebench.web.portal.site import Settings

    return call_with(Settings, more, storage, database or "")


def _fill(site: "Site") -> None:
    from nodulebench.web.portal.demo import PASSWORD, fill, token_for_programs

    with ProgressLine("making scans") as line:
        logins = fill(site, progress=line.tell)
    if logins:
        click.echo(f"people: {', '.join(logins)}; the password of each: {PASSWORD}")
        click.echo(f"token of {logins[1]} for programs: {token_for_programs(site)}")
