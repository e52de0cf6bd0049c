"""Choose an isolation by name and test it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from nodulebench.core.errors import InputError, Problem
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.containers import Docker, Podman
from nodulebench.runner.isolation.sandbox import Bare, Isolation
from nodulebench.runner.isolation.scratch import in_own_thread
from nodulebench.runner.isolation.self_test import SelfTest, self_test

ISOLATIONS: dict[str, Callable[[], Isolation]] = {
    "bubblewrap": Bubblewrap,
    "podman": Podman,
    "docker": Docker,
}
"""Isolations that ``auto`` tries, in this order."""
NONE = "none"


def choose_isolation(name: str, folder: Path) -> tuple[Isolation, SelfTest | None]:
    """Return an isolation that passed its self-test, and the result of the test.

    Args:
        name: one of ``ISOLATIONS``; ``auto`` for the first of them that passes, never ``none``; or
            ``none``, which has nothing to test.
        folder: folder for the files of the tests.

    Raises:
        InputError: if protections fail, with all that do.
    """
    if name == NONE:
        return Bare(), None
    if name != "auto":
        isolation = ISOLATIONS[name]()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{name}"))
        tested.require_passed()
        return isolation, tested
    problems = []
    for candidate, make in ISOLATIONS.items():
        isolation = make()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{candidate}"))
        if tested.is_passed:
            return isolation, tested
        what = tested.problem or f"fails to protect: {', '.join(tested.broken)}."
        problems.append(Problem(f"isolation '{candidate}'", what))
    remedy = "For your own program use --isolation none."
    raise InputError([*problems, Problem("isolation", "none of these can be used.", remedy)])
