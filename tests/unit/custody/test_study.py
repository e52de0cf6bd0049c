"""Which stored results an alias or number selects: never another developer's."""

from datetime import UTC, datetime

import pytest

from nodulebench.core.errors import InputError
from nodulebench.custody.events import Event, Step
from nodulebench.custody.study import chosen_evaluations


def event(number: int, step: Step, **facts: object) -> Event:
    return Event(
        number=number,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person="Bo",
        role="operator",
        step=step,
        facts=facts,  # type: ignore[arg-type]
        previous="",
    )


def evaluation_events(number: int, developer: str, **names: str) -> list[Event]:
    return [
        event(number, "evaluation_charged", developer=developer, **names),
        event(number + 1, "evaluated", developer=developer, evaluation=number),
    ]


LOG = [
    *evaluation_events(2, "alpha", algorithm="marks"),
    *evaluation_events(4, "beta", algorithm="marks"),
    *evaluation_events(6, "gamma", algorithm="x", alias="4"),
    *evaluation_events(8, "delta", algorithm="first", alias="A1"),
    *evaluation_events(10, "delta", algorithm="second", alias="a1"),
]


@pytest.mark.parametrize(
    ("word", "listed"),
    [
        ("MARKS", r"marks \(evaluation 2\), marks \(evaluation 4\)"),
        ("4", r"marks \(evaluation 4\), 4 \(evaluation 6\)"),
    ],
)
def test_a_word_that_means_results_of_several_developers_is_refused(word: str, listed: str) -> None:
    with pytest.raises(InputError, match=f"'{word}': names several .* by number: {listed}"):
        chosen_evaluations(LOG, [word])


def test_a_number_means_its_evaluation_and_an_alias_the_last_of_its_developer() -> None:
    assert [
        evaluation.facts["evaluation"] for evaluation in chosen_evaluations(LOG[:4], ["2"])
    ] == [2]
    assert [
        evaluation.facts["evaluation"] for evaluation in chosen_evaluations(LOG[6:], ["8"])
    ] == [8]
    assert [
        evaluation.facts["evaluation"] for evaluation in chosen_evaluations(LOG[8:], ["A1"])
    ] == [10]
    with pytest.raises(InputError, match="evaluation 'marks': has no stored result"):
        chosen_evaluations(LOG[4:], ["marks"])
