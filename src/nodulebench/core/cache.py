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
        is_same = held is not None and len(held[0]) == len(asked)
        if (
            held is None
            or not is_same
            or not all(
                a is b or (isinstance(a, tuple) and a == b)  # settings by keyword may be equal
                for a, b in zip(held[0], asked, strict=True)
            )
        ):
            held = asked, function(owner, *rest, **named)
            vars(owner)[place] = held  # as cached_property does: frozen objects have their dict
        return held[1]

    return once
