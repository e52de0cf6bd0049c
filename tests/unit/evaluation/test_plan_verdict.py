from datetime import UTC, datetime

import pytest

from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.plans import AcceptanceCriteria, Criterion
from nodulebench.core.protocol import IntervalChoice, load_protocol
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans import (
    criterion_outcome,
    evaluated_under,
    freeze_plan,
    unattainable,
)
from nodulebench.i18n.translator import in_english

CASES = (
    case("a", nodule(8, type="solid"), mark(0.9), false_mark(0.8), vendor="X"),
    case("b", nodule(8, type="pleural"), vendor="Y"),
    case("c", nodule(8, type="solid"), mark(0.4), vendor="X"),
    case("d", vendor="Y"),
)
"""Recall 2/3, one false positive in four cases; solid none missed, pleural all."""

PROTOCOL = protocol(
    metrics=("recall", "precision", "fp_per_case", "sensitivity_at_fp_rate", "cpm"),
    strata=("type", "vendor"),
    interval=IntervalChoice(bootstraps=200),
)
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def criterion(metric: str = "recall", comparison: str = ">=", limit: float = 0.5, **more):
    return Criterion(metric=metric, rule="luna16", comparison=comparison, limit=limit, **more)


def evaluated(*cases, names: tuple[str, ...] = ("algorithm",)):
    submissions = [submission(*cases, name=name) for name in names]
    return evaluate(reference(*cases), submissions, PROTOCOL)


def frozen(*criteria, cases=CASES):
    stated = AcceptanceCriteria(name="acceptance", criteria=criteria)
    return freeze_plan(stated, reference(*cases), PROTOCOL, at=NOON)


def outcome(*criteria, **options):
    evaluation = evaluated(*CASES)
    return [
        criterion_outcome(criterion, evaluation.algorithms[0], **options) for criterion in criteria
    ]


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
def test_a_metric_against_its_limit_by_hand(stated, is_met) -> None:
    (decided,) = outcome(stated)
    assert decided.met is is_met
    assert decided.reason is None


def test_a_bound_is_compared_instead_of_the_value() -> None:
    estimate = evaluated(*CASES).algorithms[0].rules["luna16"].metrics["recall"]
    assert estimate.low < 0.6 < estimate.value < estimate.high
    value, low, high = outcome(
        criterion(limit=0.6), criterion(limit=0.6, bound="low"), criterion(limit=0.9, bound="high")
    )
    assert (value.met, low.met, high.met) == (True, False, True)
    assert (low.value, low.low, low.high) == (estimate.value, estimate.low, estimate.high)


def test_an_undefined_metric_is_neither_met_nor_failed_and_says_why() -> None:
    evaluation = evaluated(case("a", nodule(8), vendor="X"), case("b", vendor="Y"))
    stated = (criterion("precision", "<=", 1.0), criterion("precision", ">=", 0.0))
    for stated_criterion in stated:
        decided = criterion_outcome(stated_criterion, evaluation.algorithms[0])
        assert decided.met is None
        assert decided.value is None
        assert in_english(decided.reason) == "no mark counts as hit or false positive"


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        (criterion("f7"), "the evaluation has no such metric"),
        (criterion("recall", stratum="colour=red"), "the evaluation has no such metric"),
        (
            criterion("miss_rate", "<=", 1.0, stratum="type=calcified"),
            "nothing to count in this subgroup",
        ),
        (
            Criterion(metric="recall", rule="center_hit", comparison=">=", limit=0),
            "the rule center_hit was not applied",
        ),
    ],
)
def test_what_cannot_be_compared_is_undecided_and_says_why(stated, reason) -> None:
    (decided,) = outcome(stated)
    assert decided.met is None
    assert in_english(decided.reason) == reason


def test_a_rule_that_could_not_be_applied_leaves_its_criteria_undecided() -> None:
    chosen = protocol("center_hit")
    evaluation = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    stated = Criterion(metric="recall", rule="center_hit", comparison=">=", limit=0)
    decided = criterion_outcome(stated, evaluation.algorithms[0])
    assert decided.met is None
    assert in_english(decided.reason).startswith(
        "the rule center_hit could not be applied: center_hit needs"
    )


def test_a_value_without_an_interval_has_no_bound_to_compare() -> None:
    chosen = PROTOCOL.model_copy(update={"interval": IntervalChoice(bootstraps=0)})
    evaluation = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    decided = criterion_outcome(criterion(bound="low"), evaluation.algorithms[0])
    assert decided.met is None
    assert in_english(decided.reason) == "the low bound does not exist"
    assert decided.value == pytest.approx(2 / 3)


