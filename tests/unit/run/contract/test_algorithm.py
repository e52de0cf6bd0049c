"""A folder that cannot be run says why before anything is started."""

import os
from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder
from nodulebench.errors import InputError
from nodulebench.run.contract.algorithm import MODEL, PLACE, read_algorithm, read_archive


def test_a_folder_is_an_algorithm_with_its_mounts(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine", run='model = "weights"')
    (folder / "weights").mkdir()
    found = read_algorithm(folder)
    assert (found.name, found.run.resources.pids) == ("tested", 32)
    assert [(one.target, one.is_writable) for one in found.mounts] == [
        (PLACE, False),
        (MODEL, False),
    ]


def test_any_changed_file_is_another_algorithm(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    before = read_algorithm(folder).digest
    (folder / "weights").write_text("1")
    assert read_algorithm(folder).digest != before


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ('["./run.sh"]', '["./other.sh"]', r"'\./other\.sh' is not there"),
        ('["./run.sh"]', '["no-such-program"]', r"no program of this machine\. For one of"),
        ('["./run.sh"]', '["/opt/x"]', "would not be seen in the sandbox"),
        ('["./run.sh"]', '["./algorithm.toml"]', r"may not be executed\. chmod \+x"),
        ("[run]", '[run]\nmodel = "none"', "'none' is no folder there"),
    ],
)
def test_what_cannot_be_run_is_told(tmp_path: Path, written: str, instead: str, told: str) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    file = folder / "algorithm.toml"
    file.write_text(file.read_text().replace(written, instead))
    with pytest.raises(InputError, match=told):
        read_algorithm(folder)


def test_a_manifest_of_marks_alone_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "algorithm.toml").write_text('name = "x"')
    with pytest.raises(InputError, match=r"has no table \[run\], which says what is started"):
        read_algorithm(tmp_path)


def test_a_folder_without_manifest_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no algorithm\.toml.*algorithm new"):
        read_algorithm(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="whoever is not root runs it as themselves")
def test_files_that_others_cannot_read_are_named(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    (folder / "key").write_text("1")
    (folder / "key").chmod(0o600)
    with pytest.raises(InputError, match=r"key: may not be read by others.*chmod -R o\+rX"):
        read_algorithm(folder)


def test_an_archive_by_itself_is_an_algorithm_of_its_layout(tmp_path: Path) -> None:
    archive = tmp_path / "my-cad.tar.gz"
    archive.write_bytes(b"1")
    found = read_archive(archive, "grand-challenge")
    assert (found.name, found.archive, found.mounts) == ("my-cad", archive, ())
    assert [(one.slug, one.path) for one in found.run.inputs] == [("chest-ct", "images/chest-ct")]
    assert read_archive(archive, "map").run.inputs == ()
    archive.write_bytes(b"2")
    assert read_archive(archive, "map").digest != found.digest
