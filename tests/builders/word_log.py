"""A log whose events say a word each."""

import hmac
import json
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log.log import EventLog
from nodulebench.security.event_log.signers import SharedSecretSigner
from nodulebench.security.event_log.store import FolderStore


@dataclass(frozen=True)
class Word:
    """An event of a log that says words."""

    number: int
    previous: str
    text: str = "word"
    person: str = "bo"
    code: str = ""
    minute: int = 0

    @property
    def at(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=self.minute)

    @property
    def digest(self) -> str:
        return bytes_digest(self.to_bytes())

    @property
    def unsigned_bytes(self) -> bytes:
        return json.dumps([*astuple(replace(self, code=""))]).encode()

    def to_bytes(self) -> bytes:
        return json.dumps([*astuple(self)]).encode()


def word(content: bytes) -> Word | None:
    """The event in some bytes."""
    try:
        document = Word(*json.loads(content))
    except (ValueError, TypeError):
        return None
    return None if document.text == "unreadable" else document


def log_in(folder: Path, key: bytes | None = b"key", root: str = "root") -> EventLog[Word]:
    """The log in a folder."""
    seal = (
        None
        if key is None
        else SharedSecretSigner(lambda text: hmac.digest(key, text, "sha256").hex())
    )
    return EventLog(FolderStore(folder), root, "the root", word, seal)


def coded(log: EventLog[Word], event: Word) -> Word:
    """The event with the code of the log's seal."""
    if log.signer is None:
        return event
    return replace(event, code=log.signer.make(event.unsigned_bytes, event.person))


def translate(log: EventLog[Word], text: str = "word", minute: int = 0) -> Word:
    """Write one more event."""
    if log.store.read_head() is None:
        log.write_head([], "bo")

    def make(events: list[Word]) -> Word:
        previous = events[-1].digest if events else log.root
        return coded(log, Word(len(events) + 1, previous, text, minute=minute))

    return log.append(make)
