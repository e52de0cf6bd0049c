"""Looks and steps in one thing of the site, a project or an exam: a step is one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from threading import local

from sqlalchemy import text
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.site import Site


@dataclass(frozen=True)
class Steps:
    """What is looked at, and where one step is taken at a time."""

    site: Site
    of: str
    """The id of the project or the exam."""
    _held: local = field(default_factory=local, repr=False, kw_only=True)

    @contextmanager
    def looking(self) -> Iterator[Transaction]:
        """A transaction that changes nothing, or the one that acts in this thread."""
        held: Transaction | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self.site.database.reading() as session:
            yield session

    @contextmanager
    def acting(self) -> Iterator[Transaction]:
        """The one transaction of a step: nobody else takes one there meanwhile."""
        held: Transaction | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self.site.database.writing() as session:
            _lock(session, self.of)
            self._held.session = session
            try:
                yield session
            finally:
                self._held.session = None


def _lock(session: Transaction, name: str) -> None:
    """Let one transaction act under a name at a time; SQLite lets no two write anyway."""
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(sha256(name.encode()).digest()[:8], "big", signed=True)
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": number})
