"""What a hostile program leaves behind is not followed, waited for, or read beyond its cap."""

import os
import socket
from pathlib import Path

import pytest

from nodulebench.io.untrusted_files import DEEPEST, MOST_FILES, OutputRejectedError, collect


def refused(output: Path, taken: Path, most: int = 1000) -> str:
    with pytest.raises(OutputRejectedError) as error:
        collect(output, taken, most)
    return error.value.why.code


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("output", "taken"):
        (tmp_path / name).mkdir()
    return tmp_path / "output", tmp_path / "taken"


def test_plain_files_and_folders_are_copied(places: tuple[Path, Path]) -> None:
    output, taken = places
    (output / "below").mkdir()
    (output / "marks.csv").write_text("a")
    (output / "below" / "more.csv").write_text("b")
    assert collect(output, taken, 2) == 2
    assert (taken / "marks.csv").read_text() == "a"
    assert (taken / "below" / "more.csv").read_text() == "b"


def test_nothing_is_not_a_file(places: tuple[Path, Path]) -> None:
    (places[0] / "empty").mkdir()
    assert collect(*places, 1) == 0


def test_a_link_is_not_followed(places: tuple[Path, Path]) -> None:
    (places[0] / "marks.csv").symlink_to("/etc/passwd")
    assert refused(*places) == "output_no_file"


def test_a_link_to_a_folder_is_not_followed(places: tuple[Path, Path]) -> None:
    (places[0] / "all").symlink_to("/etc")
    assert refused(*places) == "output_no_file"


def test_a_pipe_is_not_waited_for(places: tuple[Path, Path]) -> None:
    os.mkfifo(places[0] / "marks.csv")
    assert refused(*places) == "output_no_file"


def test_a_socket_is_not_taken(places: tuple[Path, Path]) -> None:
    with socket.socket(socket.AF_UNIX) as socket_:
        socket_.bind(str(places[0] / "s"))
        assert refused(*places) == "output_no_file"


def test_more_than_agreed_is_refused_together_or_in_one_file(places: tuple[Path, Path]) -> None:
    output, taken = places
    (output / "a").write_bytes(b"x" * 600)
    assert collect(output, taken, 600) == 1
    (taken / "a").unlink()
    (output / "b").write_bytes(b"x" * 600)
    assert refused(output, taken, 1199) == "output_large"


def test_a_file_that_says_it_is_huge_is_not_read(places: tuple[Path, Path]) -> None:
    with (places[0] / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert refused(*places) == "output_large"


def test_a_deep_tree_is_refused(places: tuple[Path, Path]) -> None:
    (places[0] / "/".join("d" * DEEPEST)).mkdir(parents=True)
    assert refused(*places) == "output_deep"


def test_too_many_files_are_refused(places: tuple[Path, Path]) -> None:
    for number in range(MOST_FILES + 1):
        (places[0] / str(number)).touch()
    assert refused(*places) == "output_many_files"


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\x1b[2J"])
def test_a_name_that_would_harm_anyone_who_reads_it_is_refused(
    places: tuple[Path, Path], name: str
) -> None:
    (places[0] / name).touch()
    assert refused(*places) == "output_odd_name"
