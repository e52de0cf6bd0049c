"""The table of wrong inputs is what the command line says of each, file by file."""

from pathlib import Path

import pytest
import wrong_inputs
from wrong_inputs import PAGE, WRONG, WrongInput, row, rows_of, run

ROWS = rows_of(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: WRONG[number].what)
def test_a_wrong_input_gets_the_message_that_the_page_shows(number: int, tmp_path: Path) -> None:
    status, lines = run(WRONG[number], tmp_path)
    assert lines, "no message"
    assert ROWS[number] == row(WRONG[number], lines), "run python docs/draw/wrong_inputs.py"
    is_error = lines[0].startswith("error: ")
    assert status == int(is_error)
    assert is_error or all(line.startswith("warning: ") for line in lines)


def test_the_table_has_a_row_for_each_and_no_other() -> None:
    assert len(WRONG) >= 20
    assert len(ROWS) == len(WRONG)
    assert len({wrong.what for wrong in WRONG}) == len(WRONG)


def test_the_right_file_gets_no_message(tmp_path: Path) -> None:
    right = WrongInput("nothing", {"mine.csv": wrong_inputs.GOOD}, wrong_inputs.WITH_CASES)
    assert run(right, tmp_path) == (0, [])
