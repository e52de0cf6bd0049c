"""Problems are told one by one or all at once."""

import pickle
from pathlib import Path

import pytest

from nodulebench.core.errors import (
    InputError,
    Problem,
    collect_problems,
    first_line,
    folded_problems,
    map_collecting_problems,
    raise_problems,
)

ONE, TWO = Problem("a.csv line 2", "is odd.", "Mend it."), Problem("a.csv line 3", "is empty.")


def test_an_error_at_one_place_holds_that_problem() -> None:
    error = InputError.at("a.csv line 2", "is odd.", "Mend it.")
    assert error.problems == (ONE,)
    assert str(error) == "a.csv line 2: is odd. Mend it."


def test_every_problem_found_is_reported() -> None:
    with pytest.raises(InputError) as caught:
        raise_problems(one for one in (ONE, TWO))
    assert caught.value.problems == (ONE, TWO)


def test_an_error_of_another_process_comes_with_every_problem() -> None:
    error = pickle.loads(pickle.dumps(InputError([ONE, TWO])))  # noqa: S301 - our own
    assert error.problems == (ONE, TWO)
    assert str(error) == f"{ONE}\n{TWO}"


def test_where_no_problem_was_found_nothing_is_refused() -> None:
    raise_problems([])


def test_what_is_refused_within_is_added_to_the_problems() -> None:
    problems = [ONE]
    with collect_problems(problems):
        raise InputError(TWO)
    assert problems == [ONE, TWO]


def test_an_error_of_another_kind_is_not_taken_for_a_problem() -> None:
    problems: list[Problem] = []
    with pytest.raises(KeyError), collect_problems(problems):
        raise KeyError("a")
    assert problems == []


def test_what_is_made_of_each_item_is_refused_with_the_problems_of_all() -> None:
    assert map_collecting_problems("12", int) == [1, 2]

    def whole(text: str) -> int:
        if not text.isdigit():
            raise InputError.at(Path(text), "is no number.")
        return int(text)

    with pytest.raises(InputError) as caught:
        map_collecting_problems("1a2b", whole)
    assert [problem.where for problem in caught.value.problems] == ["a", "b"]


def test_an_error_of_another_package_is_reported_in_its_first_line() -> None:
    assert first_line(ValueError(" wrong\nand more")) == "wrong"
    assert first_line(ValueError()) == "ValueError"


def test_rows_with_the_same_problem_become_one_line() -> None:
    rows = [Problem(f"a.csv line {n}", f"score '{n % 2}' is odd.", "Fix it.") for n in range(2, 14)]
    other = Problem("a.csv line 5", "case is empty.")
    assert str(InputError([*rows, other])).splitlines() == [
        "a.csv lines 2, 3, 4, 5, 6, 7, 8, 9, ...: 12 rows: score '0', '1' is odd. Fix it.",
        "a.csv line 5: case is empty.",
    ]
    assert folded_problems(rows[:2]) == rows[:2]
    two_values = [Problem(f"a row {n}", f"case '{n}', mark '{n}' is bad.") for n in range(3)]
    assert folded_problems(two_values) == two_values
    assert InputError(rows).problems == tuple(rows)
