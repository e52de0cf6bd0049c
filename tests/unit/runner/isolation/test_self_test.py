"""A wall that does not hold is named, and nothing is run behind it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.algorithms import needs_bubblewrap
from nodulebench.core.errors import InputError
from nodulebench.runner.isolation import bubblewrap, cgroups
from nodulebench.runner.isolation import self_test as self_test_module
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.self_test import (
    PROTECTIONS,
    SelfTest,
    choose_isolation,
    self_test,
)

pytestmark = needs_bubblewrap


def outcome() -> SelfTest:
    with scratch_folder() as place:
        return in_own_thread(lambda: self_test(bubblewrap.Bubblewrap(), place / "test"))


def test_every_wall_of_bubblewrap_holds() -> None:
    observed = outcome()
    assert observed.broken == (), observed.problem
    assert set(observed.holds) == set(PROTECTIONS)
    assert observed.version.startswith("bubblewrap")


@pytest.mark.parametrize(
    ("flag", "wall"),
    [
        ("--unshare-all", "network"),
        ("--ro-bind /input", "input"),
        ("--remount-ro", "files"),
        ("--unshare-pid", "processes"),
    ],
)
def test_a_flag_that_is_left_out_is_noticed(
    monkeypatch: pytest.MonkeyPatch, flag: str, wall: str
) -> None:
    made = bubblewrap._bwrap

    def weaker(job: object, tell: int, calls: int) -> list[str]:
        words = made(job, tell, calls)  # type: ignore[arg-type]
        if flag == "--unshare-all":
            kinds = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
            place = words.index(flag)
            return [*words[:place], *kinds, *words[place + 1 :]]
        if flag == "--unshare-pid":
            place = words.index("--unshare-all")
            words = [*words[:place], "--unshare-net", "--unshare-uts", *words[place + 1 :]]
            place = words.index("--proc")
            return [*words[:place], "--ro-bind", "/proc", "/proc", *words[place + 2 :]]
        if flag == "--remount-ro":
            place = words.index(flag)
            return [*words[:place], *words[place + 2 :]]
        return ["--bind" if after == "/input" else word for word, after in _with_second(words)]

    monkeypatch.setattr(bubblewrap, "_bwrap", weaker)
    observed = outcome()
    assert wall in observed.broken
    with pytest.raises(InputError, match=f"fails to protect: .*{wall}"):
        observed.require_passed()


def _with_second(words: list[str]) -> list[tuple[str, str]]:
    """Each word with the one after the next."""
    return list(zip(words, [*words[2:], "", ""], strict=True))


@pytest.mark.parametrize(("limit", "wall"), [("memory", "memory"), ("pids", "pids")])
def test_a_limit_that_is_silently_ignored_is_noticed(
    monkeypatch: pytest.MonkeyPatch, limit: str, wall: str
) -> None:
    made = cgroups._limit

    def weaker(group: cgroups.Group, limits: object) -> None:
        from dataclasses import replace

        more = {"memory_bytes": 1 << 40} if limit == "memory" else {"pids": 4000}
        made(group, replace(limits, **more))  # type: ignore[type-var]

    monkeypatch.setattr(cgroups, "_limit", weaker)
    assert outcome().broken == (wall,)


@pytest.mark.parametrize("is_secret", [True, False])
def test_what_a_sandbox_shows_of_the_operator_is_noticed(
    monkeypatch: pytest.MonkeyPatch, is_secret: bool
) -> None:
    """A launcher that is given the environment of the operator, or mounts on its command line."""
    start = subprocess.Popen

    def leaky(words: list[str], **settings: object) -> "subprocess.Popen[bytes]":
        if is_secret and "-i" in words:
            words = [word for word in words if word != "-i"]
            settings["env"] = {"PATH": "/bin", "PASSWORD_OF_THE_DATABASE": "1"}
        return start(words, **settings)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(bubblewrap.subprocess, "Popen", leaky)
    if not is_secret:
        monkeypatch.setattr(bubblewrap, "_from_file", lambda words, *_: words)
    observed = outcome()
    assert observed.broken == ("environment",), observed.problem
    with pytest.raises(InputError, match="fails to protect: environment"):
        observed.require_passed()


def test_where_none_holds_auto_says_why_and_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = SelfTest("bubblewrap", "1", dict.fromkeys(PROTECTIONS, True) | {"pids": False})
    monkeypatch.setattr(self_test_module, "self_test", lambda *_: broken)
    with pytest.raises(
        InputError, match=r"(.*fails to protect: pids.\n){3}.*none of these can be used"
    ):
        choose_isolation("auto", tmp_path)
    with pytest.raises(InputError, match="fails to protect: pids"):
        choose_isolation("bubblewrap", tmp_path)
    assert choose_isolation("none", tmp_path)[0].name == "none"


def test_a_machine_without_bubblewrap_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"is not installed\. Install the package bubblewrap"):
        choose_isolation("bubblewrap", tmp_path)


OTHER_USER = 12345
AS_OTHER_USER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)  # what reads this program is not handed on
os.chdir("/")
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.sandbox import MIB
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.self_test import self_test
sys.executable, sys.base_prefix = "/usr/bin/python3", "/usr"
with scratch_folder() as place:
    found = in_own_thread(lambda: self_test(Bubblewrap(), place / "test"))
print(os.getuid(), found.is_passed, found.broken, found.problem)
"""
ENTERS = (
    'for one in "$@"; do test "$one" = -- && break; echo 0 > "$one"; shift; done; shift; exec "$@"'
)


@contextmanager
def handed_over() -> Iterator[list[Path]]:
    """Control groups that belong to another user than root."""
    group = cgroups.make_group(cgroups.Limits(2.0, 1 << 30, 500, 1))
    for folder in group.folders:
        for place in (folder, folder / "cgroup.procs"):
            os.chown(place, OTHER_USER, OTHER_USER)
    try:
        yield [folder / "cgroup.procs" for folder in group.folders]
    finally:
        group.remove()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system has no Python")
@pytest.mark.parametrize("is_handed_over", [True, False])
def test_users_other_than_root_need_their_own_groups(is_handed_over: bool) -> None:
    reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    who = [f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups", *reads]
    words = ["setpriv", *who, sys.executable, "-B", "-c", AS_OTHER_USER]
    with handed_over() as entrances:
        given = [str(entrance) for entrance in entrances] if is_handed_over else []
        completed = subprocess.run(
            ["sh", "-c", ENTERS, "sh", *given, "--", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HOME": "/tmp", "PYTHONPATH": os.pathsep.join(sys.path)},  # noqa: S108
        )
    assert completed.returncode == 0, completed.stderr
    if is_handed_over:
        assert completed.stdout == f"{OTHER_USER} True () \n"
    else:
        assert completed.stdout.startswith(f"{OTHER_USER} False")
        assert "Permission denied" in completed.stdout
