"""Database connections: transactions for reading and for writing.

SQLite runs with a write-ahead log. A writing transaction takes the lock when it begins, so that two
writers wait for each other instead of failing.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.errors import InputError, first_line

LOG = logging.getLogger("nodulebench.web.portal")
AGAIN_S = 0.5
UNREACHED = (OperationalError, InterfaceError)
"""The database cannot be reached; an unanswered transaction may or may not have happened."""
MIGRATIONS = Path(__file__).parent / "migrations"
WRITES = "nodulebench_writes"
_UNBOUND_ROWS = "PRAGMA foreign_key_check"
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",  # a receipt must survive a power cut
    "busy_timeout=30000",
    "foreign_keys=ON",
)


class Database:
    """The database of a site."""

    def __init__(self, url: str) -> None:
        """Prepare connections to ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/NAME``."""
        self.is_sqlite = url.startswith("sqlite:")
        if not self.is_sqlite and not url.startswith("postgresql"):
            what = f"'{url.partition(':')[0]}' is neither sqlite nor postgresql."
            raise InputError.at("--database", what, "Use postgresql://USER@HOST/NAME.")
        if url.startswith("postgresql:"):
            url = url.replace("postgresql:", "postgresql+psycopg:", 1)
        self.engine = create_engine(url, pool_size=20, max_overflow=40, pool_pre_ping=True)
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        self._writer = self.engine.execution_options(**{WRITES: True})

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with Transaction(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with Transaction(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def migrate(self, patience_s: float = 0.0) -> None:
        until = monotonic() + patience_s
        while True:
            try:
                self.engine.connect().close()
            except OperationalError as error:
                away = error
            else:
                try:
                    return self._migrate()
                except OperationalError as error:
                    if not error.connection_invalidated:
                        raise
                    away = error
            if monotonic() > until:
                what = f"cannot be reached: {str(away.orig).strip()}"
                remedy = "Start it, or check its address and who may connect."
                raise InputError.at("--database", what, remedy) from away
            LOG.warning("the database is away: %s", first_line(away))
            sleep(AGAIN_S)

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        scripts = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])

        def upgrade_steps(revision: Any, _: MigrationContext) -> Any:
            return scripts._upgrade_revs(
                "heads", revision
            )  # as the upgrade command of alembic does

        context = EnvironmentContext(config, scripts, fn=upgrade_steps)
        with (
            self._writer.connect() as connection,
            _unbound(connection, self.is_sqlite),
            connection.begin(),
            context,
        ):
            context.configure(connection=connection, render_as_batch=True)
            context.run_migrations()
            if self.is_sqlite and connection.exec_driver_sql(_UNBOUND_ROWS).first():
                raise InputError.at("--database", "contains rows that refer to missing rows.")

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _unbound(connection: Connection, is_sqlite: bool) -> Iterator[None]:
    """Let SQLite rebuild tables that others refer to; references are checked afterwards.

    It copies a table and drops the old one, which its foreign-key check refuses within a
    transaction.
    """
    raw: Any = connection.connection.dbapi_connection
    if is_sqlite:
        raw.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        if is_sqlite:
            raw.execute("PRAGMA foreign_keys=ON")


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # we send BEGIN ourselves
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
