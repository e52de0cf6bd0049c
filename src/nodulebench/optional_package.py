"""Packages that only some formats need: a missing one is named with the command that adds it."""

from importlib import import_module
from typing import Any

from nodulebench.errors import InputError, Problem


def optional_package(name: str, extra: str, purpose: str) -> Any:
    """Import a package that an extra of NoduleBench brings.

    Raises:
        InputError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            Problem(
                purpose,
                f"needs {name.partition('.')[0]}, which is not installed.",
                f"pip install 'nodulebench[{extra}]'",
            )
        ) from error
