"""IndexedLog: a log that is opened without reading again what was read before.

An index beside the log holds the digest of every event and the numbers of those that belong
together under a label. It stands on the last event that it knows, is made of the events alone, and
can be thrown away at any time. One that is not as its writer sealed it, or that the log does not
bear out, is left aside and the whole log is read.
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
from nodulebench.security.event_log.events import canonical
from nodulebench.security.event_log.log import (
    MOST_ATTEMPTS,
    RESTORE,
    E,
    EventLog,
    Link,
    chain_problems,
)

KEPT_EVERY = 64
"""After so many new events the index is written again."""


class Index(ConfigModel):
    """What was read and checked of a log before."""

    schema_name: Literal["nodulebench/event-index@1"] = "nodulebench/event-index@1"
    root: str
    digests: list[str]
    """Of every event, first to last."""
    labels: dict[str, list[int]]
    """The numbers of the events under each label."""
    person: str = ""
    code: str = ""

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        return canonical(self.model_dump(mode="json", exclude={"code"}))


@dataclass(frozen=True)
class View(Generic[E]):
    """A log as it stands."""

    log: EventLog[E]
    digests: Sequence[str]
    labels: Mapping[str, Sequence[int]]
    """The numbers of the events under each label, labels in the order of their first events."""
    indexed: int
    """How many events the index knew."""
    read: dict[int, E] = field(repr=False)
    """Events that were read and checked, by number."""

    @property
    def next_number(self) -> int:
        """Of the event that comes next."""
        return len(self.digests) + 1

    @property
    def last_digest(self) -> str:
        """What the next event follows from."""
        return self.digests[-1] if self.digests else self.log.root

    def events(self, label: str) -> list[E]:
        """The events under a label, first to last.

        Raises:
            InputError: if one of them was changed.
        """
        return [self._one(number) for number in self.labels.get(label, ())]

    def _one(self, number: int) -> E:
        if number not in self.read:
            stored = self.log.store.read_one(number)
            event = None if stored is None else self.log.parse(stored.content)
            link = None if stored is None else self.log.link(stored, event)
            if event is None or link is None or link.digest != self.digests[number - 1]:
                what = "was changed, or is not there."
                raise InputError.at(self.log.store.where(number), what, RESTORE)
            if link.wrong:
                raise InputError.at(link.where, link.wrong, RESTORE)
            self.read[number] = event
        return self.read[number]


@dataclass(frozen=True, slots=True)
class IndexedLog(Generic[E]):
    """A log whose events belong together by labels."""

    log: EventLog[E]
    label: Callable[[E], str]
    file: Path | None = None
    """Where the index lies; None: the whole log is read each time."""
    keys: str = ""
    """The label of the events that say whose key is whose; empty: there are none."""

    def read(self) -> list[E]:
        """All events, each of them read and checked; see ``EventLog.read``."""
        return self.log.read()

    def view(self, known: View[E] | None = None) -> View[E]:
        """The log as it stands.

        Args:
            known: what was read and checked before; it is not read again.

        Raises:
            InputError: if anything was changed or cut off.
        """
        if known is not None and known.digests:
            found = self._after(known.digests, known.labels, known.read)
            if found is not None:
                return replace(found, indexed=known.indexed)
        index = self.index()
        found = None if index is None else self._after(index.digests, index.labels)
        return found or self._whole()

    def append(self, make: Callable[[View[E]], E]) -> E:
        """Write one more event; see ``EventLog.append``."""
        for _ in range(MOST_ATTEMPTS):
            view = self.view()
            event = make(view)
            if self.log.append_event(event):
                self.log.tell_head(event)
                self._keep(view, event)
                return event
        raise self.log.busy()

    def index(self) -> Index | None:
        """The index; None: there is none, or it is not as its writer sealed it."""
        try:
            content = b"" if self.file is None else self.file.read_bytes()
            found = Index.model_validate_json(content)
        except (OSError, ValidationError):
            return None
        self._learn_keys(found)
        seal = self.log.seal
        if seal is None:
            is_whole = found.code == bytes_digest(found.unsigned_bytes)
        else:
            is_whole = not seal.wrong(found.unsigned_bytes, found.code, found.person)
        return found if is_whole and found.root == self.log.root and found.digests else None

    def _learn_keys(self, index: Index) -> None:
        """Check the events that say whose key is whose: those after them are signed with these."""
        for number in index.labels.get(self.keys, ()):
            stored = self.log.store.read_one(number)
            event = None if stored is None else self.log.parse(stored.content)
            if stored is not None and event is not None:
                self.log.link(stored, event)

    def index_is_true(self, events: Sequence[E]) -> bool:
        """Whether the index, if there is one, says what the first of these events say."""
        index = self.index()
        if index is None:
            return True
        known = events[: len(index.digests)]
        return index.digests == [one.digest for one in known] and index.labels == _labels(
            (one.number, self.label(one)) for one in known
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
        """The log as far as it is known and what came since; None: they do not fit."""
        log, known = self.log, len(known_digests)
        events = dict(known_events or {})
        head = log.store.read_head()
        if known not in events:
            last = log.store.read_one(known)
            event = None if last is None else log.parse(last.content)
            if event is not None:
                events[known] = event
        if known not in events or events[known].digest != known_digests[-1]:
            return None
        read = [(one, log.parse(one.content)) for one in log.store.read(known + 1)]
        links = [log.link(one, event) for one, event in read]
        problems = chain_problems(links, known_digests[-1], log.store.where(known), known + 1)
        before = [
            Link("", number, number, "", digest)
            for number, digest in enumerate(known_digests, start=1)
        ]
        problems += log.head_problems(head, [*before, *links])
        if problems:
            return None
        new = {one.number: one for _, one in read if one is not None}
        digests = [*known_digests, *(one.digest for one in new.values())]
        labels = _labels(((number, self.label(one)) for number, one in new.items()), known_labels)
        return View(log, digests, labels, known, events | new)

    def _keep(self, view: View[E], event: E) -> None:
        """Write the index again where it is far behind; what cannot be kept is read next time."""
        if self.file is None or event.number - view.indexed < KEPT_EVERY:
            return
        labels = _labels([(event.number, self.label(event))], view.labels)
        index = Index(
            root=self.log.root,
            digests=[*view.digests, event.digest],
            labels=labels,
            person=event.person,
        )
        content, seal = index.unsigned_bytes, self.log.seal
        code = bytes_digest(content) if seal is None else seal.make(content, event.person)
        with suppress(OSError):
            replace_whole(
                self.file, canonical(index.model_copy(update={"code": code}).model_dump())
            )


def _labels(
    new: Iterable[tuple[int, str]],
    known: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, list[int]]:
    labels = {name: list(numbers) for name, numbers in (known or {}).items()}
    for number, name in new:
        labels.setdefault(name, []).append(number)
    return dict(sorted(labels.items(), key=lambda one: one[1][0]))
