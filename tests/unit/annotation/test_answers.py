"""Open questions are exported as a table, and the answers are submitted as one event."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.annotation import small_cases
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.answers import export_tasks, import_answers, request_answers
from nodulebench.annotation.project import ProjectHandle, StartProjectOptions, start_project
from nodulebench.annotation.reviewer_draw import open_batch
from nodulebench.annotation.steps import finish_cases, submit_case
from nodulebench.annotation.tasks import unread_cases
from nodulebench.core.errors import InputError
from nodulebench.io.marks.nifdc import write_marks

PEOPLE = """
people = [
  { person_id = "office", roles = ["organiser"] },
  { person_id = "ann", years_reading = 6, roles = ["junior"] },
  { person_id = "bo", years_reading = 7, roles = ["junior"] },
  { person_id = "cy", years_reading = 8, roles = ["junior"] },
  { person_id = "dee", title = "deputy_chief", years_reading = 12, roles = ["leader"] },
  { person_id = "eve", title = "chief", years_reading = 20, roles = ["arbitrator"] },
  { person_id = "flo", years_reading = 9, roles = ["junior"] },
]
teams = [
  { team_id = "one", reader_ids = ["ann", "bo", "cy"] },
  { team_id = "two", reader_ids = ["flo"], leader_id = "dee" },
]
"""
SHARED, LONE = Slice(3, 50, 50, 8, 8), Slice(9, 20, 20, 6, 6)


def read_batch(folder: Path) -> ProjectHandle:
    """A batch of the case 'a' that three have read; all drew one finding, ann drew another too."""
    (folder / "people.toml").write_text(PEOPLE)
    small_cases("a", "b").write_csv(folder / "cases.csv")
    (folder / "drawn.csv").write_text("case_id\na\n")
    options = StartProjectOptions(
        folder=folder / "panel",
        roster=folder / "people.toml",
        cases=folder / "cases.csv",
        series=folder / "drawn.csv",
    )
    handle = start_project(options)
    assert unread_cases(handle) == ["a"]
    open_batch(handle, "office", "b1", "one", unread_cases(handle), reviewer_id="dee")
    assert unread_cases(handle) == []
    for name in ("ann", "bo", "cy"):
        boxes = [SHARED, LONE] if name == "ann" else [SHARED]
        drawn = case("a", *(mark(None, (box.x, box.y, box.index), box) for box in boxes))
        write_marks(submission(drawn), folder / f"{name}.csv")
        submit_case(handle, "b1", name, folder / f"{name}.csv")
    return handle


def fill(path: Path, asked: pl.DataFrame, **answers: list[Any]) -> Path:
    asked.with_columns(**{name: pl.Series(values) for name, values in answers.items()}).write_csv(
        path
    )
    return path


def test_a_batch_is_asked_and_answered_to_its_release(tmp_path: Path) -> None:
    handle, sheet = read_batch(tmp_path), tmp_path / "sheet.csv"
    asked = request_answers(handle, "b1", "ann")
    assert asked.select("case_id", "slices", "x_mm", "length_mm", "type").rows() == [
        ("a", "3", 50.0, 8.0, ""),
        ("a", "9", 20.0, 6.0, ""),
    ]
    assert request_answers(handle, "b1", "bo").height == 1  # only what the person drew
    event = import_answers(handle, "b1", "ann", fill(sheet, asked, type=["solid", "solid"]))
    assert handle.log.read()[-1].number == event.number
    assert handle.batch("b1").state == "review"
    assert request_answers(handle, "b1", "bo").height == 0

    asked = request_answers(handle, "b1", "dee")
    assert asked["why"].to_list() == ["", "the readers are not consistent"]
    import_answers(
        handle, "b1", "dee", fill(sheet, asked, agrees=["yes", "no"], comment=["", "a vessel"])
    )
    finish_cases(handle, "b1", "dee", handle.batch("b1").unfinished)
    for name in ("ann", "bo", "dee"):  # readers see no dispute before the release
        assert request_answers(handle, "b1", name).height == 0, name
    asked = request_answers(handle, "b1", "eve")
    assert asked["candidate_id"].to_list() == ["candidate-2"]
    import_answers(handle, "b1", "eve", fill(sheet, asked, is_nodule=["No"]))
    assert handle.batch("b1").open_disputes == []
    assert handle.batch("b1").nodules == [("a", "candidate-1")]


def test_rows_left_open_stay_open_and_wrong_ones_change_nothing(tmp_path: Path) -> None:
    handle, sheet = read_batch(tmp_path), tmp_path / "sheet.csv"
    asked = request_answers(handle, "b1", "ann")
    before = len(handle.log.read())
    with pytest.raises(InputError, match=r"answers nothing\. Fill in the column 'type'"):
        import_answers(handle, "b1", "ann", fill(sheet, asked, type=["", ""]))
    with pytest.raises(InputError, match="'hard'"):
        import_answers(handle, "b1", "ann", fill(sheet, asked, type=["solid", "hard"]))
    with pytest.raises(InputError, match=r"sheet\.csv line 2: 'maybe' in 'agrees' is neither"):
        import_answers(handle, "b1", "dee", fill(sheet, asked, agrees=["maybe", "yes"]))
    assert len(handle.log.read()) == before
    import_answers(handle, "b1", "ann", fill(sheet, asked, type=["solid", ""]))
    assert handle.batch("b1").untyped == [("a", "candidate-2")]


def test_answers_are_not_overwritten_by_questions(tmp_path: Path) -> None:
    handle, sheet = read_batch(tmp_path), tmp_path / "sheet.csv"
    assert export_tasks(handle, "b1", "ann", sheet) == 2
    with pytest.raises(InputError, match=r"sheet\.csv: already exists\. Submit it"):
        export_tasks(handle, "b1", "ann", sheet)
    assert export_tasks(handle, "b1", "eve", tmp_path / "none.csv") == 0
    assert not (tmp_path / "none.csv").exists()
