"""A wall that does not hold is named, and nothing is run behind it."""

from pathlib import Path

import pytest

from builders.algorithms import needs_bubblewrap
from nodulebench.errors import InputError
from nodulebench.run.isolation import bubblewrap, cgroups, choose
from nodulebench.run.isolation.choose import choose_isolation
from nodulebench.run.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.run.isolation.self_test import WALLS, SelfTest, self_test

pytestmark = needs_bubblewrap


def outcome() -> SelfTest:
    with scratch_folder() as place:
        return in_own_thread(lambda: self_test(bubblewrap.Bubblewrap(), place / "test"))


def test_every_wall_of_bubblewrap_holds() -> None:
    found = outcome()
    assert found.broken == (), found.problem
    assert set(found.holds) == set(WALLS)
    assert found.version.startswith("bubblewrap")


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
    found = outcome()
    assert wall in found.broken
    with pytest.raises(InputError, match=f"does not hold: .*{wall}"):
        found.refuse_broken()


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


def test_where_none_holds_auto_says_why_and_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = SelfTest("bubblewrap", "1", dict.fromkeys(WALLS, True) | {"pids": False})
    monkeypatch.setattr(choose, "self_test", lambda *_: broken)
    with pytest.raises(
        InputError, match=r"(.*does not hold: pids.\n){3}.*none of them can be used"
    ):
        choose_isolation("auto", tmp_path)
    with pytest.raises(InputError, match="does not hold: pids"):
        choose_isolation("bubblewrap", tmp_path)
    assert choose_isolation("none", tmp_path)[0].name == "none"


def test_a_machine_without_bubblewrap_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"is not installed\. Install the package bubblewrap"):
        choose_isolation("bubblewrap", tmp_path)
