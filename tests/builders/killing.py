"""A process that dies at one of its operations on files, as far as a test can play that."""

import os
from collections.abc import Callable

import pytest

OPERATIONS = ("link", "replace", "rename", "fsync")


class Killed(BaseException):
    """What a kill looks like from inside."""


def killed_at(fatal: int, patch: pytest.MonkeyPatch) -> None:
    """Let the operation of this number never happen, nor anything after it."""
    done = 0

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            nonlocal done
            done += 1
            if done >= fatal:
                raise Killed
            return real(*args, **more)

        return call

    for name in OPERATIONS:
        patch.setattr(os, name, dying(getattr(os, name)))
