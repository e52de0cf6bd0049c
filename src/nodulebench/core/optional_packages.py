"""Packages that only some work needs: a missing one is named with the command that adds it.

They are imported where they are used, by an ordinary import that type checkers and import-linter
see::

    with needs("images", "DICOM"):
        import pydicom
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from nodulebench.core.errors import InputError


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """Imports of packages that an extra of NoduleBench brings, for a purpose."""
    try:
        yield
    except ModuleNotFoundError as missing:
        what = f"needs {(missing.name or '').partition('.')[0]}, which is not installed."
        raise InputError.at(purpose, what, f"pip install 'nodulebench[{extra}]'") from missing


def is_installed(package: str) -> bool:
    return find_spec(package) is not None
