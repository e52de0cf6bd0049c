"""Evaluations are counted from the log: by developer, each submission and protocol once."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.custody.adaptive_reuse import Answers
from nodulebench.custody.budget import (
    ChargedEvaluation,
    SpentError,
    admit,
    answers_of,
    before,
    evaluations_of,
    failures_of,
    had_verdict,
    has_passed,
    uses,
)
from nodulebench.custody.developers import same_developer
from nodulebench.custody.events import Event, Step
from nodulebench.custody.policy import Reuse

TWO = Reuse(evaluations_per_developer=2)


def event(number: int, step: Step, developer: str, submission: str, **more: object) -> Event:
    facts = {"developer": developer, "submission": submission, "protocol": "p", **more}
    return Event(
        number=number,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person="Bo",
        role="operator",
        step=step,
        facts=facts,  # type: ignore[arg-type]
        previous="",
    )


def test_evaluations_are_counted_by_developer() -> None:
    log = [
        event(1, "evaluation_charged", "Example Ltd", "a"),
        event(2, "evaluation_charged", "EXAMPLE  ltd", "b"),
    ]
    assert [(use.developer, len(use.evaluations), use.left) for use in uses(log, TWO)] == [
        ("example ltd", 2, 0)
    ]
    with pytest.raises(SpentError, match="has used 2 of 2 evaluations on this test set"):
        admit(ChargedEvaluation("example ltd", "c", "p"), log, TWO)


def test_the_same_submission_again_is_not_charged_again() -> None:
    log = [
        event(1, "evaluation_charged", "x", "a"),
        event(2, "evaluation_charged", "x", "b"),
        event(3, "evaluation_charged", "x", "a"),
    ]
    assert len(evaluations_of(log)) == 2
    assert admit(ChargedEvaluation("x", "a", "p"), log, TWO) == 1
    assert admit(ChargedEvaluation("x", "b", "p"), log, TWO) == 2


def test_an_answered_evaluation_stays_charged() -> None:
    log = [
        event(1, "evaluation_charged", "x", "a"),  # was killed
        event(2, "evaluation_charged", "x", "a"),
        event(3, "evaluated", "x", "a", evaluation=2),
        *(event(4 + at, "failed", "x", "a", evaluation=at, counts=False) for at in (1, 2)),
        event(7, "failed", "x", "b"),
    ]
    assert len(evaluations_of(log)) == 1


def test_the_same_submission_under_another_protocol_is_a_further_evaluation() -> None:
    log = [event(1, "evaluation_charged", "x", "a")]
    assert admit(ChargedEvaluation("x", "a", "other"), log, TWO) == 2


def test_an_evaluation_counts_though_it_was_interrupted() -> None:
    assert len(evaluations_of([event(1, "evaluation_charged", "x", "a")])) == 1


def test_an_evaluation_that_failed_does_not_count() -> None:
    log = [event(1, "evaluation_charged", "x", "a"), event(2, "failed", "x", "a", evaluation=1)]
    assert evaluations_of(log) == ()


def test_a_failure_does_not_undo_the_earlier_evaluation_of_the_same_submission() -> None:
    log = [
        event(1, "evaluation_charged", "x", "a"),
        event(2, "evaluated", "x", "a", evaluation=1),
        event(3, "evaluation_charged", "x", "a"),
        event(4, "failed", "x", "a", evaluation=3),
    ]
    assert len(evaluations_of(log)) == 1


def test_the_set_itself_has_a_budget() -> None:
    log = [event(1, "evaluation_charged", "x", "a"), event(2, "evaluation_charged", "y", "b")]
    with pytest.raises(SpentError, match="has been evaluated 2 times, which is all"):
        admit(
            ChargedEvaluation("z", "c", "p"),
            log,
            Reuse(evaluations_per_developer=9, evaluations_in_total=2),
        )


def test_a_developer_who_passed_and_comes_again_no_longer_stops_when_passed() -> None:
    verdict, first = Reuse(feedback="verdict"), event(1, "evaluation_charged", "X", "a")
    three = Answers(3, stops_when_passed=True)  # passed, failed, undecided
    log = [first, event(2, "evaluated", "X", "a", evaluation=1, verdict="passed")]
    assert has_passed("x", log)
    assert not has_passed("y", log)
    assert answers_of(verdict) == answers_of(verdict, "y", log) == three
    assert answers_of(verdict, "x", log) == Answers(3, stops_when_passed=False)
    for answer in ("failed", "undecided"):
        log = [first, event(2, "evaluated", "X", "a", evaluation=1, verdict=answer)]
        assert not has_passed("x", log)
        assert answers_of(verdict, "x", log) == three


def test_a_failure_over_the_set_is_an_answer() -> None:
    log = [
        event(1, "evaluation_charged", "x", "a"),
        event(2, "failed", "x", "a", evaluation=1, counts=False),
        event(3, "evaluation_charged", "x", "a"),
        event(4, "failed", "x", "a", evaluation=3, counts=False),  # the same question again
    ]
    assert failures_of("X", log) == (1, 0)
    assert answers_of(Reuse(feedback="metrics"), "x", log) == Answers(None, has_failed=True)
    more = [
        *log,
        event(5, "evaluation_charged", "x", "b"),
        event(6, "failed", "x", "b", evaluation=5, counts=True),
    ]
    assert failures_of("x", more) == (1, 1)
    assert [evaluation.submission for evaluation in evaluations_of(more)] == ["b"]
    assert answers_of(Reuse(feedback="verdict"), "x", more) == Answers(4, has_failed=True)
    unreadable = [
        event(1, "evaluation_charged", "x", "a"),
        event(2, "failed", "x", "a", evaluation=1),
    ]
    assert failures_of("x", unreadable) == (0, 0)


def test_answers_are_what_rounding_leaves() -> None:
    # 0, 0.5, 1, undefined, not between 0 and 1: five words for the value and five for its bound
    rounded = Reuse(feedback="rounded", metrics=("luna16.recall",), step=0.5)
    assert answers_of(rounded).count == 25
    two = Reuse(feedback="rounded", metrics=("luna16.recall", "luna16.cpm"), step=0.5)
    assert answers_of(two).count == 625
    assert answers_of(Reuse(feedback="metrics")).count is None


def test_spaces_and_case_make_no_new_developer() -> None:
    assert same_developer("  Example\tLTD ") == "example ltd"


@pytest.mark.parametrize(
    "name",
    ["Exa\u200bmple", "Ｅxample", "Example\ufeff", "E\u00adxample", "\tExample\n", "\x00example"],
)
def test_a_similar_name_is_not_a_new_developer(name: str) -> None:
    assert same_developer(name) == "example"


def test_composed_and_single_letters_are_the_same_and_words_stay_apart() -> None:
    assert same_developer("Me\u0301dical  Lab") == same_developer("M\u00e9dical\u00a0lab")
    assert same_developer("Medical Lab") != same_developer("MedicalLab")


@given(st.text() | st.text(st.characters(categories=["Cs", "L", "Cf"])))
def test_a_name_that_is_counted_counts_as_itself(name: str) -> None:
    assert same_developer(same_developer(name)) == same_developer(name)


def test_no_developer_has_fewer_than_no_evaluations_left() -> None:
    log = [event(number, "evaluation_charged", "x", f"s{number}") for number in range(1, 4)]
    assert [use.left for use in uses(log, TWO)] == [0]
    assert [use.left for use in uses(log[:1], TWO)] == [1]


def test_what_a_developer_could_know_came_before_the_evaluation() -> None:
    log = [
        event(1, "evaluation_charged", "x", "a"),
        event(2, "evaluated", "x", "a", evaluation=1),
        event(3, "failed", "x", "b"),
        event(4, "evaluation_charged", "x", "b"),
        event(5, "evaluation_charged", "x", "b"),
    ]
    assert [event.number for event in before(ChargedEvaluation("X", "b", "p"), log)] == [1, 2, 3]
    assert before(ChargedEvaluation("x", "a", "p"), log) == []
    assert before(ChargedEvaluation("x", "c", "p"), log) == log
    assert before(ChargedEvaluation("y", "a", "p"), log) == log


def test_a_verdict_in_addition_to_rounded_metrics_gives_three_times_the_answers() -> None:
    rounded = Reuse(feedback="rounded", metrics=("luna16.recall",), step=0.5)
    log = [event(1, "evaluation_charged", "x", "a", plan="sha256:1")]
    assert had_verdict("x", log)
    assert not had_verdict("y", log)
    assert answers_of(rounded, "x", log).count == 75
    assert answers_of(rounded, "y", log).count == 25
    failed = [
        *log,
        event(2, "evaluation_charged", "x", "b"),
        event(3, "failed", "x", "b", evaluation=2, counts=True),
    ]
    assert answers_of(rounded, "x", failed).count == 76


def test_the_last_evaluation_of_a_developer_and_of_a_set_is_admitted() -> None:
    log = [event(1, "evaluation_charged", "x", "a")]
    both = Reuse(evaluations_per_developer=2, evaluations_in_total=2)
    assert admit(ChargedEvaluation("x", "b", "p"), log, both) == 2
    assert admit(ChargedEvaluation("y", "b", "p"), log, both) == 1
