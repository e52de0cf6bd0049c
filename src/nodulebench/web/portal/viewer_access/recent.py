"""Things that are dear to make, held for those who ask again; of many the longest unused goes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Recent(Generic[Thing]):
    """At most so many things, each by its key; safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[Hashable, Thing] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of a key, made if it is not held; nobody else waits while it is made."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            thing = self._held.setdefault(key, made)  # of two who made it, all have the first
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
            return thing
