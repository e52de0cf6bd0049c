from datetime import UTC, datetime

import pytest

from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.language import english
from nodulebench.model.documents.evaluation import evaluation_document
from nodulebench.model.plan import AcceptanceCriteria, Criterion
from nodulebench.model.protocol import IntervalChoice
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.plan.freeze import freeze_plan
from nodulebench.workflows.plan.judge import evaluated_under, judge

CASES = (
    case("a", nodule(8, type="solid"), mark(0.9), false_mark(0.8), vendor="X"),
    case("b", nodule(8, type="pleural"), vendor="Y"),
    case("c", nodule(8, type="solid"), mark(0.4), vendor="X"),
    case("d", vendor="Y"),
)
"""Recall 2/3, one false positive in four cases; solid none missed, pleural all."""

PROTOCOL = protocol(
    figures=("recall", "precision", "fp_per_case", "sensitivity_at_fp_rate", "cpm"),
    strata=("type", "vendor"),
    interval=IntervalChoice(bootstraps=200),
)
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def criterion(figure: str = "recall", comparison: str = ">=", limit: float = 0.5, **more):
    return Criterion(figure=figure, rule="luna16", comparison=comparison, limit=limit, **more)


def evaluated(*cases, names: tuple[str, ...] = ("algorithm",)):
    said = [submission(*cases, name=name) for name in names]
    return evaluate(reference(*cases), said, PROTOCOL)


def frozen(*criteria, cases=CASES):
    stated = AcceptanceCriteria(name="acceptance", criteria=criteria)
    return freeze_plan(stated, reference(*cases), PROTOCOL, at=NOON)


def outcome(*criteria, **options):
    found = evaluated(*CASES)
    return [judge(one, found.algorithms[0], **options) for one in criteria]


@pytest.mark.parametrize(
    ("stated", "is_met"),
    [
        (criterion(limit=0.6), True),
        (criterion(limit=0.7), False),
        (criterion(limit=2 / 3), True),
        (criterion(comparison="<=", limit=2 / 3), True),
        (criterion("fp_per_case", "<=", 0.25), True),
        (criterion("fp_per_case", "<=", 0.2), False),
        (criterion("sensitivity_at_fp_rate@0.25", ">=", 2 / 3), True),
        (criterion("sensitivity_at_fp_rate@0.125", ">=", 2 / 3), False),
        (criterion("miss_rate", "<=", 0.0, stratum="type=solid"), True),
        (criterion("miss_rate", "<=", 0.5, stratum="type=pleural"), False),
        (criterion("recall", ">=", 1.0, stratum="vendor=X"), True),
    ],
)
def test_a_figure_against_its_limit_by_hand(stated, is_met) -> None:
    (found,) = outcome(stated)
    assert found.is_met is is_met
    assert found.reason is None


def test_a_bound_is_compared_instead_of_the_value() -> None:
    found = evaluated(*CASES).algorithms[0].rules["luna16"].figures["recall"]
    assert found.low < 0.6 < found.value < found.high
    value, low, high = outcome(
        criterion(limit=0.6), criterion(limit=0.6, bound="low"), criterion(limit=0.9, bound="high")
    )
    assert (value.is_met, low.is_met, high.is_met) == (True, False, True)
    assert (low.value, low.low, low.high) == (found.value, found.low, found.high)


def test_an_undefined_figure_is_neither_met_nor_failed_and_says_why() -> None:
    found = evaluated(case("a", nodule(8), vendor="X"), case("b", vendor="Y"))
    stated = (criterion("precision", "<=", 1.0), criterion("precision", ">=", 0.0))
    for one in stated:
        judged = judge(one, found.algorithms[0])
        assert judged.is_met is None
        assert judged.value is None
        assert english(judged.reason) == "no mark counts as hit or false positive"


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        (criterion("f7"), "the evaluation has no such figure"),
        (criterion("recall", stratum="colour=red"), "the evaluation has no such figure"),
        (
            criterion("miss_rate", "<=", 1.0, stratum="type=calcified"),
            "nothing to count in this stratum",
        ),
        (
            Criterion(figure="recall", rule="center_hit", comparison=">=", limit=0),
            "the rule center_hit was not applied",
        ),
    ],
)
def test_what_cannot_be_compared_is_undecided_and_says_why(stated, reason) -> None:
    (found,) = outcome(stated)
    assert found.is_met is None
    assert english(found.reason) == reason


def test_a_rule_that_could_not_be_applied_leaves_its_criteria_undecided() -> None:
    chosen = protocol("center_hit")
    found = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    stated = Criterion(figure="recall", rule="center_hit", comparison=">=", limit=0)
    judged = judge(stated, found.algorithms[0])
    assert judged.is_met is None
    assert english(judged.reason).startswith(
        "the rule center_hit could not be applied: center_hit needs"
    )


def test_a_value_without_an_interval_has_no_bound_to_compare() -> None:
    chosen = PROTOCOL.model_copy(update={"interval": IntervalChoice(bootstraps=0)})
    found = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    judged = judge(criterion(bound="low"), found.algorithms[0])
    assert judged.is_met is None
    assert english(judged.reason) == "there is no low bound"
    assert judged.value == pytest.approx(2 / 3)


def test_the_planned_test_has_a_verdict_and_the_plans_digest() -> None:
    plan = frozen(criterion(limit=0.6))
    found = evaluated_under(plan, evaluated(*CASES))
    assert found.digests["plan"] == plan.digest
    outcome = evaluation_document(found).plan
    assert outcome is not None
    assert outcome.matches is True
    assert outcome.verdict == "passed"
    assert outcome.criteria[0].met is True


def test_every_algorithm_is_judged() -> None:
    found = evaluated_under(frozen(criterion()), evaluated(*CASES, names=("x", "y"))).plan
    assert found.verdicts == {"x": "passed", "y": "passed"}


def test_without_a_plan_the_document_says_nothing_of_one() -> None:
    assert "plan" not in evaluation_document(evaluated(*CASES)).to_json()


def test_another_list_of_cases_and_another_reference_are_told_and_have_no_verdict() -> None:
    plan = frozen(criterion(limit=0.6))
    fewer = evaluated_under(plan, evaluated(*CASES[:3])).plan
    assert [line.partition(":")[0] for line in sentences(fewer.differences)] == [
        "The list of cases is not the planned one"
    ]
    assert fewer.verdict == "undecided"
    assert [one.is_met for one in fewer.criteria] == [None]
    assert english(fewer.criteria[0].reason) == "the test was not the planned one"
    assert fewer.criteria[0].value == pytest.approx(2 / 3)
    moved = (case("a", nodule(9, type="solid"), mark(0.9), vendor="X"), *CASES[1:])
    other = evaluated_under(plan, evaluated(*moved)).plan
    assert [line.partition(":")[0] for line in sentences(other.differences)] == [
        "The reference standard is not the planned one"
    ]


def test_another_protocol_is_told_with_both_digests() -> None:
    plan = frozen(criterion())
    chosen = PROTOCOL.model_copy(update={"seed": 1})
    found = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    assert sentences(evaluated_under(plan, found).plan.differences) == (
        f"The protocol is not the planned one: planned {PROTOCOL.digest}, tested {chosen.digest}.",
    )