def test_the_planned_test_has_a_verdict_and_the_plans_digest() -> None:
    plan = frozen(criterion(limit=0.6))
    evaluation = evaluated_under(plan, evaluated(*CASES))
    assert evaluation.digests["plan"] == plan.digest
    outcome = evaluation_document(evaluation).plan
    assert outcome is not None
    assert outcome.matches is True
    assert outcome.verdict == "passed"
    assert outcome.criteria[0].met is True


def test_every_algorithm_has_a_verdict() -> None:
    evaluation = evaluated_under(frozen(criterion()), evaluated(*CASES, names=("x", "y"))).plan
    assert evaluation.verdicts == {"x": "passed", "y": "passed"}


def test_a_document_without_a_plan() -> None:
    assert "plan" not in evaluation_document(evaluated(*CASES)).to_json()


def test_other_cases_and_references_have_no_verdict() -> None:
    plan = frozen(criterion(limit=0.6))
    fewer = evaluated_under(plan, evaluated(*CASES[:3])).plan
    assert [line.partition(":")[0] for line in sentences(fewer.differences)] == [
        "The list of cases is not the planned one"
    ]
    assert fewer.verdict == "undecided"
    assert [criterion.met for criterion in fewer.criteria] == [None]
    assert in_english(fewer.criteria[0].reason) == "the test was not the planned one"
    assert fewer.criteria[0].value == pytest.approx(2 / 3)
    moved = (case("a", nodule(9, type="solid"), mark(0.9), vendor="X"), *CASES[1:])
    other = evaluated_under(plan, evaluated(*moved)).plan
    assert [line.partition(":")[0] for line in sentences(other.differences)] == [
        "The reference standard is not the planned one"
    ]


def test_another_protocol_is_reported_with_both_digests() -> None:
    plan = frozen(criterion())
    chosen = PROTOCOL.model_copy(update={"seed": 1})
    evaluation = evaluate(reference(*CASES), [submission(*CASES)], chosen)
    assert sentences(evaluated_under(plan, evaluation).plan.differences) == (
        f"The protocol is not the planned one: planned {PROTOCOL.digest}, tested {chosen.digest}.",
    )


# what can be shown at all


def frozen_on(cases, *criteria, chosen):
    stated = AcceptanceCriteria(name="acceptance", criteria=criteria)
    return freeze_plan(stated, reference(*cases), chosen, at=NOON)


def planned_outcome(cases, *criteria, chosen=PROTOCOL):
    evaluation = evaluate(reference(*cases), [submission(*cases)], chosen)
    return evaluated_under(frozen_on(cases, *criteria, chosen=chosen), evaluation).plan


def perfect_on(patients: int, normal: int = 0):
    content = (nodule(8, type="solid"), mark(0.9))
    cases = [case(f"c{n:03}", *content, vendor="X") for n in range(patients)]
    return (*cases, *(case(f"n{n:03}", vendor="Y") for n in range(normal)))


LUNA16 = load_protocol("luna16")


@pytest.mark.parametrize("chosen", [PROTOCOL, LUNA16], ids=["guarded", "luna16"])
def test_three_nodules_in_four_scans_pass_no_strict_plan(chosen) -> None:
    """Percentile intervals of a perfect result have no width, and passed every limit."""
    stated = (
        criterion("recall", ">=", 0.95, bound="low"),
        criterion("cpm", ">=", 0.95, bound="low"),
        criterion("sensitivity_at_fp_rate@1", ">=", 0.95, bound="low"),
        criterion("fp_per_case", "<=", 0.05, bound="high"),
    )
    outcome = planned_outcome(perfect_on(3, normal=1), *stated, chosen=chosen)
    assert outcome.verdict == "undecided"
    assert [criterion.met for criterion in outcome.criteria] == [None] * 4
    unit = chosen.interval.unit
    assert [in_english(criterion.reason) for criterion in outcome.criteria[:3]] == [
        f"not assessable: even a perfect result on 3 {unit}s cannot meet it; at least 72 are needed"
    ] * 3
    assert in_english(outcome.criteria[3].reason).startswith("no interval: 4")


def test_a_perfect_device_passes_if_a_worse_one_does() -> None:
    """60 nodules in 20 patients: the lower bound of 60/60 was 0.832, that of 59/60 0.950."""

    def cases(misses: int):
        return [
            case(
                f"c{n}",
                *(nodule(8, (60.0 * k, 0, 0)) for k in range(3)),
                *(mark(0.9, (60.0 * k, 0, 0)) for k in range(3) if n >= misses or k),
            )
            for n in range(20)
        ]

    stated = criterion("recall", ">=", 0.85, bound="low")
    plain = PROTOCOL.model_copy(update={"strata": ()})
    outcomes = [
        planned_outcome(cases(misses), stated, chosen=plain).criteria[0] for misses in range(3)
    ]
    assert [outcome.met for outcome in outcomes] == [True, True, False]
    assert [outcome.low for outcome in outcomes] == pytest.approx(
        [0.881091, 0.861066, 0.842504], abs=1e-6
    )
    assert [outcome.replicates for outcome in outcomes] == [10_000] * 3


