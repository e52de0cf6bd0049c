"""Registry: name -> thing. Reading a registry's list is reading what the system can do."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from nodulebench.errors import UnknownNameError

Thing = TypeVar("Thing")


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Named things of one kind, in the order they were listed; each is loaded when first asked for.

    Outside packages add to a registry through the entry point group ``nodulebench.<group>``,
    which is looked up only when a name is not among the built-in ones.
    """

    def __init__(self, kind: str, group: str, modules: Mapping[str, str]) -> None:
        """List things by name.

        Args:
            kind: what they are, for messages.
            group: the last part of the entry point group.
            modules: for each name the module that holds it, as ``module`` (the thing has the
                registered name there) or ``module:attribute``.
        """
        self.kind = kind
        self.group = f"nodulebench.{group}"
        self._modules = dict(modules)
        self._loaded: dict[str, Thing] = {}

    def __getitem__(self, name: str) -> Thing:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> Thing:
        if name in self._modules:
            module, _, attribute = self._modules[name].partition(":")
            thing: Thing = getattr(import_module(module), attribute or name)
            return thing
        for point in entry_points(group=self.group, name=name):
            outside: Thing = point.load()
            return outside
        near = get_close_matches(name, self._modules, n=3)
        hint = f" Did you mean {' or '.join(repr(other) for other in near)}?" if near else ""
        raise UnknownNameError(
            f"there is no {self.kind} '{name}'.{hint} Known: {', '.join(self._modules)}."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
