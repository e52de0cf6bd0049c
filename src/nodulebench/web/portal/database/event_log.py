"""The event log of the site: every action is a hash-chained, signed event.

An action and its event are written in one transaction. The site signs with its own key and names
the account it acts for.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select, select, text
from sqlalchemy.orm import Session as Transaction

from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log import EventLog, LogCheck, Stored
from nodulebench.security.event_signers import PersonSigner
from nodulebench.security.events import Fact, FactEvent, parsed, shown_facts
from nodulebench.security.keys import PrivateKey
from nodulebench.web.portal.database.models import StoredEvent, StoredHead

SITE = "portal"
"""The signer: the site itself."""
_LOCK = 0x6E6F6475


class PortalEvent(FactEvent):
    """An action on the site, signed by the site."""

    account: str
    """The id of the account that acted; empty: no one was signed in."""
    action: str


class SqlStore:
    """Events as rows of a table, within one transaction."""

    def __init__(
        self,
        session: Transaction,
        events: type[Any] = StoredEvent,
        heads: type[Any] = StoredHead,
        of_event: Mapping[str, object] | None = None,
        of_head: Mapping[str, object] | None = None,
    ) -> None:
        """Open a log; ``of_event`` and ``of_head`` select its rows in tables of several logs."""
        self._session = session
        self._events, self._heads = events, heads
        self._of_event, self._of_head = of_event or {}, of_head or {"id": 1}

    def read(self, first: int = 1) -> list[Stored]:
        rows = self._own().where(self._events.number >= first).order_by(self._events.number)
        return [self._stored(row) for row in self._session.scalars(rows)]

    def read_event(self, number: int) -> Stored | None:
        row = self._session.scalar(self._own().where(self._events.number == number))
        return None if row is None else self._stored(row)

    def read_last(self) -> Stored | None:
        row = self._session.scalar(self._own().order_by(self._events.number.desc()).limit(1))
        return None if row is None else self._stored(row)

    def append(self, number: int, content: bytes) -> bool:
        """Store an event; while the log is locked, no one else can take its number."""
        self._session.add(self._events(**self._of_event, number=number, content=content))
        self._session.flush()
        return True

    def read_head(self) -> bytes | None:
        head = self._session.scalar(select(self._heads).filter_by(**self._of_head))
        content: bytes | None = None if head is None else head.content
        return content

    def write_head(self, content: bytes) -> None:
        self._session.merge(self._heads(**self._of_head, content=content))
        self._session.flush()

    def _own(self) -> Select[Any]:
        return select(self._events).filter_by(**self._of_event)

    def _stored(self, row: Any) -> Stored:
        return Stored(self.where(row.number), row.number, row.content)

    def where(self, number: int | None = None) -> str:
        return "head of the log" if number is None else f"event {number}"

    def foreign_files(self) -> list[str]:
        return []

    def lock(self) -> None:
        """Serialise writing transactions; SQLite allows only one writer anyway."""
        if self._session.get_bind().dialect.name == "postgresql":
            self._session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def record(
    session: Transaction, key: PrivateKey, account: str, action: str, **facts: Fact
) -> PortalEvent:
    """Log an action in its transaction; facts are ids and digests, never secrets or names."""
    store = SqlStore(session)
    store.lock()
    log = _log(store, key)
    last = store.read_last()
    before = None if last is None else log.parse(last.content)
    if last is not None and before is None:
        log.read()  # raises an error that names the change
    event = PortalEvent(
        number=1 if before is None else before.number + 1,
        at=datetime.now(UTC),
        person=SITE,
        account=account,
        action=action,
        facts=shown_facts(facts),
        previous=log.root if before is None else before.digest,
    )
    code = PersonSigner({SITE: key.public}, key).make(event.unsigned_bytes, SITE)
    event = event.model_copy(update={"code": code})
    log.append_event(event)
    log.update_head(event)
    return event


def check_log(session: Transaction, key: PrivateKey) -> LogCheck[PortalEvent]:
    return _log(SqlStore(session), key).check()


def latest_events(session: Transaction, before: int | None, count: int) -> list[PortalEvent]:
    rows = select(StoredEvent).order_by(StoredEvent.number.desc()).limit(count)
    if before is not None:
        rows = rows.where(StoredEvent.number < before)
    read = (parsed(PortalEvent, row.content) for row in session.scalars(rows))
    return [event for event in read if event is not None]


def stored_events(session: Transaction, after: int, count: int) -> list[StoredEvent]:
    rows = select(StoredEvent).where(StoredEvent.number > after).order_by(StoredEvent.number)
    return list(session.scalars(rows.limit(count)))


def _log(store: SqlStore, key: PrivateKey) -> EventLog[PortalEvent]:
    root = bytes_digest(key.public.line.encode())
    seal = PersonSigner({SITE: key.public}, key)
    return EventLog(store, root, "the key of the site", PortalEvent, seal, headed_from=1)
