"""A file appears whole and once, also on disks that know no links."""

import os
import threading
from pathlib import Path

import pytest

from nodulebench.io.atomic import create_once


@pytest.fixture(params=["links", "no links"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("disk")
def test_the_first_content_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "1.json"
    assert create_once(path, b"first")
    assert not create_once(path, b"second")
    assert path.read_bytes() == b"first"
    assert [file.name for file in path.parent.iterdir()] == ["1.json"]


@pytest.mark.usefixtures("disk")
def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    won: list[int] = []

    def write(number: int) -> None:
        if create_once(tmp_path / "1.json", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (tmp_path / "1.json").read_text() == str(won[0])
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


@pytest.mark.skipif(os.name != "posix", reason="folders are not settled there")
def test_the_disk_has_the_names_of_folders_that_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = set()
    monkeypatch.setattr(os, "fsync", lambda file: settled.add(os.fstat(file).st_ino))
    create_once(tmp_path / "a" / "b" / "file", b"x")
    for folder in (tmp_path, tmp_path / "a", tmp_path / "a" / "b"):
        assert folder.stat().st_ino in settled