def test_what_cannot_be_met_still_fails_where_the_whole_interval_misses_it() -> None:
    cases = [case(f"c{n}", nodule(8), *([mark(0.5)] if n < 4 else [])) for n in range(12)]
    plain = PROTOCOL.model_copy(update={"strata": ()})
    (decided,) = planned_outcome(
        cases, criterion("recall", ">=", 0.9, bound="low"), chosen=plain
    ).criteria
    assert decided.high is not None
    assert decided.high < 0.9
    assert decided.met is False


@pytest.mark.parametrize(("limit", "patients"), [(0.9, 36), (0.95, 72), (0.98, 183)])
def test_so_many_patients_are_needed_and_enough(limit: float, patients: int) -> None:
    stated = criterion("recall", ">=", limit, bound="low")
    plain = PROTOCOL.model_copy(update={"strata": ()})
    enough, few = perfect_on(patients), perfect_on(patients - 3)
    assert unattainable(frozen_on(enough, stated, chosen=plain), reference(*enough)) == {}
    reason = unattainable(frozen_on(few, stated, chosen=plain), reference(*few))[0]
    assert (reason.code, reason.values["units"]) == ("not_assessable", patients - 3)
    assert abs(reason.values["needed"] - patients) <= 1  # bounds are exact to 1 / replicates


@pytest.mark.parametrize(
    ("stated", "needed"),
    [
        (criterion("miss_rate", "<=", 0.1, bound="high"), 36),
        (criterion("fp_per_case", "<=", 0.1, bound="high"), 36),
        (criterion("cpm", ">=", 0.9, bound="low"), 36),
        (criterion("recall", ">=", 0.9, stratum="vendor=X", bound="low"), 36),
        (criterion("miss_rate", "<=", 0.1, stratum="type=solid", bound="high"), 36),
    ],
)
def test_what_other_metrics_need(stated, needed: int) -> None:
    metrics = (*PROTOCOL.metrics, "miss_rate")
    chosen = PROTOCOL.model_copy(update={"metrics": metrics})
    cases = perfect_on(25)
    (notice,) = unattainable(frozen_on(cases, stated, chosen=chosen), reference(*cases)).values()
    assert notice.values["units"] == 25
    assert abs(notice.values["needed"] - needed) <= 1


@pytest.mark.parametrize(
    "stated",
    [
        criterion("recall", ">=", 0.99),
        criterion("recall", "<=", 0.9, bound="high"),
        criterion("recall", ">=", 0.1, bound="low"),
        criterion("marks_per_case", "<=", 3, bound="high"),
    ],
)
def test_what_may_be_met_is_not_warned_of(stated) -> None:
    chosen = PROTOCOL.model_copy(update={"metrics": (*PROTOCOL.metrics, "marks_per_case")})
    cases = perfect_on(25)
    assert unattainable(frozen_on(cases, stated, chosen=chosen), reference(*cases)) == {}


def test_a_bound_near_its_limit_is_drawn_ten_times_as_often() -> None:
    cases = [case(f"c{n}", nodule(8), *([mark(0.5)] if n else [])) for n in range(20)]
    plain = PROTOCOL.model_copy(update={"strata": ()})
    exact = 0.751267  # Clopper and Pearson, 19 of 20
    near, far = (
        planned_outcome(
            cases, criterion("recall", ">=", limit, bound="low"), chosen=plain
        ).criteria[0]
        for limit in (exact, 0.7)
    )
    assert (near.replicates, far.replicates) == (100_000, 10_000)
    assert near.low == pytest.approx(exact, abs=0.003)


def test_the_document_says_from_how_many_replicates_a_verdict_came() -> None:
    stated = (criterion("recall", ">=", 0.5, bound="low"), criterion("recall", ">=", 0.5))
    plan = frozen(*stated, cases=perfect_on(20))
    evaluation = evaluate(reference(*perfect_on(20)), [submission(*perfect_on(20))], PROTOCOL)
    shown = evaluation_document(evaluated_under(plan, evaluation)).to_json()["plan"]["criteria"]
    assert [entry["replicates"] for entry in shown] == [10_000, None]
