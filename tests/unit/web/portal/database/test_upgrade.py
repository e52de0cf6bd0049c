"""A site that was filled under the first tables works with today's, on both databases.

The dumps next to this file hold the rows of a site at revision 0001: people, sessions, links, a
token, two benchmarks, entries in every state, results, an announcement and 43 events of the log.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select, text

from builders.portal import ADDRESS, CHEAP, GOOD, SET, Browser, signed_in, work_off, write_test_set
from nodulebench.core.tables import without_images
from nodulebench.io.formats import read_reference
from nodulebench.io.table_files import write_parquet
from nodulebench.web.client import API
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.service import CASES_FILE, rescore_entries
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import Benchmark, Entry, Job, Result
from nodulebench.web.portal.site import DATABASE, KEY, Settings, Site

HERE = Path(__file__).parent
DUMPED_AT = "/srv/portal"
TOKEN = "mXOpcHyCVjUfowjr_HAuSei-RBglTvcJDpHS1jsm11Y"  # noqa: S105 - of an invented person
EVENTS = 43


def write_key(storage: Path) -> None:
    """Write the key that signed the dumped log, from its seed."""
    seed = hashlib.sha256(b"the key of a portal with the first tables").digest()
    key = Ed25519PrivateKey.from_private_bytes(seed)
    pem, openssh = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    path = storage / KEY
    path.write_bytes(key.private_bytes(pem, openssh, serialization.NoEncryption()))
    path.chmod(0o600)


def load(database: str, storage: Path) -> None:
    """Fill an empty database with the dump of its kind."""
    kind = "postgresql" if database else "sqlite"
    dump = (HERE / f"first_tables.{kind}.sql").read_text(encoding="utf-8")
    dump = dump.replace(DUMPED_AT, str(storage))
    if not database:
        with sqlite3.connect(storage / DATABASE) as connection:
            connection.executescript(dump)
        connection.close()
        return
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute(dump.encode())


@pytest.fixture
def upgraded(any_database: str, tmp_path: Path) -> Iterator[Site]:
    storage = tmp_path / "portal"
    write_test_set(storage / "test-sets" / SET)
    write_key(storage)
    load(any_database, storage)
    opened = Site.open(Settings(storage, any_database, ADDRESS, passwords=CHEAP))
    with opened.database.reading() as session:
        for entry in session.scalars(select(Entry)):
            (opened.upload(entry.id)).mkdir(parents=True)
            (opened.upload(entry.id) / entry.file).write_text(GOOD)
        for benchmark in session.scalars(select(Benchmark)):
            opened.benchmark(benchmark.id).mkdir(parents=True)
            cases = without_images(read_reference(Path(benchmark.reference)).cases)
            write_parquet(cases, opened.benchmark(benchmark.id) / CASES_FILE)
    yield opened
    opened.database.close()


def test_the_dump_is_of_the_first_tables() -> None:
    for kind in ("sqlite", "postgresql"):
        dump = (HERE / f"first_tables.{kind}.sql").read_text(encoding="utf-8")
        assert dump.count("'0001'") == 1


@pytest.mark.slow
def test_a_site_with_the_first_tables_works(upgraded: Site) -> None:
    with upgraded.database.reading() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) >= "0001"
        check = check_log(session, upgraded.key)
        assert (check.problems, len(check.events)) == ([], EVENTS)
        rows = session.execute(select(Entry.name, Job.state).join(Job)).all()
        benchmark = session.scalars(select(Benchmark).where(Benchmark.is_shown)).one()
    assert {name: state for name, state in rows} == {  # noqa: C416 - rows are not pairs
        **dict.fromkeys(("Scored", "Better", "Withdrawn", "Baseline"), "done"),
        "Failed": "failed",
        "Running": "running",
        "Waiting": "waiting",
        "Cancelled": "cancelled",
    }
    anonymous, ada, olga = (
        Browser(upgraded),
        signed_in(upgraded, "ada"),
        signed_in(upgraded, "olga"),
    )
    home = anonymous.get("/").text
    assert "Tiny" in home
    assert "Hidden" not in home
    assert "Welcome to the first portal." in home
    board = anonymous.get(f"/benchmarks/{benchmark.id}")
    assert board.status_code == 200
    assert all(name in board.text for name in ("Scored", "Better", "Baseline", "Ada"))
    for path in ("/entries", "/account", f"/benchmarks/{benchmark.id}/submit"):
        assert ada.get(path).status_code == 200
    for path in ("/dashboard", "/people", "/log", "/benchmarks/new"):
        assert olga.get(path).status_code == 200
    with upgraded.database.reading() as session:
        for entry in session.scalars(select(Entry)):
            assert olga.get(f"/entries/{entry.id}").status_code == 200
    assert "The log is intact" in olga.post("/log/verify", "/log").text


@pytest.mark.slow
def test_work_begun_under_the_first_tables_is_finished(upgraded: Site) -> None:
    """The site works: waiting jobs, jobs of lost workers, tokens, a new version."""
    with upgraded.database.reading() as session:
        benchmark = session.scalars(select(Benchmark).where(Benchmark.is_shown)).one()
        olga = session.scalars(select(Entry).where(Entry.is_baseline)).one().account
        by = User(olga.id, olga.login, olga.name, frozenset(olga.roles))
    assert work_off(upgraded) == 2
    browser = Browser(upgraded)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    path = f"{API}/benchmarks/{benchmark.id}/entries?name=New&file=new.csv"
    sent = browser.client.post(path, content=GOOD.encode(), headers=headers)
    assert sent.status_code == 201, sent.text
    assert work_off(upgraded) == 1
    with upgraded.database.reading() as session:
        assert len(session.scalars(select(Result)).all()) == 4 + 2 + 1
    assert rescore_entries(upgraded, by, benchmark.id) == 8  # all that were not withdrawn
    with upgraded.database.reading() as session:
        assert check_log(session, upgraded.key).problems == []
