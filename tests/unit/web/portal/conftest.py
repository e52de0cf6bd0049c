"""Sites on SQLite, and on PostgreSQL where a test asks for it.

``NODULEBENCH_TEST_DATABASE=postgresql pytest tests/unit/web/portal`` has all of them on PostgreSQL.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")

from builders.portal import Browser, make_person, make_tiny_benchmark, open_site, signed_in
from builders.postgres import Server, postgres_server, programs
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database import database
from nodulebench.web.portal.site import Site


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk_by_sqlite() -> Iterator[None]:
    """Killed servers have separate processes and settings."""
    with pytest.MonkeyPatch.context() as patch:
        quick = [pragma.replace("=FULL", "=OFF") for pragma in database._PRAGMAS]
        patch.setattr(database, "_PRAGMAS", quick)
        yield


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    is_postgres = os.environ.get("NODULEBENCH_TEST_DATABASE") == "postgresql"
    address = request.getfixturevalue("postgres").new_database() if is_postgres else ""
    opened = open_site(tmp_path / "portal", address)
    yield opened
    opened.database.close()


@pytest.fixture
def organiser(site: Site) -> User:
    return make_person(site, "olga", "organiser")


@pytest.fixture
def ada(site: Site) -> User:
    return make_person(site, "ada", "participant")


@pytest.fixture
def lin(site: Site) -> User:
    return make_person(site, "lin", "participant")


@pytest.fixture
def benchmark(site: Site, organiser: User) -> str:
    return make_tiny_benchmark(site, organiser)


@pytest.fixture
def as_organiser(site: Site, organiser: User) -> Browser:
    return signed_in(site, organiser.login)


@pytest.fixture
def as_ada(site: Site, ada: User) -> Browser:
    return signed_in(site, ada.login)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server on loopback, started once; skips where none is installed."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    pytest.importorskip("psycopg")
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def any_database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of each kind; empty: SQLite in the storage."""
    if request.param == "sqlite":
        return ""
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def other_database(any_database: str, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of the other kind."""
    if any_database:
        return ""
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def any_site(any_database: str, tmp_path: Path) -> Iterator[Site]:
    """A site on each of the databases."""
    opened = open_site(tmp_path / "portal", any_database)
    yield opened
    opened.database.close()
