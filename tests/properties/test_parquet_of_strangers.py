"""A damaged Parquet file of a stranger ends no process: it is refused before it is read."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.damaged_parquet import PLACES, good_parquet, sent_folders, write_files
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_submission
from nodulebench.io.table_files import require_no_parquet

TESTS = Path(__file__).parents[1]
REFUSED = "is a Parquet file, which is not accepted here"


def attacked(place: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a process ends with, and says, to which the damaged file is sent."""
    command = [sys.executable, "-m", "builders.damaged_parquet", place, str(folder)]
    return subprocess.run(
        command, cwd=TESTS, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_the_file_ends_the_process_that_reads_it(tmp_path: Path) -> None:
    """If polars survives it one day, find another file, or accept Parquet again."""
    done = attacked("polars", tmp_path)
    assert done.returncode != 0
    assert "memory allocation" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("place", [name for name in PLACES if name != "polars"])
def test_every_place_that_strangers_reach_refuses_it_and_goes_on(
    place: str, tmp_path: Path
) -> None:
    done = attacked(place, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.split("\n\0")[1:]
    assert len(answers) >= len(sent_folders())
    for answer in answers:
        assert REFUSED in answer
        assert "Use CSV with the same columns" in answer
        assert str(tmp_path) not in answer


@pytest.mark.parametrize("way", sent_folders())
def test_it_is_known_by_its_name_and_by_its_content(way: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=REFUSED) as error:
        require_no_parquet(write_files(tmp_path, sent_folders()[way]))
    (problem,) = error.value.problems
    assert problem.where in sent_folders()[way]


def test_other_files_are_not_refused(tmp_path: Path) -> None:
    files = {"marks.csv": b"PAR", "empty.csv": b"", "a/notes.txt": b"marks.parquet PAR1 was here"}
    require_no_parquet(write_files(tmp_path / "sent", files))
    require_no_parquet(tmp_path / "absent")


def test_files_of_ones_own_are_read_as_before(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "mine", {"marks.parquet": good_parquet()})
    assert read_submission(folder).marks.height == 3
