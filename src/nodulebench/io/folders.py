"""Folder -> the files below it, links followed."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


_START, _OWNER, _INSIDE = "nodulebench-", ".owner", "t"
"""Short: podman takes no long path for its sockets."""


@contextmanager
def process_folder(above: Path | None = None) -> Iterator[Path]:
    """A new, empty folder that its owner alone can enter, and that is gone afterwards.

    Args:
        above: where it lies; None: in the system's temporary folder (``TMPDIR``).
    """
    place = Path(tempfile.gettempdir()) if above is None else above
    for known in place.glob(f"{_START}*/{_OWNER}"):
        with suppress(OSError, ValueError):  # gone meanwhile, or somebody else's
            if known.is_file() and not is_alive(known.read_text(encoding="utf-8")):
                shutil.rmtree(known.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_START, dir=place, ignore_cleanup_errors=True) as made:
        (Path(made) / _OWNER).write_text(owner(), encoding="utf-8")
        folder = Path(made, _INSIDE)
        folder.mkdir(mode=0o700)
        yield folder


def owner() -> str:
    """This process, in a name that no other of this machine will have."""
    return f"{os.getpid()}-{_began(os.getpid())}"


def is_alive(named: str) -> bool:
    """Whether the process of such a name is still there, or nobody can tell."""
    pid, _, began = named.partition("-")
    if not (pid.isdigit() and began.isdigit()) or not _began(os.getpid()):
        return True
    return _began(int(pid)) == int(began)


def _began(pid: int) -> int:
    """When a process began, in ticks of the kernel; 0: there is none of that number."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(told.rpartition(")")[2].split()[19])
