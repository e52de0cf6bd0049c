from pathlib import Path

import polars as pl
import pytest

from builders.tables import Slice, case, mark, submission
from nodulebench.core.errors import InputError
from nodulebench.core.tables import RUNS
from nodulebench.io.marks.submission_folder import read_marks, write_marks

TOML = (
    'name = "Finder"\nversion = "1.2"\nkind = "2-D"\nintended_types = ["solid"]\nthreshold = 0.5\n'
)


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


SLICES = "case_id,mark_id,slice_index,center_x_mm,center_y_mm,length_mm,width_mm\n"
MARKS = "case_id,mark_id,x_mm,y_mm,z_mm,score\na,1,0,0,0,0.5\na,2,5,5,5,\n"


def test_our_own_table_may_be_a_csv_file(tmp_path: Path) -> None:
    marks = read_marks(folder(tmp_path / "mine.v2", marks__csv=MARKS))
    assert marks.name == "mine.v2"
    assert marks.marks.select("mark_id", "x_mm", "score").rows() == [
        ("1", 0.0, 0.5),
        ("2", 5.0, None),
    ]
    assert (marks.slices, marks.runs, marks.intended_types) == (None, None, None)


def test_marks_may_be_in_another_format(tmp_path: Path) -> None:
    luna16 = "seriesuid,coordX,coordY,coordZ,probability\na,1,2,3,0.5\n"
    marks = read_marks(folder(tmp_path / "mine", marks__csv=luna16))
    assert (marks.name, marks.marks["x_mm"].to_list()) == ("mine", [1.0])


def test_slices_runs_and_declarations_are_read(tmp_path: Path) -> None:
    marks = read_marks(
        folder(
            tmp_path / "mine",
            marks__csv=MARKS,
            mark_slices__csv=SLICES + "a,1,7,0,0,4,4\n",
            runs__csv="case_id,state,seconds\na,ok,12.5\nb,timed_out,\n",
            algorithm__toml=TOML,
        )
    )
    assert marks.name == "Finder"
    assert marks.intended_types == ("solid",)
    assert marks.facts == {"version": "1.2", "kind": "2-D", "threshold": "0.5"}
    assert marks.slices is not None
    assert marks.slices["slice_index"].to_list() == [7]
    assert marks.runs is not None
    assert marks.runs.select("case_id", "state", "seconds").rows() == [
        ("a", "ok", 12.5),
        ("b", "timed_out", None),
    ]


def test_everything_comes_back(tmp_path: Path) -> None:
    given = read_marks(folder(tmp_path / "one", marks__csv=MARKS, algorithm__toml=TOML))
    runs = RUNS.conform(pl.DataFrame({"case_id": ["a"], "state": ["ok"]}), "runs")
    boxed = submission(case("a", mark(0.5, (0, 0, 0), Slice(3, 0, 0, 4, 4))))
    for before in (given, boxed):
        full = type(before)(
            before.name,
            before.marks,
            before.slices,
            runs,
            intended_types=before.intended_types,
            facts=before.facts,
        )
        target = tmp_path / f"two-{before.name}"
        write_marks(full, target)
        after = read_marks(target)
        assert after.marks.equals(full.marks)
        assert (after.slices is None) == (full.slices is None)
        assert after.runs is not None
        assert after.runs.equals(runs)
        assert (after.name, after.intended_types, after.facts) == (
            full.name,
            full.intended_types,
            full.facts,
        )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"marks__csv": MARKS, "marks__json": "[]"}, r"holds marks\.csv and marks\.json\. Leave"),
        ({"other__csv": MARKS}, r"holds none of marks\.parquet, marks\.csv, marks\.csv\.gz"),
        ({"marks__parquet": "PAR1 not really"}, r"marks\.parquet: is not a readable Parquet file"),
        (
            {"marks__csv": MARKS.replace("a,2,5", "a,1,left")},
            r"marks\.csv line 3: x_mm 'left' is not a number\.\n"
            r"marks\.csv line 3: case_id 'a', mark_id '1' was given before",
        ),
        (
            {"marks__csv": MARKS, "runs__csv": "case_id,state\na,crashed\n"},
            r"runs\.csv line 2: state 'crashed' is not one of: ok, failed, timed_out",
        ),
        (
            {"marks__csv": MARKS, "algorithm__toml": "name = 1"},
            r"algorithm\.toml field 'name': .*string",
        ),
        ({"marks__csv": MARKS, "algorithm__toml": "name ="}, r"algorithm\.toml: is not valid TOML"),
        (
            {
                "marks__csv": MARKS,
                "mark_slices__csv": SLICES + "a,9,7,0,0,4,4\n",
            },
            r"mark_slices\.csv: has slices of mark '9' in case 'a', which has no such mark\.",
        ),
    ],
)
def test_a_wrong_folder_is_reported(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_marks(folder(tmp_path / "mine", **files))


def test_tables_of_an_older_submission_do_not_stay(tmp_path: Path) -> None:
    old = folder(tmp_path / "mine", marks__csv=MARKS, mark_slices__csv=SLICES, log__txt="kept")
    write_marks(submission(case("b", mark(0.5))), old)
    assert sorted(file.name for file in old.iterdir()) == [
        "algorithm.toml",
        "log.txt",
        "marks.csv",
    ]
    assert read_marks(old).marks["case_id"].to_list() == ["b"]
