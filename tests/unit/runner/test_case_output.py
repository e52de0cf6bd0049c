"""Marks in any format become those of the one case; free words do not come along."""

import json
from pathlib import Path

import pytest

from builders.algorithms import small_volume
from nodulebench.core.algorithm import RunContract, RunOutput
from nodulebench.io.untrusted_files import OutputRejectedError
from nodulebench.runner import case_output as taken_marks
from nodulebench.runner.case_output import TakenMarks, read_output

PLAIN = RunContract(command=("x",))
POINT = {"name": "secret", "point": [1, 2, 3], "probability": 0.25}
POINTS = {"type": "Multiple points", "points": [POINT], "version": {"major": 1, "minor": 0}}


def read(folder: Path, run: RunContract = PLAIN) -> TakenMarks:
    return read_output(folder, small_volume(), "case-1", None, run)


def refused(folder: Path, run: RunContract = PLAIN) -> str:
    with pytest.raises(OutputRejectedError) as error:
        read(folder, run)
    return error.value.why.code


def luna(folder: Path, *rows: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "found.csv").write_text(
        "\n".join(("seriesuid,coordX,coordY,coordZ,probability", *rows))
    )
    return folder


def test_rows_of_luna16_are_marks_of_the_case(tmp_path: Path) -> None:
    taken = read(luna(tmp_path, "case-1,1,2,3,0.5", "case-1,4,5,6,0.25"))
    assert taken.marks.select("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "score").rows() == [
        ("case-1", "1", 1.0, 2.0, 3.0, 0.5),
        ("case-1", "2", 4.0, 5.0, 6.0, 0.25),
    ]
    assert taken.notices == ()


def test_any_name_of_the_only_case(tmp_path: Path) -> None:
    assert read(luna(tmp_path, "mine,1,2,3,0.5")).marks["case_id"].to_list() == ["case-1"]


def test_two_cases_are_refused(tmp_path: Path) -> None:
    assert refused(luna(tmp_path, "case-1,1,2,3,0.5", "other,1,2,3,0.5")) == "output_several_cases"


@pytest.mark.parametrize("row", ["case-1,nan,2,3,0.5", "case-1,1,2,3,inf", "case-1,1,2,here,0.5"])
def test_an_invalid_number_is_refused(tmp_path: Path, row: str) -> None:
    assert refused(luna(tmp_path, row)) == "output_no_marks"


def test_a_list_without_marks_is_a_result(tmp_path: Path) -> None:
    assert read(luna(tmp_path)).marks.height == 0


def test_points_of_grand_challenge_are_read_under_their_own_name(tmp_path: Path) -> None:
    (tmp_path / "nodule-locations.json").write_text(json.dumps(POINTS))
    (tmp_path / "other.json").write_text("{}")
    outputs = (RunOutput(path="nodule-locations.json", adapter="gc-points"),)
    run = RunContract(command=("x",), outputs=outputs)
    row = read(tmp_path, run).marks.select("mark_id", "x_mm", "score").row(0)
    assert row == ("1", 1.0, 0.25)
    missing = (RunOutput(path="none.json", adapter="gc-points"),)
    assert refused(tmp_path, RunContract(command=("x",), outputs=missing)) == "output_lacks"


def test_boxes_of_grand_challenge_get_the_geometry_of_the_case(tmp_path: Path) -> None:
    corners = [[1, 1, 3], [5, 1, 3], [5, 4, 3], [1, 4, 3]]
    box = {"corners": corners, "probability": 0.5}
    document = {"type": "Multiple 2D bounding boxes", "boxes": [box]}
    (tmp_path / "boxes.json").write_text(json.dumps(document))
    outputs = (RunOutput(path="boxes.json", adapter="gc-2d-boxes"),)
    taken = read(tmp_path, RunContract(command=("x",), outputs=outputs))
    assert taken.slices.select("mark_id", "slice_index", "length_mm", "width_mm").rows() == [
        ("1", 3, 4.0, 3.0)
    ]


def test_names_and_words_of_the_algorithm_stay_behind(tmp_path: Path) -> None:
    (tmp_path / "marks.csv").write_text(
        "case_id,mark_id,x_mm,y_mm,z_mm,score,category\n"
        "case-1,pixels:1234,1,2,3,0.5,4A\ncase-1,pixels:5678,1,2,4,0.5,also pixels\n"
    )
    (tmp_path / "mark_slices.csv").write_text(
        "case_id,mark_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
        "case-1,pixels:5678,4,4,1,2,3,3\n"
    )
    taken = read(tmp_path)
    assert taken.marks.select("mark_id", "category").rows() == [("1", "4A"), ("2", None)]
    assert taken.slices["mark_id"].to_list() == ["2"]


@pytest.mark.parametrize(
    ("state", "is_doubtful"), [("ok", False), ("lungs_implausible", True), ("timed_out", False)]
)
def test_an_algorithm_may_doubt_the_lungs_that_it_found(
    tmp_path: Path, state: str, is_doubtful: bool
) -> None:
    (tmp_path / "marks.csv").write_text(
        "case_id,mark_id,x_mm,y_mm,z_mm,score\ncase-1,1,1,2,3,0.5\n"
    )
    (tmp_path / "runs.csv").write_text(f"case_id,state\ncase-1,{state}\n")
    taken = read(tmp_path)
    assert taken.marks.height == 1
    assert taken.is_doubtful == is_doubtful


def test_marks_outside_count_and_are_reported(tmp_path: Path) -> None:
    taken = read(luna(tmp_path, "case-1,1,2,3,0.5", "case-1,99,2,3,0.5"))
    assert taken.marks.height == 2
    assert [(notice.code, notice.values) for notice in taken.notices] == [
        ("run_marks_outside", {"outside": 1, "marks": 2})
    ]


def test_of_too_many_marks_the_highest_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken_marks, "MOST_MARKS", 2)
    rows = [f"case-1,{x},2,3,{score}" for x, score in ((1, 0.1), (2, 0.9), (3, 0.5))]
    taken = read(luna(tmp_path, *rows))
    assert taken.marks["x_mm"].to_list() == [2.0, 3.0]
    assert taken.notices[0].code == "run_marks_over"


def test_a_reader_that_breaks_down_is_the_output_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(taken_marks, "fitting", broken)
    (tmp_path / "second.csv").touch()
    assert refused(luna(tmp_path)) == "output_no_marks"
