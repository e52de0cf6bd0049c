"""Contracts: a thing keeps to them, or the reason is raised."""

from collections.abc import Callable, Iterable
from typing import Any


def expect(holds: bool, otherwise: str) -> None:
    """Go on where something holds.

    Raises:
        AssertionError: where it does not.
    """
    if not holds:
        raise AssertionError(otherwise)


def expect_all(checks: Iterable[Callable[..., None]], *arguments: Any) -> None:
    """Run every check on the same arguments, then report all that fail.

    Raises:
        AssertionError: with the name and the message of each failed check.
    """
    problems, first = [], None
    for check in checks:
        try:
            check(*arguments)
        except Exception as error:  # a broken thing may raise anything
            first = first or error
            what = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            problems.append(f"{check.__name__}: {what}{error}")
    if problems:
        raise AssertionError("\n".join(problems)) from first
