"""A folder that cannot be run says why before anything is started."""

import os
import re
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder
from nodulebench.core.errors import InputError
from nodulebench.io.manifests import file_digest, folder_digest
from nodulebench.runner.algorithms import MODEL, PLACE, read_algorithm, read_archive


def test_a_folder_is_an_algorithm_with_its_mounts(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine", run='model = "weights"')
    (folder / "weights").mkdir()
    algorithm = read_algorithm(folder)
    assert (algorithm.name, algorithm.run.resources.pids) == ("tested", 32)
    assert [(mount.target, mount.is_writable) for mount in algorithm.mounts] == [
        (PLACE, False),
        (MODEL, False),
    ]


def test_any_changed_file_is_another_algorithm(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    before = read_algorithm(folder).digest
    (folder / "weights").write_text("1")
    assert read_algorithm(folder).digest != before


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('["./run.sh"]', '["./other.sh"]', r"'\./other\.sh' does not exist"),
        ('["./run.sh"]', '["no-such-program"]', r"not a program on this machine\. For a program"),
        ('["./run.sh"]', '["/opt/x"]', "is not visible in the sandbox"),
        ('["./run.sh"]', '["./algorithm.toml"]', r"may not be executed\. chmod \+x"),
        ("[run]", '[run]\nmodel = "none"', r"'none' is not a folder of the algorithm\. Name the"),
    ],
)
def test_what_cannot_be_run_is_reported(
    tmp_path: Path, written: str, instead: str, message: str
) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    file = folder / "algorithm.toml"
    file.write_text(file.read_text().replace(written, instead))
    with pytest.raises(InputError, match=message):
        read_algorithm(folder)


def test_a_manifest_with_only_marks_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "algorithm.toml").write_text('name = "x"')
    with pytest.raises(InputError, match=r"has no table \[run\] with the command to start"):
        read_algorithm(tmp_path)


def test_a_folder_without_manifest_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no algorithm\.toml.*algorithm new"):
        read_algorithm(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="other users than root run it as themselves")
def test_files_that_others_cannot_read_are_named(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    (folder / "key").write_text("1")
    (folder / "key").chmod(0o600)
    with pytest.raises(InputError, match=r"key: is not readable by others.*chmod -R o\+rX"):
        read_algorithm(folder)


def test_an_archive_by_itself_is_an_algorithm_of_its_layout(tmp_path: Path) -> None:
    archive = tmp_path / "my-cad.tar.gz"
    archive.write_bytes(b"1")
    algorithm = read_archive(archive, "grand-challenge")
    assert (algorithm.name, algorithm.archive, algorithm.mounts) == (
        "my-cad",
        archive,
        (),
    )
    assert [(input_.slug, input_.path) for input_ in algorithm.run.inputs] == [
        ("chest-ct", "images/chest-ct")
    ]
    assert read_archive(archive, "map").run.inputs == ()
    archive.write_bytes(b"2")
    assert read_archive(archive, "map").digest != algorithm.digest


def with_model(tmp_path: Path) -> Path:
    """An algorithm with a model, next to a folder that it must not reach."""
    secret = tmp_path / "secret"
    (secret / "deep").mkdir(parents=True)
    (secret / "reference.csv").write_text("the answers")
    folder = algorithm_folder(tmp_path / "mine", run='model = "w/model"')
    (folder / "w" / "model" / "part").mkdir(parents=True)
    (folder / "w" / "model" / "file").write_text("weights")
    (folder / "lib").mkdir()
    return folder


def link(*links: tuple[str, str]) -> Callable[[Path], None]:
    """Put links in the places of files and folders, which are moved."""

    def change(folder: Path) -> None:
        for name, target in links:
            if (folder / name).exists():
                (folder / name).rename(folder / "moved")
            (folder / name).symlink_to(target)

    return change


def make_socket(folder: Path) -> None:
    before = Path.cwd()
    os.chdir(folder)  # its path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("lib/socket")
    finally:
        os.chdir(before)


IS_LINK, LEAVES = "is a link", r"is a link to '.*', which leaves the folder"
LINKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "the model": (link(("w/model", "../../secret")), LEAVES),
    "the model, absolute": (link(("w/model", "/etc")), LEAVES),
    "the model, inside": (link(("w/model", "../lib")), IS_LINK),
    "the model, above": (link(("w/model", "..")), IS_LINK),
    "the model, itself": (link(("w/model", "model")), IS_LINK),
    "the model, dangling": (link(("w/model", "../nowhere")), IS_LINK),
    "the model, dangling outside": (link(("w/model", "../../nowhere")), LEAVES),
    "a folder above the model": (link(("w", "../secret")), LEAVES),
    "a folder above the model, inside": (link(("w", "moved")), IS_LINK),
    "a chain": (link(("w/model", "../one"), ("one", "two"), ("two", "lib")), IS_LINK),
    "a chain that leaves": (
        link(("lib/a", "../one"), ("one", "two"), ("two", "../secret")),
        LEAVES,
    ),
    "through another link": (link(("w/model/up", "../.."), ("w/model/a", "up/../secret")), LEAVES),
    "a file of the model": (link(("w/model/file", "../../../secret/reference.csv")), LEAVES),
    "a deep folder": (link(("w/model/part/all", "../../../../secret")), LEAVES),
    "a dangling link in it": (link(("w/model/part/x", "../../../../nowhere")), LEAVES),
    "an absolute link into itself": (link(("lib/x", "/opt/algorithm/run.sh")), LEAVES),
    "the folder above": (link(("lib/x", "../..")), LEAVES),
    "over the folder above": (link(("lib/x", "../../mine/run.sh")), LEAVES),
    "the program": (link(("run.sh", "/bin/sh")), LEAVES),
    "the program, inside": (link(("run.sh", "moved")), IS_LINK),
    "the manifest": (link(("algorithm.toml", "../secret/reference.csv")), IS_LINK),
    "the manifest, inside": (link(("algorithm.toml", "moved")), IS_LINK),
    "a pipe": (lambda folder: os.mkfifo(folder / "lib" / "pipe"), "is a pipe"),
    "a pipe as the program": (
        lambda folder: [(folder / "run.sh").unlink(), os.mkfifo(folder / "run.sh")],
        "is a pipe",
    ),
    "a socket": (make_socket, "is a socket"),
    "a line end in a name": (
        lambda folder: (folder / "lib" / "a sha256:0\nb").write_text(""),
        "has a line break in its name",
    ),
}


