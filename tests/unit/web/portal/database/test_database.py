"""Migrations make the same tables on both databases; a transaction is atomic."""

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread, Timer

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from nodulebench.core.errors import InputError
from nodulebench.web.portal.database.database import Database
from nodulebench.web.portal.database.models import Base, Setting
from nodulebench.web.portal.site import Site


def test_migrations_make_the_tables_of_the_models(any_site: Site) -> None:
    any_site.database.migrate()  # a second migration changes nothing
    with any_site.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_an_exception_rolls_a_transaction_back(any_site: Site) -> None:
    def broken() -> None:
        with any_site.acting("an account", "announced") as session:
            session.add(Setting(name="x", value={}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    with any_site.database.reading() as session:
        assert session.get(Setting, "x") is None


def test_writers_wait_for_each_other(any_site: Site) -> None:
    with any_site.database.writing() as session:
        session.add(Setting(name="count", value={"at": 0}))

    def count() -> None:
        for _ in range(10):
            with any_site.database.writing() as session:
                setting = session.scalars(
                    select(Setting).where(Setting.name == "count").with_for_update()
                ).one()
                setting.value = {"at": setting.value["at"] + 1}

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with any_site.database.reading() as session:
        assert session.get_one(Setting, "count").value == {"at": 40}


def test_other_databases_are_refused() -> None:
    with pytest.raises(InputError, match="'mysql' is neither sqlite nor postgresql"):
        Database("mysql://somewhere")


def test_an_unreachable_database_is_reported_with_its_option() -> None:
    with pytest.raises(InputError, match=r"--database.*cannot be reached"):
        Database("postgresql://nobody@127.0.0.1:1/nothing").migrate()


def test_migration_waits_for_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodulebench.web.portal.database.database.AGAIN_S", 0.01)
    place = tmp_path / "mounted later"
    database = Database(f"sqlite:///{place / 'portal.sqlite'}")
    with pytest.raises(InputError, match="cannot be reached"):
        database.migrate(patience_s=0.05)
    coming = Timer(0.1, place.mkdir)
    coming.start()
    database.migrate(patience_s=30.0)
    with database.reading() as session:
        assert session.scalars(select(Setting)).all() == []
    database.close()


def test_foreign_tables_raise_an_error_at_once(tmp_path: Path) -> None:
    place = tmp_path / "portal.sqlite"
    with closing(sqlite3.connect(place)) as others:
        others.execute("CREATE TABLE account (x)")
    database = Database(f"sqlite:///{place}")
    with pytest.raises(OperationalError, match="already exists"):
        database.migrate(patience_s=30.0)
    database.close()
