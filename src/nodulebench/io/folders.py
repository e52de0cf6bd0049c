"""Folder -> the files below it, links followed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from nodulebench.io.atomic import UNFINISHED


def files_below(
    folder: Path,
    unread: Callable[[OSError], object],
    *,
    without: Path | None = None,
    has_unfinished: bool = False,
) -> Iterator[str]:
    """Every file below a folder, in the order of their names.

    Links are followed, each folder once, so that links in a circle come to an end. A link that
    leads nowhere counts as a file, which cannot be read; pipes and devices do not.

    Args:
        folder: where to begin.
        unread: told of every folder that cannot be looked into.
        without: a folder that is left out.
        has_unfinished: whether files count that a run is about to write, or was when it was killed.
    """

    def counts(name: str) -> bool:
        return has_unfinished or UNFINISHED.fullmatch(name) is None

    seen = set() if without is None else {os.path.realpath(without)}
    seen.add(os.path.realpath(folder))
    for place, folders, names in os.walk(folder, followlinks=True, onerror=unread):
        fresh = []
        for name in filter(counts, sorted(folders)):
            real = os.path.realpath(f"{place}/{name}")
            if real not in seen:
                seen.add(real)
                fresh.append(name)
        folders[:] = fresh
        files = (f"{place}/{name}" for name in sorted(names) if counts(name))
        yield from filter(_is_file, files)


def _is_file(path: str) -> bool:
    """Whether something is to be read: a file, or what cannot be reached."""
    return os.path.isfile(path) or not os.path.exists(path)  # noqa: PTH110, PTH113 - never raise
