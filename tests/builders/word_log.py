"""A log whose events say a word each."""

import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime

from nodulebench.security.event_log import EventLog, FolderStore
from nodulebench.security.events import LogEvent

START = datetime(2026, 1, 1, tzinfo=UTC)


class Word(LogEvent):
    """An event of a log that says words."""

    at: AwareDatetime = START
    person: str = "bo"
    text: str = "word"


@dataclass(frozen=True)
class SecretSigner:
    """Signs with one secret: who does not have it cannot write."""

    secret: bytes

    def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
        return hmac.digest(self.secret, content, "sha256").hex()

    def wrong(self, content: bytes, code: str, person: str) -> str:
        is_same = hmac.compare_digest(code.encode(), self.make(content, person).encode())
        return "" if is_same else "was changed, or its author cannot open the vault."


def log_in(folder: Path, key: bytes | None = b"key", root: str = "root") -> EventLog[Word]:
    """The log in a folder."""
    seal = None if key is None else SecretSigner(key)
    return EventLog(FolderStore(folder), root, "the root", Word, seal)


def coded(log: EventLog[Word], event: Word) -> Word:
    """The event with the code of the log's seal."""
    if log.signer is None:
        return event
    code = log.signer.make(event.unsigned_bytes, event.person)
    return event.model_copy(update={"code": code})


def translate(log: EventLog[Word], text: str = "word", minute: int = 0) -> Word:
    """Write one more event."""
    if log.store.read_head() is None:
        log.write_head([], "bo")

    def make(events: list[Word]) -> Word:
        previous = events[-1].digest if events else log.root
        at = START + timedelta(minutes=minute)
        return coded(log, Word(number=len(events) + 1, at=at, previous=previous, text=text))

    return log.append(make)
