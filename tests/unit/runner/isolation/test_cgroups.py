"""Groups of killed runs are swept with what is left in them; those of living ones stay."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodulebench.io.folders import _began
from nodulebench.runner.isolation import cgroups
from nodulebench.runner.isolation.cgroups import (
    Group,
    kill_count,
    make_group,
    make_outer_group,
    remove_outer_group,
)
from nodulebench.runner.isolation.sandbox import MIB, Limits

LIMITS = Limits(cpus=1.0, memory_bytes=64 * MIB, pids=8, output_bytes=MIB)


@pytest.fixture
def group() -> Group:
    try:
        return make_group(LIMITS)
    except OSError as error:
        pytest.skip(f"this machine lets us make no control group: {error}")


def test_what_a_killed_run_left_is_ended_and_removed(group: Group) -> None:
    with subprocess.Popen(["sleep", "1"]) as ended:
        pid, began = ended.pid, _began(ended.pid)
        ended.kill()
    left = [folder.with_name(f"nodulebench-{pid}-{began}-1") for folder in group.folders]
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        for folder in left:
            folder.mkdir()
            (folder / "cgroup.procs").write_text(str(sleeping.pid))
        other = make_group(LIMITS)
        assert sleeping.wait(timeout=50) == -9
    assert not any(folder.exists() for folder in left)
    assert all(folder.is_dir() for folder in group.folders)
    for group_ in (group, other):
        group_.remove()
    assert not any(folder.exists() for folder in (*group.folders, *other.folders))


def test_a_number_that_was_given_again_is_another_process() -> None:
    assert _began(os.getpid()) > 0
    assert _began(os.getpid()) == _began(os.getpid())
    assert _began(2**22 + 1) == 0


FILES = ("cgroup.procs", "cgroup.subtree_control", "memory.max", "memory.swap.max")
NAMES = ("memory.oom.group", "pids.max", "cpu.max")


class _Kernel:
    """A tree of version 2 in a plain folder: a new group gets its files at once."""

    def __init__(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree, own = tree, tree / "user.slice"
        own.mkdir()
        (tree / "cgroup.controllers").write_text("cpu memory pids")
        monkeypatch.setattr(cgroups, "TREE", tree)
        made = Path.mkdir

        def mkdir(path: Path, *given: object, **more: object) -> None:
            made(path, *given, **more)  # type: ignore[arg-type]
            if path.is_relative_to(tree):
                self.fill(path)

        def rmdir(path: Path) -> None:
            for entry in path.iterdir():
                if entry.is_dir():
                    raise OSError(f"{entry} is there")
                entry.unlink()
            os.rmdir(path)  # noqa: PTH106

        self.fill(own)
        (own / "cgroup.procs").write_text("7\n8\n")
        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", rmdir)
        read = Path.read_text

        def asked_path(path: Path, *given: object, **more: object) -> str:
            if str(path) == "/proc/self/cgroup":
                return "0::/user.slice\n"
            return read(path, *given, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Path, "read_text", asked_path)

    @staticmethod
    def fill(folder: Path) -> None:
        for name in (*FILES, *NAMES):
            (folder / name).touch()


def test_in_version_2_our_group_hands_its_controllers_on_and_takes_every_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Kernel(tmp_path, monkeypatch)
    group = make_group(LIMITS)
    (folder,) = group.folders
    own = tmp_path / "user.slice"
    assert folder.parent == own
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    # a group that hands on may hold no process: they moved below, one after the other
    assert (own / "nodulebench-runner" / "cgroup.procs").read_text() == "8"
    written = {name: (folder / name).read_text() for name in (*FILES, *NAMES)}
    assert written["memory.max"] == str(64 * MIB)
    assert (written["memory.swap.max"], written["memory.oom.group"]) == ("0", "1")
    assert (written["pids.max"], written["cpu.max"]) == ("8", "100000 100000")
    assert group.place == f"/user.slice/{folder.name}"


def test_in_version_2_what_was_used_and_refused_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Kernel(tmp_path, monkeypatch)
    group = make_group(LIMITS)
    (folder,) = group.folders
    (folder / "memory.events").write_text("low 0\nmax 12\noom 3\noom_kill 2\n")
    (folder / "memory.peak").write_text("123456789\n")
    (folder / "memory.stat").write_text("anon 4096\nfile 8192\n")
    (folder / "pids.events").write_text("max 5\n")
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    used = group.usage()
    assert (used.memory_kills, used.refused_forks) == (2, 5)
    assert (used.peak_bytes, used.anonymous_bytes, used.cpu_seconds) == (123456789, 4096, 1.5)


def test_in_version_2_an_engine_makes_its_group_in_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Kernel(tmp_path, monkeypatch)
    outer = make_outer_group(LIMITS)
    (outer.folders[0] / "libpod-1").mkdir()
    assert list(outer.inner()) == ["libpod-1"]
    remove_outer_group(outer)
    assert not outer.folders[0].exists()
    assert (tmp_path / "user.slice").is_dir()


def test_a_machine_that_lets_us_make_none_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Kernel(tmp_path, monkeypatch)

    def refused(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(PermissionError, match="Permission denied"):
        make_group(LIMITS)


def test_an_outer_group_is_at_one_path_in_every_tree_and_leaves_none(group: Group) -> None:
    if group.is_second:
        pytest.skip("this machine has one tree")
    outer = make_outer_group(LIMITS)
    trees = {folder.relative_to(cgroups.TREE).parts[0] for folder in outer.folders}
    places = {
        str(folder.relative_to(cgroups.TREE / folder.relative_to(cgroups.TREE).parts[0]))
        for folder in outer.folders
    }
    assert (len(trees), places) == (len(outer.folders), {outer.place[1:]})
    remove_outer_group(outer)
    assert not any(folder.exists() for folder in outer.folders)
    group.remove()


EATS = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(200 << 20)'])"
FORKS = """
import os
ended, lives = os.pipe()
try:
    for _ in range(20):
        if os.fork() == 0:
            os.close(lives)
            os.read(ended, 1)  # returns when the parent has ended
            os._exit(0)
except OSError:
    pass
"""


@pytest.mark.parametrize(("program", "kills", "is_over"), [(EATS, 1, False), (FORKS, 0, True)])
def test_what_ran_out_is_known_when_the_group_below_is_gone(
    group: Group, program: str, kills: int, is_over: bool
) -> None:
    group.remove()
    outer = make_outer_group(LIMITS)
    try:
        with kill_count(outer) as caught:
            assert caught() == 0
            below = [folder / "below" for folder in outer.folders]
            for folder in below:
                folder.mkdir()
            enter = "".join(f"echo 0 > {folder}/cgroup.procs; " for folder in below)
            words = ["/bin/sh", "-c", f'{enter} exec "$0" -c "$1"', sys.executable, program]
            subprocess.run(words, check=True)
            for group_ in outer.inner().values():
                group_.kill()
                group_.remove()
            assert not any(folder.exists() for folder in below)
            assert (caught() > 0) == (kills > 0)
            assert (outer.most_processes() >= LIMITS.pids) is is_over
    finally:
        remove_outer_group(outer)
