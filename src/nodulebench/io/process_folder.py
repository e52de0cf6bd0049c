"""A temporary folder of this process; what a killed one left is removed by the next that asks."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
