"""Where events are kept: a small interface, and files behind it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from nodulebench.annotate.process.actions import Action
from nodulebench.annotate.process.events import Event, check_chain
from nodulebench.annotate.process.workflow import Workflow
from nodulebench.errors import InputError
from nodulebench.storage.event_log.chain import RESTORE
from nodulebench.storage.event_log.store import FolderStore


class EventStore(Protocol):
    """Keeps events in order; knows nothing of what they mean."""

    def read(self) -> list[Event]:
        """All events, first to last."""
        ...

    def append(self, event: Event) -> None:
        """Keep one more event.

        Raises:
            InputError: if another event took its number meanwhile; nothing is changed.
        """
        ...


class FileStore:
    """One file per event in a folder, which is created once and never written again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> list[Event]:
        """All events, first to last, as an unbroken chain."""
        events = []
        stored = FolderStore(self.folder).read()
        for one in stored:
            try:
                events.append(Event.model_validate_json(one.content))
            except ValidationError as error:
                raise InputError.at(one.where, "is not an event.", RESTORE) from error
        check_chain(events, [(one.where, one.number) for one in stored])
        return events

    def append(self, event: Event) -> None:
        """Keep one more event: its file appears whole, and only if its number is free.

        Raises:
            InputError: if the number is taken, or the event could not be read again.
        """
        store, content = FolderStore(self.folder), _written(event)
        if not _is_event(content, event):
            raise InputError.at(
                store.where(event.number),
                "was not written: what it should say could not be read again.",
                "Give names and texts without broken characters; the log is as it was.",
            )
        if not store.append(event.number, content):
            raise InputError.at(
                f"batch '{event.batch_id}'",
                f"somebody else was faster: event {event.number} exists.",
                "Look at the batch again, and repeat the step.",
            )


def _written(event: Event) -> bytes:
    """An event as it stands on the disk; nothing, where it holds what is no text."""
    try:
        return f"{event.model_dump_json(indent=1)}\n".encode()
    except PydanticSerializationError:
        return b""


def _is_event(content: bytes, event: Event) -> bool:
    try:
        return Event.model_validate_json(content).digest == event.digest
    except ValidationError:
        return False


def act(
    workflow: Workflow,
    store: EventStore,
    actor_id: str,
    action: Action,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Event:
    """Take one step and keep it; refused, nothing is kept.

    Raises:
        InputError: with the reason, if the step is not allowed.
    """
    event = workflow.perform(store.read(), actor_id, action, clock())
    store.append(event)
    return event
