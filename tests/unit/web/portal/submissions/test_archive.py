"""Archives are unpacked within limits; members outside of the folder are refused."""

import stat
import zipfile
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.portal.submissions.archive import is_archive, unpack


def packed(folder: Path, *files: tuple[str, bytes], kind: int = stat.S_IFREG) -> Path:
    path = folder / "sent.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def test_the_only_folder_of_an_archive_is_used(tmp_path: Path) -> None:
    path = packed(tmp_path, ("run/marks.csv", b"x"), ("run/deep/er.txt", b"y"))
    assert is_archive(path)
    folder = unpack(path, tmp_path / "out")
    assert folder == tmp_path / "out" / "run"
    assert (folder / "deep" / "er.txt").read_bytes() == b"y"


@pytest.mark.parametrize("name", ["../up.csv", "/etc/x", "a/../../x", "..\\up.csv", "C:x", "a\x1b"])
def test_names_outside_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path, (name, b"x"))
    with pytest.raises(InputError, match="not taken"):
        unpack(path, tmp_path / "out")
    assert not (tmp_path / "up.csv").exists()


def test_links_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, ("link", b"/etc/passwd"), kind=stat.S_IFLNK)
    with pytest.raises(InputError, match="not taken"):
        unpack(path, tmp_path / "out")


def test_a_bomb_is_refused_before_it_bursts(tmp_path: Path) -> None:
    path = packed(tmp_path, ("big", bytes(3_000_000)))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than is taken"):
        unpack(path, tmp_path / "out", most_bytes=1_000_000)


def test_a_bomb_with_a_wrong_size_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, ("big", bytes(3_000_000)))
    content = bytearray(path.read_bytes())
    size = (3_000_000).to_bytes(4, "little")
    for start in range(len(content) - 4):
        if content[start : start + 4] == size:
            content[start : start + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError):
        unpack(path, tmp_path / "out")
    written = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert written <= 1_000_000


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"PK\x03\x04" + bytes(200)])
def test_a_damaged_archive_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        unpack(path, tmp_path / "out")


def test_a_workbook_stays_whole(tmp_path: Path) -> None:
    path = packed(tmp_path, ("x", b"x")).rename(tmp_path / "marks.xlsx")
    assert not is_archive(path)
