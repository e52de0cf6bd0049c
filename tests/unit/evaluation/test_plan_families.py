"""What may be claimed of criteria together: by hand, through a plan, and in words."""

import pytest

from builders.tables import case, mark, nodule, protocol, reference, submission
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.documents.records import CriterionSummary
from nodulebench.core.notices import Notice
from nodulebench.core.plans import AcceptanceCriteria, Criterion
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans import by_family, evaluated_under, freeze_plan
from nodulebench.i18n.translator import in_english, translator
from nodulebench.report.verdict import verdict


def criterion(limit: float = 0.5, family: str = "primary", **more) -> Criterion:
    given = {"metric": "recall", "rule": "luna16", "bound": "low", "comparison": ">="}
    return Criterion(**given | {"limit": limit, "family": family} | more)


def outcome(family: str, p_value: float | None, *, is_met: bool | None = True) -> CriterionSummary:
    return summary(criterion(family=family), is_met=is_met, replicates=10_000, p_value=p_value)


def summary(stated: Criterion, *, is_met: bool | None, **more) -> CriterionSummary:
    found = {"value": 0.9, "low": 0.8, "high": 1.0, "reason": None} | more
    return CriterionSummary(algorithm="a", **stated.model_dump(), met=is_met, **found)


def met_and_p(*outcomes: CriterionSummary) -> list[tuple[bool | None, float | None]]:
    return [(tested.met, tested.adjusted_p_value) for tested in by_family(outcomes, 0.95)]


def test_only_primary_criteria_are_not_adjusted() -> None:
    assert met_and_p(outcome("primary", 0.01), outcome("primary", 0.02)) == [(True, None)] * 2


def test_a_secondary_family_is_adjusted_within_itself_behind_its_gate() -> None:
    # one-sided at .025: the gate is .01; Holm of .004 and .02 is .008 and .02, none below .01
    outcomes = met_and_p(outcome("primary", 0.01), outcome("more", 0.004), outcome("more", 0.02))
    assert outcomes == [(True, 0.01), (True, 0.01), (True, 0.02)]
    # Holm of .015 and .02 is .03 twice: both are met when tested separately, neither may be claimed
    late = list(
        by_family([outcome("primary", 0.01), outcome("more", 0.015), outcome("more", 0.02)], 0.95)
    )
    assert [outcome.met for outcome in late] == [True, False, False]
    assert in_english(late[1].reason) == (
        "met when tested separately (P 0.015), but not after the adjustment for its family "
        "(adjusted P 0.03, allowed 0.025)"
    )


def test_nothing_is_claimed_behind_a_family_that_was_not_met() -> None:
    outcomes = list(
        by_family(
            [
                outcome("last", 0.001),
                outcome("primary", 0.001),
                outcome("more", 0.2, is_met=False),
                outcome("primary", 0.01),
            ],
            0.95,
        )
    )
    # families come in the order of their first criterion, after the primary one
    assert [outcome.met for outcome in outcomes] == [True, True, False, True]
    closed = list(by_family([outcome("more", 0.001), outcome("primary", 0.3, is_met=False)], 0.95))
    assert closed[0].met is None
    assert in_english(closed[0].reason) == (
        "not tested: not all criteria of the family 'primary' were met"
    )


def test_an_open_criterion_closes_the_gate_and_keeps_its_reason() -> None:
    reason = Notice("no_such_metric")
    open_outcome = summary(criterion(), is_met=None, reason=reason)
    outcomes = list(by_family([open_outcome, outcome("more", 0.001)], 0.95))
    assert outcomes[0].reason == reason
    assert [outcome.met for outcome in outcomes] == [None, None]


def test_criteria_without_a_p_value_count_by_what_is_known_of_them() -> None:
    value = summary(criterion(bound="value"), is_met=True)
    assert met_and_p(value, outcome("more", 0.02)) == [(True, None), (True, 0.02)]
    # met at .025 and no more is known: that suffices for a single criterion, but not for two
    assert met_and_p(value, outcome("more", None)) == [(True, None), (True, None)]
    assert [
        pair[0] for pair in met_and_p(value, outcome("more", None), outcome("more", 0.001))
    ] == [*(True, True, True)]
    assert [pair[0] for pair in met_and_p(value, outcome("more", None), outcome("more", 0.02))] == [
        *(True, False, False)
    ]


CASES = [
    case(f"c{number}", nodule(8), *([mark(0.9)] if number % 20 else [])) for number in range(100)
]
"""One nodule each, 95 of 100 outcomes."""
PROTOCOL = protocol(metrics=("recall", "fp_per_case"), interval=IntervalChoice(bootstraps=200))


def planned(*criteria: Criterion):
    stated = AcceptanceCriteria(name="plan", criteria=criteria)
    truth = reference(*CASES)
    plan = freeze_plan(stated, truth, PROTOCOL)
    return evaluated_under(plan, evaluate(truth, [submission(*CASES)], PROTOCOL))


def test_a_plan_with_families_has_adjusted_outcomes() -> None:
    more = {"metric": "fp_per_case", "bound": "high", "comparison": "<=", "family": "secondary"}
    plan_outcome = planned(
        criterion(0.85),
        criterion(0.88, "secondary"),
        criterion(0.5, **more),
        criterion(0.94, "last"),
    )
    first, second, third, _ = plan_outcome.plan.criteria
    # Clopper-Pearson: 95 or more of 100 at 0.85 has the probability .0016, at 0.88 .0146
    assert first.p_value == pytest.approx(0.0016, abs=0.001)
    assert second.p_value == pytest.approx(0.0146, abs=0.004)
    assert third.p_value == pytest.approx(1e-4, rel=0.01)
    assert second.adjusted_p_value == pytest.approx(second.p_value)  # the larger of two
    assert third.adjusted_p_value == pytest.approx(first.p_value)  # the gate before it
    assert [criterion.met for criterion in plan_outcome.plan.criteria] == [
        True,
        True,
        True,
        False,
    ]
    assert plan_outcome.plan.verdict == "passed"
    document = evaluation_document(plan_outcome)
    shown = document.to_json()["plan"]["criteria"]
    assert shown[0]["family"] == "primary"
    assert shown[1]["family"] == "secondary"
    block = verdict(document, translator("en"))
    assert block.sentences[0] == "1 of 1 acceptance criteria are met."
    assert block.sentences[1].startswith(
        "The verdict depends on the primary criteria. Of 3 further criteria, 2 may be claimed"
    )
    assert "次要" in str(verdict(document, translator("zh")).table)


@pytest.mark.parametrize("family", ["", "secondary"])
def test_a_further_criterion_has_to_ask_for_evidence(family: str) -> None:
    with pytest.raises(ValueError, match=r"evidence|at least 1 character"):
        criterion(family=family, bound="value")


def test_a_plan_needs_a_primary_criterion() -> None:
    with pytest.raises(ValueError, match="no criterion is of the family 'primary'"):
        AcceptanceCriteria(name="plan", criteria=(criterion(family="secondary"),))
