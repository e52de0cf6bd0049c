"""Run one check on many entries of a registry and report every entry that fails."""

from collections.abc import Callable, Iterable
from typing import Any


def failures(check: Callable[..., None], entries: Iterable[tuple[Any, ...]]) -> list[str]:
    """The entries for which a check fails, each with its message; one assertion covers them all."""
    messages = []
    for entry in entries:
        try:
            check(*entry)
        except AssertionError as error:
            messages.append(f"{entry}: {error}")
    return messages
