"""Linux control groups: limits on all processes of a program together, and their usage.

Both versions are supported: version 2 with one tree, version 1 with a tree per controller. Groups
are created below our own group, so that limits from outside apply too.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from nodulebench.io.folders import is_alive, owner
from nodulebench.runner.isolation.sandbox import Limits, Usage

TREE = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
_OLD = re.compile(r"nodulebench-(\d+-\d+)-\d+")
_PERIOD_US = 100_000
_NUMBERS = count(1)
_ENDING_S = 10.0
"""Time limit for a killed process to end."""


@dataclass(frozen=True, slots=True)
class Group:
    """A control group: one folder per controller in version 1, one folder in version 2."""

    folders: tuple[Path, ...]
    is_second: bool

    @property
    def entrances(self) -> tuple[str, ...]:
        """Files that a process writes 0 to in order to enter."""
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def usage(self) -> Usage:
        if self.is_second:
            (folder,) = self.folders
            events, forks = _fields(folder / "memory.events"), _fields(folder / "pids.events")
            micro = _fields(folder / "cpu.stat").get("usage_usec")
            return Usage(
                cpu_seconds=None if micro is None else micro / 1e6,
                peak_bytes=_number(folder / "memory.peak"),
                anonymous_bytes=_fields(folder / "memory.stat").get("anon"),
                memory_kills=events.get("oom_kill", 0),
                refused_forks=forks.get("max", 0),
            )
        memory, pids, _, cpuacct = self.folders
        nano = _number(cpuacct / "cpuacct.usage")
        return Usage(
            cpu_seconds=None if nano is None else nano / 1e9,
            peak_bytes=_number(memory / "memory.max_usage_in_bytes"),
            anonymous_bytes=_fields(memory / "memory.stat").get("total_rss"),
            memory_kills=_fields(memory / "memory.oom_control").get("oom_kill", 0),
            refused_forks=_fields(pids / "pids.events").get("max", 0),
        )

    def most_processes(self) -> int:
        """Return the peak number of processes, also of groups below; 0: not known."""
        return _number(self.folders[0 if self.is_second else 1] / "pids.peak") or 0

    @property
    def place(self) -> str:
        """Path of the group for engines that create groups in it."""
        tree = TREE if self.is_second else TREE / CONTROLLERS[0]
        return f"/{self.folders[0].relative_to(tree)}"

    def inner(self) -> "dict[str, Group]":
        with suppress(OSError):
            names = [path.name for path in self.folders[0].iterdir() if path.is_dir()]
            return {
                name: Group(tuple(folder / name for folder in self.folders), self.is_second)
                for name in names
            }
        return {}

    def kill(self) -> None:
        deadline = time.monotonic() + _ENDING_S
        while pids := self.pids():
            for folder in self.folders:
                with suppress(OSError):
                    if (folder / "cgroup.kill").exists():
                        (folder / "cgroup.kill").write_text("1")
            for pid in pids:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise OSError(f"processes {pids} do not end")
            time.sleep(0.001)

    def remove(self) -> None:
        for folder in self.folders:
            deadline = time.monotonic() + _ENDING_S
            while folder.is_dir():
                try:
                    folder.rmdir()
                except OSError:  # its last process is still being removed
                    if time.monotonic() > deadline:
                        return
                    time.sleep(0.001)

    def pids(self) -> set[int]:
        numbers: set[int] = set()
        for folder in self.folders:
            with suppress(OSError):
                numbers |= {int(number) for number in (folder / "cgroup.procs").read_text().split()}
        return numbers


def make_group(limits: Limits) -> Group:
    """Create a group with these limits; groups of killed runs are removed."""
    parents, is_second = _parents()
    for parent in parents:
        _sweep(parent)
    return _made(parents, limits, is_second)


def _made(parents: tuple[Path, ...], limits: Limits, is_second: bool) -> Group:
    name = f"nodulebench-{owner()}-{next(_NUMBERS)}"
    group = Group(tuple(parent / name for parent in parents), is_second)
    try:
        for folder in group.folders:
            folder.mkdir(parents=True)
        _limit(group, limits)
    except OSError:
        group.remove()
        raise
    return group


def make_outer_group(limits: Limits) -> Group:
    """Create a group, at one path in every tree, for an engine to create its own groups in."""
    parents, is_second = _parents()
    if not is_second:  # outer limits are most likely set on memory
        path = parents[0].relative_to(TREE / CONTROLLERS[0])
        parents = tuple(TREE / parent.relative_to(TREE).parts[0] / path for parent in parents)
    for tree in _trees(parents[0], is_second):
        _sweep(tree)
    return _made(parents, limits, is_second)


@contextmanager
def kill_count(group: Group) -> Iterator[Callable[[], int]]:
    """Count how often memory ran out in a group or below it, also in groups removed since.

    In version 2 a group counts this itself. In version 1 it counts only its own processes, and
    notifies those who registered before.
    """
    if group.is_second:
        yield lambda: group.usage().memory_kills
        return
    memory, heard, total = group.folders[0], os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC), 0

    def count() -> int:
        nonlocal total
        with suppress(BlockingIOError):
            total += os.eventfd_read(heard)
        return total

    try:
        with (memory / "memory.oom_control").open("rb") as asked:
            (memory / "cgroup.event_control").write_text(f"{heard} {asked.fileno()}")
        yield count
    finally:
        os.close(heard)


def remove_outer_group(group: Group) -> None:
    """Kill all processes in a group and below it, and remove the groups, in every tree."""
    for tree in _trees(group.folders[0], group.is_second):
        _end(tree)
        for above in tree.parents:
            if above.parent in (TREE, TREE.parent) or not _is_removed(above):
                break


def _trees(place: Path, is_second: bool) -> list[Path]:
    """Return the same path in all trees of the system: engines create groups in each of them."""
    if is_second:
        return [place]
    below = Path(*place.relative_to(TREE).parts[1:])
    return [path / below for path in TREE.iterdir() if path.is_dir() and not path.is_symlink()]


def _limit(group: Group, limits: Limits) -> None:
    quota = str(max(1000, int(limits.cpus * _PERIOD_US)))
    first = group.folders[0]
    if group.is_second:
        (first / "memory.max").write_text(str(limits.memory_bytes))
        if (first / "memory.swap.max").exists():
            (first / "memory.swap.max").write_text("0")
        (first / "memory.oom.group").write_text("1")
        (first / "pids.max").write_text(str(limits.pids))
        (first / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
        return
    _, pids, cpu, _ = group.folders
    (first / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
    with_swap = first / "memory.memsw.limit_in_bytes"
    if with_swap.exists():
        with_swap.write_text(str(limits.memory_bytes))
    (pids / "pids.max").write_text(str(limits.pids))
    (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
    (cpu / "cpu.cfs_quota_us").write_text(quota)


def _parents() -> tuple[tuple[Path, ...], bool]:
    """Return the folders for new groups, and whether they are of version 2."""
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, place = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), place.lstrip("/"))
    if (TREE / "cgroup.controllers").exists():
        return (_second_parent(TREE / own.get("", "")),), True
    places = [TREE / name / own.get(name, "") for name in CONTROLLERS]
    # in a container the path may be the one outside of it
    return tuple(
        place if place.is_dir() else TREE / place.relative_to(TREE).parts[0] for place in places
    ), False


def _second_parent(own: Path) -> Path:
    """Return our own group after delegating its controllers.

    A group that delegates controllers may contain no process, so ours move into a group below it.
    """
    if own.name == "nodulebench-runner":
        own = own.parent
    handed = own / "cgroup.subtree_control"
    wanted = {"memory", "pids", "cpu"}
    if not wanted <= set(handed.read_text(encoding="utf-8").split()):
        runner = own / "nodulebench-runner"
        runner.mkdir(exist_ok=True)
        for pid in (own / "cgroup.procs").read_text(encoding="utf-8").split():
            with suppress(OSError):
                (runner / "cgroup.procs").write_text(pid)
        handed.write_text("+memory +pids +cpu")
    return own


def _sweep(parent: Path) -> None:
    for folder in parent.glob("nodulebench-*-*-*"):
        known = _OLD.fullmatch(folder.name)
        if known and not is_alive(known[1]):
            with suppress(OSError):
                _end(folder)


def _end(folder: Path) -> None:
    """Kill all processes of a group and of those below it, and remove the groups."""
    if not folder.is_dir():
        return
    for below in [path for path in folder.iterdir() if path.is_dir()]:
        _end(below)
    group = Group((folder,), is_second=False)
    group.kill()
    group.remove()


def _is_removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:  # others use it
        return False
    return True


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _fields(file: Path) -> dict[str, int]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {
        name: int(value) for name, value in (p for p in pairs if len(p) == 2) if value.isdigit()
    }
