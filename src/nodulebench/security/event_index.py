"""IndexedLog: a log that does not read again what it read before.

An index next to the log holds the digest of every event and the event numbers of each label. It is
bound to the last event that it covers, is computed only from the events, and can be deleted at any
time. An index that its writer did not sign, or that does not match the log, is ignored, and the
whole log is read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal

from pydantic import ValidationError

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError
from nodulebench.io.atomic import replace_whole
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log import MOST_ATTEMPTS, RESTORE, E, EventLog, Link, chain_problems
from nodulebench.security.events import canonical

REWRITE_EVERY = 64
"""Number of new events after which the index is written again."""


class Index(ConfigModel):
    """The part of a log that was read and checked before."""

    schema_name: Literal["nodulebench/event-index@1"] = "nodulebench/event-index@1"
    root: str
    digests: list[str]
    labels: dict[str, list[int]]
    person: str = ""
    code: str = ""

    @property
    def unsigned_bytes(self) -> bytes:
        return canonical(self.model_dump(mode="json", exclude={"code"}))


@dataclass(frozen=True)
class View(Generic[E]):
    """The current state of a log."""

    log: EventLog[E]
    digests: Sequence[str]
    labels: Mapping[str, Sequence[int]]
    """The numbers of the events under each label, labels in the order of their first events."""
    indexed: int
    """Number of events that the index covers."""
    read: dict[int, E] = field(repr=False)
    """Events read and checked so far, by number."""

    @property
    def next_number(self) -> int:
        return len(self.digests) + 1

    @property
    def last_digest(self) -> str:
        """The predecessor of the next event."""
        return self.digests[-1] if self.digests else self.log.root

    def events(self, label: str) -> list[E]:
        return [self._event(number) for number in self.labels.get(label, ())]

    def _event(self, number: int) -> E:
        if number not in self.read:
            stored = self.log.store.read_event(number)
            event = None if stored is None else self.log.parse(stored.content)
            link = None if stored is None else self.log.link(stored, event)
            if event is None or link is None or link.digest != self.digests[number - 1]:
                what = "was changed, or does not exist."
                raise InputError.at(self.log.store.where(number), what, RESTORE)
            if link.wrong:
                raise InputError.at(link.where, link.wrong, RESTORE)
            self.read[number] = event
        return self.read[number]


@dataclass(frozen=True, slots=True)
class IndexedLog(Generic[E]):
    """A log whose events are grouped by labels."""

    log: EventLog[E]
    label: Callable[[E], str]
    file: Path | None = None
    """The file of the index; None: the whole log is read each time."""
    keys: str = ""
    """The label of the events that assign keys to people; empty if there are none."""

    def read(self) -> list[E]:
        return self.log.read()

    def view(self, known: View[E] | None = None) -> View[E]:
        if known is not None and known.digests:
            later = self._after(known.digests, known.labels, known.read)
            if later is not None:
                return replace(later, indexed=known.indexed)
        index = self.index()
        indexed = None if index is None else self._after(index.digests, index.labels)
        return indexed or self._whole()

    def append(self, make: Callable[[View[E]], E]) -> E:
        for _ in range(MOST_ATTEMPTS):
            view = self.view()
            event = make(view)
            if self.log.append_event(event):
                self.log.update_head(event)
                self._rewrite(view, event)
                return event
        raise self.log.busy()

    def index(self) -> Index | None:
        """The index; None if it does not exist, or is not what its writer signed."""
        try:
            content = b"" if self.file is None else self.file.read_bytes()
            stored_index = Index.model_validate_json(content)
        except (OSError, ValidationError):
            return None
        self._learn_keys(stored_index)
        signer = self.log.signer
        if signer is None:
            is_whole = stored_index.code == bytes_digest(stored_index.unsigned_bytes)
        else:
            is_whole = not signer.wrong(
                stored_index.unsigned_bytes, stored_index.code, stored_index.person
            )
        return (
            stored_index
            if is_whole and stored_index.root == self.log.root and stored_index.digests
            else None
        )

    def _learn_keys(self, index: Index) -> None:
        """Check the events that assign keys, because later events are signed with these keys."""
        for number in index.labels.get(self.keys, ()):
            stored = self.log.store.read_event(number)
            event = None if stored is None else self.log.parse(stored.content)
            if stored is not None and event is not None:
                self.log.link(stored, event)

    def index_is_true(self, events: Sequence[E]) -> bool:
        index = self.index()
        if index is None:
            return True
        known = events[: len(index.digests)]
        return index.digests == [event.digest for event in known] and index.labels == _labels(
            (event.number, self.label(event)) for event in known
        )

    def _whole(self) -> View[E]:
        events = self.log.read()
        labels = _labels((event.number, self.label(event)) for event in events)
        read = {event.number: event for event in events}
        return View(self.log, [event.digest for event in events], labels, 0, read)

    def _after(
        self,
        known_digests: Sequence[str],
        known_labels: Mapping[str, Sequence[int]],
        known_events: Mapping[int, E] | None = None,
    ) -> View[E] | None:
        log, known = self.log, len(known_digests)
        events = dict(known_events or {})
        head = log.store.read_head()
        if known not in events:
            last = log.store.read_event(known)
            event = None if last is None else log.parse(last.content)
            if event is not None:
                events[known] = event
        if known not in events or events[known].digest != known_digests[-1]:
            return None
        read = [(raw, log.parse(raw.content)) for raw in log.store.read(known + 1)]
        links = [log.link(raw, event) for raw, event in read]
        problems = chain_problems(links, known_digests[-1], log.store.where(known), known + 1)
        before = [
            Link("", number, number, "", digest)
            for number, digest in enumerate(known_digests, start=1)
        ]
        problems += log.head_problems(head, [*before, *links])
        if problems:
            return None
        new = {event.number: event for _, event in read if event is not None}
        digests = [*known_digests, *(event.digest for event in new.values())]
        labels = _labels(
            ((number, self.label(event)) for number, event in new.items()), known_labels
        )
        return View(log, digests, labels, known, events | new)

    def _rewrite(self, view: View[E], event: E) -> None:
        """Write the index again if it is far behind; if that fails, the log is read next time."""
        if self.file is None or event.number - view.indexed < REWRITE_EVERY:
            return
        labels = _labels([(event.number, self.label(event))], view.labels)
        index = Index(
            root=self.log.root,
            digests=[*view.digests, event.digest],
            labels=labels,
            person=event.person,
        )
        content, signer = index.unsigned_bytes, self.log.signer
        code = bytes_digest(content) if signer is None else signer.make(content, event.person)
        with suppress(OSError):
            replace_whole(
                self.file, canonical(index.model_copy(update={"code": code}).model_dump())
            )


def _labels(
    new: Iterable[tuple[int, str]], known: Mapping[str, Sequence[int]] | None = None
) -> dict[str, list[int]]:
    labels = {name: list(numbers) for name, numbers in (known or {}).items()}
    for number, name in new:
        labels.setdefault(name, []).append(number)
    return dict(sorted(labels.items(), key=lambda numbered: numbered[1][0]))
