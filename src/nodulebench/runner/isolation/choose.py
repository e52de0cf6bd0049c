"""The name of an isolation -> one that was tested, or why there is none."""

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
"""What ``auto`` tries, in this order."""
NONE = "none"


def choose_isolation(name: str, folder: Path) -> tuple[Isolation, SelfTest | None]:
    """An isolation whose walls and limits hold, and what its test said.

    Args:
        name: one of ``ISOLATIONS``; ``auto`` for the first of them that holds, and never ``none``;
            or ``none``, which has nothing to test.
        folder: where the tests may have their files.

    Raises:
        InputError: if a wall does not hold, with all that do not.
    """
    if name == NONE:
        return Bare(), None
    if name != "auto":
        isolation = ISOLATIONS[name]()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{name}"))
        tested.refuse_broken()
        return isolation, tested
    problems = []
    for one, make in ISOLATIONS.items():
        isolation = make()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{one}"))
        if tested.is_passed:
            return isolation, tested
        what = tested.problem or f"does not hold: {', '.join(tested.broken)}."
        problems.append(Problem(f"isolation '{one}'", what))
    remedy = "For a program of your own: --isolation none."
    raise InputError([*problems, Problem("isolation", "none of them can be used.", remedy)])
