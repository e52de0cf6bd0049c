"""Registry: name -> item, each imported when it is asked for; and lazy names of a package."""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Item = TypeVar("Item")


class Registry(Mapping[str, Item], Generic[Item]):
    """Named items of one kind, in the order they were listed; each is loaded when first asked for.

    Outside packages add to a registry through the entry point group ``nodulebench.<group>``. They
    come after the built-in ones and cannot replace them; the group is looked up only when the
    built-in names have run out.
    """

    def __init__(self, kind: str, group: str, modules: Mapping[str, str]) -> None:
        """List items by name.

        Args:
            kind: what they are, for messages.
            group: the last part of the entry point group.
            modules: for each name the module that holds it, as ``module`` (the item has the
                registered name there) or ``module:attribute``.
        """
        self.kind = kind
        self.group = f"nodulebench.{group}"
        self._modules = dict(modules)
        self._loaded: dict[str, Item] = {}
        self._path: list[str] | None = None
        self._outside: dict[str, EntryPoint] = {}

    @property
    def outside(self) -> "dict[str, EntryPoint]":
        """What other packages add, by name; looked up again where Python's path has changed."""
        if self._path != sys.path:
            from importlib.metadata import entry_points

            points = sorted(entry_points(group=self.group), key=lambda point: point.name)
            self._path = list(sys.path)
            self._outside = {
                entry_point.name: entry_point
                for entry_point in points
                if entry_point.name not in self._modules
            }
        return self._outside

    @property
    def outside_versions(self) -> list[str]:
        """What other packages add, each with the package and its version."""
        return [
            f"{name} of {point.dist.name} {point.dist.version}" if point.dist else name
            for name, point in self.outside.items()
        ]

    def __getitem__(self, name: str) -> Item:
        if name in self._loaded:
            return self._loaded[name]
        if name in self._modules:
            module, _, attribute = self._modules[name].partition(":")
            self._loaded[name] = getattr(import_module(module), attribute or name)
        elif name in self.outside:
            self._loaded[name] = self._load_outside(name)
        else:
            # imported here, because every package imports this module for its lazy names
            from nodulebench.core.errors import UnknownNameError, did_you_mean

            hint = did_you_mean(name, self, most=3)
            known = ", ".join(self)
            raise UnknownNameError(f"there is no {self.kind} '{name}'.{hint} Known: {known}.")
        return self._loaded[name]

    def _load_outside(self, name: str) -> Item:
        point = self.outside[name]
        try:
            item: Item = point.load()
        except (ImportError, AttributeError) as error:
            from nodulebench.core.errors import UnknownNameError

            package = point.dist.name if point.dist else "another package"
            raise UnknownNameError(
                f"the {self.kind} '{name}' of {package} cannot be loaded from {point.value}: "
                f"{error}. Mend or remove that package."
            ) from error
        return item

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self.outside

    def __iter__(self) -> Iterator[str]:
        yield from self._modules
        yield from self.outside

    def __len__(self) -> int:
        return len(self._modules) + len(self.outside)


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package (PEP 562)."""

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
