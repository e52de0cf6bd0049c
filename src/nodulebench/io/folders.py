"""List the files below a folder, and make folders for one process."""

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
    """Yield every file below a folder, sorted by name within each folder.

    Links are followed, each folder once, so that circular links end. A link to a missing file
    counts as a file, which cannot be read; pipes and devices do not count. ``unread`` is called
    with the error of every folder that cannot be read; ``has_unfinished`` includes files that a run
    is writing, or was when it was killed.
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
    """Whether a path is to be read: a file, or a path that cannot be reached."""
    return os.path.isfile(path) or not os.path.exists(path)  # noqa: PTH110, PTH113 - never raise


_START, _OWNER, _INSIDE = "nodulebench-", ".owner", "t"
"""Short, because podman cannot use long paths for its sockets."""


@contextmanager
def process_folder(above: Path | None = None) -> Iterator[Path]:
    """Yield a new folder (in ``TMPDIR``) that only its owner can enter; it is deleted after."""
    place = Path(tempfile.gettempdir()) if above is None else above
    for known in place.glob(f"{_START}*/{_OWNER}"):
        with suppress(OSError, ValueError):  # deleted meanwhile, or another user's
            if known.is_file() and not is_alive(known.read_text(encoding="utf-8")):
                shutil.rmtree(known.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_START, dir=place, ignore_cleanup_errors=True) as made:
        (Path(made) / _OWNER).write_text(owner(), encoding="utf-8")
        folder = Path(made, _INSIDE)
        folder.mkdir(mode=0o700)
        yield folder


def owner() -> str:
    """A name of this process that no other process of this machine ever has."""
    return f"{os.getpid()}-{_began(os.getpid())}"


def is_alive(named: str) -> bool:
    """Whether the process of such a name still runs; True if that cannot be determined."""
    pid, _, began = named.partition("-")
    if not (pid.isdigit() and began.isdigit()) or not _began(os.getpid()):
        return True
    return _began(int(pid)) == int(began)


def _began(pid: int) -> int:
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(stat_line.rpartition(")")[2].split()[19])
