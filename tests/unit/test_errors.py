"""Problems are told one by one or all at once."""

import pytest

from nodulebench.errors import InputError, Problem, adding_to, refuse_any

ONE, TWO = Problem("a.csv line 2", "is odd.", "Mend it."), Problem("a.csv line 3", "is empty.")


def test_an_error_at_one_place_holds_that_problem() -> None:
    error = InputError.at("a.csv line 2", "is odd.", "Mend it.")
    assert error.problems == (ONE,)
    assert str(error) == "a.csv line 2: is odd. Mend it."


def test_every_problem_found_is_told() -> None:
    with pytest.raises(InputError) as told:
        refuse_any(one for one in (ONE, TWO))
    assert told.value.problems == (ONE, TWO)


def test_where_no_problem_was_found_nothing_is_refused() -> None:
    refuse_any([])


def test_what_is_refused_within_is_added_to_the_problems() -> None:
    problems = [ONE]
    with adding_to(problems):
        raise InputError(TWO)
    assert problems == [ONE, TWO]


def test_an_error_of_another_kind_is_not_taken_for_a_problem() -> None:
    problems: list[Problem] = []
    with pytest.raises(KeyError), adding_to(problems):
        raise KeyError("a")
    assert problems == []
