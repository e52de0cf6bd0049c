"""Values derived from a frozen object are cached on it and freed with it."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Rest = ParamSpec("Rest")
Made = TypeVar("Made")


def cached_on_owner(
    function: Callable[Concatenate[Owner, Rest], Made],
) -> Callable[Concatenate[Owner, Rest], Made]:
    """The function, which keeps its last result on its first argument.

    Asked again with the very same further arguments it gives that result. So several metrics and
    rules share expensive results, and nothing outlives the test set it was made of.
    """
    place = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def once(owner: Owner, /, *rest: Rest.args, **named: Rest.kwargs) -> Made:
        asked: tuple[object, ...] = (*rest, *named.items())
        held: tuple[tuple[object, ...], Made] | None = vars(owner).get(place)
        if held is None or not _same(held[0], asked):
            held = asked, function(owner, *rest, **named)
            vars(owner)[place] = held  # as cached_property does: frozen objects have their dict
        return held[1]

    return once


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether both are the same objects; settings by keyword may be equal."""
    return len(one) == len(other) and all(
        a is b or (isinstance(a, tuple) and a == b) for a, b in zip(one, other, strict=True)
    )
