"""Registry: name -> thing. Reading a registry's list is reading what the system can do."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from nodulebench.errors import UnknownNameError

Thing = TypeVar("Thing")


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Named things of one kind, in the order they were listed.

    Outside packages add to a registry through the entry point group ``nodulebench.<group>``,
    which is looked up only when a name is not among the built-in ones.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        things: tuple[Thing, ...],
        name_of: Callable[[Thing], str] | None = None,
    ) -> None:
        """List ``things`` under the names that ``name_of`` gives (default: ``__name__``)."""
        self.kind = kind
        self.group = f"nodulebench.{group}"
        self._things: dict[str, Thing] = {}
        for thing in things:
            name = name_of(thing) if name_of else str(getattr(thing, "__name__", thing))
            if name in self._things:
                raise ValueError(f"two {kind}s are named '{name}'")
            self._things[name] = thing

    def __getitem__(self, name: str) -> Thing:
        if name in self._things:
            return self._things[name]
        for point in entry_points(group=self.group, name=name):
            loaded: Thing = point.load()
            return loaded
        near = get_close_matches(name, self._things, n=3)
        hint = f" Did you mean {' or '.join(repr(other) for other in near)}?" if near else ""
        raise UnknownNameError(
            f"there is no {self.kind} '{name}'.{hint} Known: {', '.join(self._things)}."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
