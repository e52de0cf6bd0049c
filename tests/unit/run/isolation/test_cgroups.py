"""Groups of killed runs are swept with what is left in them; those of living ones stay."""

import os
import subprocess

import pytest

from nodulebench.run.isolation.cgroups import Group, _began, make_group
from nodulebench.run.isolation.sandbox import MIB, Limits

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
        assert sleeping.wait(timeout=20) == -9
    assert not any(folder.exists() for folder in left)
    assert all(folder.is_dir() for folder in group.folders)
    for one in (group, other):
        one.remove()
    assert not any(folder.exists() for folder in (*group.folders, *other.folders))


def test_a_number_that_was_given_again_is_another_process() -> None:
    assert _began(os.getpid()) > 0
    assert _began(os.getpid()) == _began(os.getpid())
    assert _began(2**22 + 1) == 0
