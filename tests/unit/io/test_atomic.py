from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.io import atomic as durable
from nodulebench.io import atomic as staging
from nodulebench.io.atomic import (
    MOVING,
    complete_move,
    leave_out,
    run_folder,
    staged_file,
    staged_folder,
)
from nodulebench.io.folders import files_below


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "deep" / "out") as stage:
        (stage / "a.txt").write_text("a")
        (stage / "inner").mkdir()
        (stage / "inner" / "b.txt").write_text("b")
        assert not (tmp_path / "deep" / "out").exists()
    assert names(tmp_path / "deep") == ["out", "out/a.txt", "out/inner", "out/inner/b.txt"]


def write_and_fail(path: Path) -> None:
    path.write_text("new")
    raise ZeroDivisionError


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), staged_folder(tmp_path / "out") as stage:
        write_and_fail(stage / "a.txt")
    assert names(tmp_path) == []


def test_a_failure_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ZeroDivisionError), staged_file(tmp_path / "a.txt") as stage:
        write_and_fail(stage)
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_files_of_the_same_name_are_replaced_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("old")
    (tmp_path / "out" / "other.txt").write_text("other")
    with staged_folder(tmp_path / "out") as stage:
        (stage / "a.txt").write_text("new")
    assert names(tmp_path) == ["out", "out/a.txt", "out/other.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() == "new"


def test_the_last_file_is_moved_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    moved = []
    replace = Path.replace

    def remember(self: Path, target: Path) -> Path:
        moved.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", remember)
    with staged_folder(tmp_path / "out", last="a.json") as stage:
        for name in ("a.json", "b.txt", "c.txt"):
            (stage / name).write_text("")
    assert moved == [MOVING, "b.txt", "c.txt", "a.json"]


def test_a_staged_file_keeps_its_ending(tmp_path: Path) -> None:
    with staged_file(tmp_path / "a.parquet") as stage:
        assert stage.suffix == ".parquet"
        stage.write_text("a")
    assert names(tmp_path) == ["a.parquet"]


def test_the_current_folder_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with staged_folder(Path()) as stage:
        (stage / "a.txt").write_text("a")
    assert names(tmp_path) == ["here", "here/a.txt"]


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"file: cannot be written: Not a directory\."),
        staged_folder(tmp_path / "file") as stage,
    ):
        (stage / "a.txt").write_text("a")
    with (
        pytest.raises(InputError, match=r"file/x: cannot be written: "),
        staged_file(tmp_path / "file" / "x"),
    ):
        pass
    assert names(tmp_path) == ["file"]


def test_a_folder_that_has_to_be_new_may_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with staged_folder(tmp_path / "out", is_new=True) as stage:
        (stage / "a.txt").write_text("a")
    with (
        pytest.raises(InputError, match=r"out: is not empty; its files could be mistaken for part"),
        staged_folder(tmp_path / "out", is_new=True),
    ):
        pass
    assert names(tmp_path) == ["out", "out/a.txt"]


def test_a_folder_of_a_run_is_gone_afterwards_and_those_of_killed_runs_too(tmp_path: Path) -> None:
    killed = tmp_path / f".{'0' * 16}-run"
    killed.mkdir()
    (killed / "half.dcm").write_text("half")
    (tmp_path / f".{'1' * 16}-run.lock").touch()
    with run_folder(tmp_path) as first:
        assert not killed.exists()
        with run_folder(tmp_path) as second:  # at the same time: each keeps its own
            assert first.is_dir()
            assert second.is_dir()
            with staged_file(tmp_path / "whole" / "a.dcm", within=second) as stage:
                assert stage.parent == second
                stage.write_text("a")
        (first / "b.dcm").write_text("b")
        assert list(files_below(tmp_path, print)) == [f"{tmp_path}/whole/a.dcm"]
        assert len(list(files_below(tmp_path, print, has_unfinished=True))) == 3  # and its lock
    assert names(tmp_path) == ["whole", "whole/a.dcm"]


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"), run_folder(tmp_path / "file"):
        pass


def test_anyone_who_opens_a_folder_next_ends_what_a_killed_process_began(tmp_path: Path) -> None:
    """The process was killed after one of its files was moved."""
    (tmp_path / MOVING / "inner").mkdir(parents=True)
    (tmp_path / MOVING / "b.txt").write_text("new")
    (tmp_path / MOVING / "inner" / "c.txt").write_text("new")
    leave_out(tmp_path / MOVING, ["older.txt", "gone already.txt"])
    for name in ("a.txt", "b.txt", "older.txt", "other.txt"):
        (tmp_path / name).write_text("new" if name == "a.txt" else "old")
    complete_move(tmp_path)
    assert names(tmp_path) == ["a.txt", "b.txt", "inner", "inner/c.txt", "other.txt"]
    assert (tmp_path / "b.txt").read_text() == "new"
    complete_move(tmp_path)
    complete_move(tmp_path / "without a position")


def test_files_that_shall_be_gone_are_gone_and_leave_no_list(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "older.txt").write_text("old")
    for folder in ("out", "fresh"):
        with staged_folder(tmp_path / folder) as stage:
            (stage / "a.txt").write_text("new")
            leave_out(stage, ["older.txt"])
    assert names(tmp_path) == ["fresh", "fresh/a.txt", "out", "out/a.txt"]


def test_what_a_killed_process_left_does_not_make_a_folder_full(tmp_path: Path) -> None:
    (tmp_path / ".0123456789abcdef-out").mkdir()
    with staged_folder(tmp_path, is_new=True) as stage:
        (stage / "a.txt").write_text("new")
    assert "a.txt" in names(tmp_path)


def test_the_disk_has_bytes_before_names_and_names_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message: list[str] = []
    replace = Path.replace

    def remember(self: Path, target: Path) -> Path:
        message.append(f"name {target.name}")
        return replace(self, target)

    def settle(place: Path) -> None:
        message.append(f"settle {place.name.rpartition('-')[2]}")

    monkeypatch.setattr(Path, "replace", remember)
    monkeypatch.setattr(staging, "settle", settle)
    monkeypatch.setattr(staging, "settle_all", settle)
    monkeypatch.setattr(durable, "settle", settle)
    with staged_file(tmp_path / "a.txt") as stage:
        stage.write_text("a")
    assert message == ["settle a.txt", "name a.txt", f"settle {tmp_path.name}"]
    message.clear()
    with staged_folder(tmp_path / "out") as stage, staged_file(stage / "b.txt") as inner:
        inner.write_text("b")
    assert message == ["name b.txt", "settle out", "name out", f"settle {tmp_path.name}"]
    message.clear()
    with staged_folder(tmp_path / "out") as stage:
        (stage / "b.txt").write_text("c")
    moved = ["settle out", f"name {MOVING}", "settle out", "name b.txt", "settle out"]
    assert message == [*moved, "settle out", f"settle {tmp_path.name}"]
    message.clear()
    with staged_folder(tmp_path / "out") as stage:
        (stage / "below").mkdir()
        (stage / "below" / "d.txt").write_text("d")
    # the folder that a file moves to is on the disk before the file has left its place
    assert message[:4] == ["settle out", f"name {MOVING}", "settle out", "settle out"]
    assert message[4] == "name d.txt"
    message.clear()
    with staged_file(tmp_path / "new" / "deep" / "e.txt") as stage:
        stage.write_text("e")
    made = ["settle new", f"settle {tmp_path.name}"]
    assert message == [*made, "settle e.txt", "name e.txt", "settle deep"]
