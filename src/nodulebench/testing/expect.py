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
    problems = []
    for check in checks:
        try:
            check(*arguments)
        except AssertionError as error:
            problems.append(f"{check.__name__}: {error}")
    expect(not problems, "\n".join(problems))
