"""Columns of one's own: as they are named, or a guess for whoever has to name them."""

from pathlib import Path

import pytest

from nodulebench import read_submission
from nodulebench.core.errors import InputError
from nodulebench.io.marks.luna16 import guessed_columns, parse_columns


def test_pairs_are_taken_from_the_line_or_a_file(tmp_path: Path) -> None:
    wanted = {"case": "scan id", "x": "px", "y": "py", "z": "pz"}
    assert parse_columns("case=scan id, x=px,y=py,z=pz") == wanted
    file = tmp_path / "names.toml"
    file.write_text('case = "scan id"\nx = "px"\ny = "py"\nz = "pz"\n')
    assert parse_columns(str(file)) == wanted


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = ", "cannot be read as TOML"),
        ("x = 5", "'x=' is not a pair"),
        ('sore = "a"', "'sore' is not a column of marks. Did you mean 'score'?"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "names.toml"
    file.write_text(content)
    with pytest.raises(InputError) as caught:
        parse_columns(str(file))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("header", "guess"),
    [
        (["Patient", "X_mm", "Y_mm", "Z_mm", "Confidence"],
         "case=Patient,x=X_mm,y=Y_mm,z=Z_mm,score=Confidence"),
        (["seriesuid", "coordX", "coordY", "coordZ", "p", "diameter_mm"],
         "case=seriesuid,x=coordX,y=coordY,z=coordZ,score=p,diameter=diameter_mm"),
        (["a", "b"], "case=...,x=...,y=...,z=...,score=..."),
    ],
)  # fmt: skip
def test_a_guess_is_made_for_anyone_who_has_to_name_them(header: list[str], guess: str) -> None:
    assert guessed_columns(header) == guess


def test_marks_are_read_by_the_names_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("z;y;x;scan\n3,5;2;1;a\n")
    columns = {"case": "scan", "x": "x", "y": "y", "z": "z"}
    submission = read_submission(file, columns=columns)
    assert submission.marks.select("case_id", "x_mm", "y_mm", "z_mm", "score").rows() == [
        ("a", 1.0, 2.0, 3.5, None)
    ]
    assert [notice.code for notice in submission.notices] == ["columns_separated"]