def test_no_link_of_an_algorithm_is_followed(tmp_path: Path) -> None:
    wrong = []
    for number, (name, (change, message)) in enumerate(LINKS.items()):
        folder = with_model(tmp_path / str(number))
        read_algorithm(folder)
        change(folder)
        try:
            read_algorithm(folder)
            wrong.append(f"{name}: accepted")
        except InputError as error:
            if not all(
                re.search(f": .*{message}.*\\. [A-Z]", line) for line in str(error).split("\n")
            ):
                wrong.append(f"{name}: {error}")
    assert wrong == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_a_device_in_an_algorithm_is_refused(tmp_path: Path, kind: int) -> None:
    folder = with_model(tmp_path)
    try:
        os.mknod(folder / "lib" / "null", kind | 0o666, os.makedev(1, 3))
    except OSError as error:
        pytest.skip(f"no devices can be made here: {error}")
    with pytest.raises(InputError, match="is a device"):
        read_algorithm(folder)


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('["./run.sh"]', '["./lib/../run.sh"]', r"'\./lib/\.\./run\.sh' must not have '\.\.'"),
        ('["./run.sh"]', '["../mine/run.sh"]', r"must not have '\.\.'"),
        ('["./run.sh"]', '["/usr/../etc/x"]', r"must not have '\.\.'"),
        ('["./run.sh"]', '["./run.sh", "a\\u0000b"]', "null character"),
        ('["./run.sh"]', '["./run.sh\\u0000"]', "null character"),
        ('"w/model"', '"w/../../secret"', "does not lie within the folder"),
        ('"w/model"', '"/etc"', "does not lie within the folder"),
        ('"w/model"', '"."', "does not lie within the folder"),
        ('"w/model"', '"w/model/file"', "is not a folder of the algorithm"),
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(
    tmp_path: Path, written: str, instead: str, message: str
) -> None:
    folder = with_model(tmp_path)
    file = folder / "algorithm.toml"
    file.write_text(file.read_text().replace(written, instead))
    with pytest.raises(InputError, match=message):
        read_algorithm(folder)


def test_an_algorithm_or_archive_that_is_itself_a_link_is_refused(tmp_path: Path) -> None:
    folder = with_model(tmp_path)
    (tmp_path / "current").symlink_to(folder)
    with pytest.raises(InputError, match=r"current: is a link\. Give the path of its target"):
        read_algorithm(tmp_path / "current")
    (tmp_path / "image.tar").write_bytes(b"1")
    (tmp_path / "latest.tar").symlink_to("image.tar")
    with pytest.raises(InputError, match=r"latest\.tar: is a link\. Give the path of its target"):
        read_archive(tmp_path / "latest.tar", "map")
    (tmp_path / "above").symlink_to(tmp_path)  # folders above are the operator's own
    assert read_algorithm(tmp_path / "above" / "mine").mounts[0].source == folder
    assert read_archive(tmp_path / "above" / "image.tar", "map").archive == tmp_path / "image.tar"


@pytest.mark.parametrize("target", ["other.tar", "../secret/reference.csv", "/etc/passwd"])
def test_an_image_that_is_a_link_is_refused(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "algorithm.toml").write_text('name = "x"\n[run]\nimage = "image.tar"\n')
    (folder / "other.tar").write_bytes(b"1")
    (folder / "image.tar").symlink_to(target)
    with pytest.raises(InputError, match="is a link"):
        read_algorithm(folder)


def test_links_that_stay_in_the_folder_are_part_of_the_digest(tmp_path: Path) -> None:
    folder = with_model(tmp_path)
    digests = [read_algorithm(folder).digest]
    assert digests[0] == file_digest(folder)  # without links the same as ever
    for target in ("libx.so.1", "libx.so.2", "../lib/libx.so.1", "../w/model", "."):
        (folder / "lib" / "libx.so").unlink(missing_ok=True)
        (folder / "lib" / "libx.so").symlink_to(target)
        digests.append(read_algorithm(folder).digest)
    (folder / "lib" / "libx.so.2").write_text("content")
    (folder / "lib" / "libx.so").unlink()
    (folder / "lib" / "libx.so").write_text("content")
    digests.append(read_algorithm(folder).digest)
    assert len(set(digests)) == len(digests)


def test_the_digest_of_a_folder_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("1")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").symlink_to("../outside/file")
    (tmp_path / "in" / "folder").symlink_to("../outside")
    before = folder_digest(tmp_path / "in")
    (tmp_path / "outside" / "file").write_text("2")
    (tmp_path / "outside" / "other").write_text("2")
    assert folder_digest(tmp_path / "in") == before
