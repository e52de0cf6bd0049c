"""Sites on SQLite, and where a test asks for it on PostgreSQL, too."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")

from builders.portal import Browser, make_person, make_tiny_benchmark, open_site, signed_in
from nodulebench.portal.access.visitor import Visitor
from nodulebench.portal.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = open_site(tmp_path / "portal")
    yield opened
    opened.database.close()


@pytest.fixture
def organiser(site: Site) -> Visitor:
    return make_person(site, "olga", "organiser")


@pytest.fixture
def ada(site: Site) -> Visitor:
    return make_person(site, "ada", "participant")


@pytest.fixture
def lin(site: Site) -> Visitor:
    return make_person(site, "lin", "participant")


@pytest.fixture
def benchmark(site: Site, organiser: Visitor) -> str:
    return make_tiny_benchmark(site, organiser)


@pytest.fixture
def as_organiser(site: Site, organiser: Visitor) -> Browser:
    return signed_in(site, organiser.login)


@pytest.fixture
def as_ada(site: Site, ada: Visitor) -> Browser:
    return signed_in(site, ada.login)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server on loopback, started once; skips where none is installed."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not homes:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    pytest.importorskip("psycopg")
    bin_ = homes[-1].parent
    folder = Path("/tmp") / f"nodulebench-pg-{token_hex(4)}"  # noqa: S108 - sockets want short names
    folder.mkdir(mode=0o755)
    as_user: dict[str, object] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, **as_user}
    data = folder / "data"
    init = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=portal"]
    subprocess.run([bin_ / "initdb", *init, "-D", data], **quiet)  # type: ignore[call-overload]
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -k {folder}"
    control = [bin_ / "pg_ctl", "-D", data, "-w"]
    start = [*control, "-o", options, "-l", folder / "log", "start"]
    subprocess.run(start, **quiet)  # type: ignore[call-overload]
    try:
        yield f"postgresql://portal@127.0.0.1:{port}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A site on each of the databases."""
    url = ""
    if request.param == "postgresql":
        import psycopg

        server, name = request.getfixturevalue("postgres"), f"t{token_hex(6)}"
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = f"{server}/{name}"
    opened = open_site(tmp_path / "portal", url)
    yield opened
    opened.database.close()
