"""A file is read whatever its name means to a shell: never another one that the name matches."""

import ast
from pathlib import Path

import pytest

import nodulebench
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.marks.luna16 import read_series
from nodulebench.io.table_files import read_cases

MARKS = "seriesuid,coordX,coordY,coordZ,probability\n"
NAMES = ("set[1]", "set?", "set*", "{set1,set2}")


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder whose name matches others beside it, which hold something else."""
    for name in ("set1", "set2"):
        (tmp_path / name).mkdir()
        for file in ("marks.csv", "seriesuids.csv", "annotations.csv", "cases.csv"):
            (tmp_path / name / file).write_text("wrong\nfile\n")
    paths = tmp_path / request.param
    paths.mkdir()
    (paths / "marks.csv").write_text(f"{MARKS}a,1,2,3,0.5\n")
    (paths / "seriesuids.csv").write_text("a\n")
    (paths / "annotations.csv").write_text(
        "seriesuid,coordX,coordY,coordZ,diameter_mm\na,1,2,3,5\n"
    )
    (paths / "cases.csv").write_text("case_id,patient_id\na,p\n")
    return paths


def test_the_file_of_that_very_name_is_read(folder: Path) -> None:
    rows = CsvFile(folder / "marks.csv").read_columns(text=("seriesuid",))
    assert rows["line"].to_list() == [2]
    assert list(read_series(folder / "seriesuids.csv")) == ["a"]
    assert read_cases(folder / "cases.csv")["case_id"].to_list() == ["a"]
    reference = read_reference(folder)
    assert reference.nodules["diameter_mm"].to_list() == [5.0]
    assert read_submission(folder / "marks.csv", reference.cases).marks["case_id"].to_list() == [
        "a"
    ]


def test_marks_that_cannot_be_read_at_once_are_read_from_their_own_file(folder: Path) -> None:
    path = folder / "marks.csv"
    path.write_text(f"{MARKS}a,1,2,3,0.5\nelsewhere,1,2,x,0.5\n")
    cases = read_cases(folder / "cases.csv")
    columns = CsvFile(path).read_columns(
        text=("seriesuid",), numbers=("coordX", "coordZ"), known_cases=cases["case_id"]
    )
    assert columns["seriesuid"].to_list() == ["a", "elsewhere"]


@pytest.mark.slow
def test_no_table_is_read_by_a_pattern() -> None:
    readers = {f"{how}_{what}" for how in ("read", "scan") for what in ("csv", "parquet")}
    calls = [
        (path.name, [ast.unparse(keyword) for keyword in node.keywords])
        for path in Path(nodulebench.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in readers
        and ast.unparse(node.func.value) == "pl"
    ]
    assert len(calls) >= 8
    assert [call for call in calls if "glob=False" not in call[1]] == []
