"""The log of an annotation project: its events in any store, read batch by batch."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.annotation.actions import KEYS, Action, Event, event_of
from nodulebench.annotation.batch import Batch
from nodulebench.annotation.workflow import Workflow
from nodulebench.security.event_index import IndexedLog, View
from nodulebench.security.event_log import EventLog, EventStore
from nodulebench.security.event_signers import EventSigner


def annotation_log(
    store: EventStore, root: str, seal: EventSigner | None = None, index: Path | None = None
) -> IndexedLog[Event]:
    """Open the log of a project; ``root`` is the digest of people, rules and cases."""
    log = EventLog(store, root, "the project", Event, seal, headed_from=1)
    return IndexedLog(log, lambda event: event.batch_id, index, KEYS)


class Batches(Mapping[str, Batch]):
    """All batches of a log by name, each built from its events on first access."""

    def __init__(self, workflow: Workflow, view: View[Event]) -> None:
        self._workflow, self._view = workflow, view
        self._made: dict[str, Batch] = {}
        self._names = dict.fromkeys(name for name in view.labels if name != KEYS)

    def __getitem__(self, batch_id: str) -> Batch:
        if batch_id not in self._names:
            raise KeyError(batch_id)
        if batch_id not in self._made:
            self._made |= self._workflow.batches(self._view.events(batch_id))
        return self._made[batch_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def act(
    workflow: Workflow,
    log: IndexedLog[Event],
    actor_id: str,
    action: Action | Callable[[Mapping[str, Batch]], Action],
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Event:
    """Take one step and store it; a step that is not allowed changes nothing.

    ``action`` can be a function that builds the step from the current batches; it is called again
    if another event was stored meanwhile.
    """

    def make(view: View[Event]) -> Event:
        batches = Batches(workflow, view)
        wanted = action(batches) if callable(action) else action
        allowed = workflow.allowed(batches, actor_id, wanted)
        at, seal = clock(), log.log.signer
        return event_of(view.next_number, view.last_digest, actor_id, allowed, at, seal)

    return log.append(make)
