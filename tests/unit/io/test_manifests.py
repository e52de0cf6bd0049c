import hashlib
import json
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.io.atomic import staged_folder
from nodulebench.io.manifests import (
    MANIFEST,
    SIGNATURE,
    Manifest,
    Signed,
    listed_files,
    manifest_problems,
    read_manifest,
    record_files,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files, one of them deeper, and its manifest."""
    (tmp_path / "inputs").mkdir()
    (tmp_path / "a.json").write_bytes(b"abc")
    (tmp_path / "inputs" / "b.parquet").write_bytes(b"")
    write_manifest(tmp_path)
    return tmp_path


def messages_of(folder: Path) -> list[str]:
    return [str(problem).removeprefix(f"{folder}/") for problem in manifest_problems(folder)]


def test_it_lists_every_file_with_its_sha_256(folder: Path) -> None:
    # the two digests are the published examples of FIPS 180-2 for "abc" and for nothing
    assert json.loads((folder / MANIFEST).read_text()) == {
        "schema": "nodulebench/manifest@1",
        "files": {
            "a.json": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "inputs/b.parquet": "sha256:"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        },
    }
    assert manifest_problems(folder) == []
    assert read_manifest(folder).files.keys() == {"a.json", "inputs/b.parquet"}


def test_a_changed_a_lost_and_an_added_file_are_named(folder: Path) -> None:
    (folder / "a.json").write_bytes(b"abd")
    (folder / "inputs" / "b.parquet").unlink()
    (folder / "inputs" / "c.txt").write_text("new")
    assert messages_of(folder) == [
        "a.json: was changed after the folder was written: it is not the file that manifest.json "
        "lists.",
        "inputs/b.parquet: is listed in manifest.json, but does not exist.",
        "inputs/c.txt: is not listed in manifest.json: it was added after the folder was written. "
        "Keep other files elsewhere.",
    ]


def test_a_link_that_was_added_is_named(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "inputs", target_is_directory=True)
    assert [line.partition(":")[0] for line in messages_of(folder)] == ["link"]


def test_any_changed_byte_of_the_manifest_itself_is_found(folder: Path) -> None:
    whole = (folder / MANIFEST).read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 0x20
        (folder / MANIFEST).write_bytes(content)
        assert messages_of(folder), place


def test_another_layout_of_the_same_content_is_not_a_manifest_of_ours(folder: Path) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(content))
    assert messages_of(folder) == [
        "manifest.json: was changed after the folder was written: NoduleBench did not write it "
        "like this."
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "manifest.json: has the schema 'None', not 'nodulebench/manifest@1'."),
        ('{"schema": "x"}', "manifest.json: has the schema 'x', not 'nodulebench/manifest@1'."),
        ('{"schema": "nodulebench/manifest@1"}', "manifest.json: was changed after the folder"),
        (
            '{"schema": "nodulebench/manifest@1", "files": {}, "signed": {"by": 1}}',
            "manifest.json: was changed after the folder",
        ),
    ],
)
def test_what_is_not_a_manifest_is_reported(folder: Path, content: str, message: str) -> None:
    (folder / MANIFEST).write_text(content)
    (line,) = messages_of(folder)
    assert line.startswith(message)


def test_a_folder_without_a_manifest_is_reported(tmp_path: Path) -> None:
    assert messages_of(tmp_path) == [
        "manifest.json: does not exist, so changed files cannot be detected."
    ]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b"])
def test_no_file_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / MANIFEST).write_bytes(Manifest({name: "sha256:0"}).to_bytes())
    assert messages_of(tmp_path) == [f"manifest.json: lists '{name}', which is outside the folder."]


def test_a_file_written_later_is_taken_in_and_ends_the_signature(folder: Path) -> None:
    signed = Manifest(read_manifest(folder).files, Signed("t", "lab", "sha256:1", "00"))
    (folder / MANIFEST).write_bytes(signed.to_bytes())
    (folder / SIGNATURE).write_bytes(b"x" * 64)
    with staged_folder(folder) as stage:
        (stage / "report.pdf").write_bytes(b"pdf")
        assert record_files(folder, stage) == ["report.pdf"]
    assert manifest_problems(folder) == []
    manifest = read_manifest(folder)
    assert manifest.signed is None
    assert manifest.files["report.pdf"] == "sha256:" + hashlib.sha256(b"pdf").hexdigest()
    assert not (folder / SIGNATURE).exists()


def test_what_was_changed_before_stays_reported_when_another_file_is_taken_in(folder: Path) -> None:
    (folder / "a.json").write_bytes(b"forged")
    with staged_folder(folder) as stage:
        (stage / "report.pdf").write_bytes(b"pdf")
        assert record_files(folder, stage) == ["report.pdf"]
    assert [line.partition(":")[0] for line in messages_of(folder)] == ["a.json"]


def test_a_folder_without_a_manifest_stays_without_one(tmp_path: Path) -> None:
    with staged_folder(tmp_path) as stage:
        (stage / "a").write_text("a")
        record_files(tmp_path, stage)
    assert not (tmp_path / MANIFEST).exists()


def test_reading_a_signed_manifest_gives_back_who_signed(tmp_path: Path) -> None:
    written = Manifest({"ä": "sha256:2"}, Signed("t", "Prüflabor", "sha256:1", "00"))
    (tmp_path / MANIFEST).write_bytes(written.to_bytes())
    assert read_manifest(tmp_path) == written


def test_a_missing_manifest_is_an_error_for_anyone_who_needs_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest\.json: does not exist"):
        read_manifest(tmp_path)


def test_listed_files_are_those_inside_the_folder(folder: Path, tmp_path: Path) -> None:
    assert listed_files(folder) == {"a.json", "inputs/b.parquet"}
    (folder / MANIFEST).write_bytes(Manifest({"../x": "sha256:0", "y": "sha256:0"}).to_bytes())
    assert listed_files(folder) == {"y"}
    assert listed_files(tmp_path / "none") == set()
