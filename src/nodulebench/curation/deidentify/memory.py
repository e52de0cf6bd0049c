"""Elements of a header -> what is found out about each, remembered: slices repeat most of them.

What is remembered of an element hangs on its tag, its kind and all of its bytes, and on a context
that names everything else that the finding follows from. Another patient is another context.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

Finding = TypeVar("Finding")

MOST_CONTEXTS = 12
MOST_ELEMENTS = 4096
"""In one context; then it is begun anew."""
LARGEST_BYTES = 4096
"""Larger elements are looked at every time."""
UNDEFINED_LENGTH = 0xFFFFFFFF

CHARACTER_SET = 0x00080005
READ_BY = (CHARACTER_SET, 0x00080102, 0x00280103, 0x00283002)
"""Elements that the reading of others hangs on."""


class Memory:
    """What was found out about the elements of earlier slices.

    Args:
        contexts: how many are kept, the latest; with 0 nothing is remembered from slice to slice.
    """

    def __init__(self, contexts: int = MOST_CONTEXTS) -> None:
        self._most = contexts
        self._known: dict[Hashable, dict[Hashable, Any]] = {}

    def each(
        self,
        elements: Iterable[tuple[int, Any]],
        look: Callable[[int, Any], Finding],
        *context: Hashable,
    ) -> Iterator[tuple[int, Finding]]:
        """The tag of every element with what is found out about it.

        Args:
            elements: tags and elements, as they were read.
            look: finds out about one; its finding follows from the element and the context alone.
            context: everything else that the finding follows from.
        """
        known = self.about(*context)
        for tag, element in elements:
            key = key_of(tag, element)
            found = known.get(key, known)  # which is no finding
            if found is known:
                found = look(tag, element)
                if key is not None:
                    known[key] = found
            yield tag, found

    def about(self, *context: Hashable) -> dict[Hashable, Any]:
        """What is known in a context, by element; what is added is known from then on."""
        known = self._known.pop(context, {})
        if len(known) > MOST_ELEMENTS:
            known = {}
        self._known[context] = known
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known


def key_of(tag: int, element: Any) -> Hashable | None:
    """What tells an element from all others; None: it is not to be remembered."""
    value = element.value
    if not element.is_raw:  # but for the character set, which is always converted
        return (tag, element.VR, str(value)) if tag == CHARACTER_SET else None
    if element.length == UNDEFINED_LENGTH or tag >> 16 == 0x7FE0:
        return None
    return None if value and len(value) > LARGEST_BYTES else (tag, element.VR, value)


def elements_of(dataset: Any) -> list[tuple[int, Any]]:
    """Tags and elements in their order, as they were read: converting one does not change these."""
    return sorted(((int(tag), element) for tag, element in dataset.items()), key=_tag)


def reading_of(dataset: Any) -> Hashable:
    """How the elements of a dataset are read: their encoding, and the elements others hang on."""
    read_by = []
    for tag in READ_BY:
        element = dataset.get_item(tag)
        value = None if element is None else element.value
        read_by.append((type(value).__name__, str(value)))
    return (dataset.original_encoding, tuple(read_by))


def _tag(one: tuple[int, Any]) -> int:
    return one[0]
