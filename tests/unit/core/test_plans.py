from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from builders.tables import protocol
from nodulebench.core.documents.evaluation import plan_summary
from nodulebench.core.documents.records import CriterionSummary, as_json
from nodulebench.core.plans import Criterion, PlanOutcome, TestPlan

RECALL = Criterion(metric="recall", rule="luna16", bound="low", comparison=">=", limit=0.8)


def plan(**fields) -> TestPlan:
    chosen = protocol()
    given = {
        "name": "acceptance",
        "criteria": (RECALL,),
        "frozen_at": datetime(2026, 5, 4, 12, tzinfo=UTC),
        "test_set": "test",
        "cases": 3,
        "digests": {
            "protocol": chosen.digest,
            "cohort": "sha256:" + "0" * 64,
            "reference": "sha256:" + "1" * 64,
        },
        "protocol": chosen,
    }
    return TestPlan(**(given | fields))


def outcome(*are_met: bool | None, differences: tuple[str, ...] = ()) -> PlanOutcome:
    """One algorithm, 'a', against as many criteria."""
    criteria = tuple(criterion("a", is_met=is_met) for is_met in are_met)
    return PlanOutcome(plan(), differences, criteria)


def criterion(algorithm: str, *, is_met: bool | None) -> CriterionSummary:
    found = {"value": 0.9, "low": 0.85, "high": 0.95, "reason": None}
    return CriterionSummary(algorithm, **RECALL.model_dump(), met=is_met, **found)


@pytest.mark.parametrize(
    ("are_met", "verdict"),
    [
        ((True, True), "passed"),
        ((True, False), "failed"),
        ((True, None), "undecided"),
        ((None, False), "failed"),
        ((), "undecided"),
    ],
)
def test_all_criteria_have_to_be_met_and_an_undefined_one_is_not(are_met, verdict) -> None:
    assert outcome(*are_met).verdict == verdict


def test_there_is_no_verdict_on_another_test_than_the_planned_one() -> None:
    found = outcome(True, False, differences=("The protocol is not the planned one.",))
    assert found.verdict == "undecided"
    assert found.verdicts == {"a": "undecided"}
    assert plan_summary(found).matches is False


def test_each_algorithm_has_its_own_verdict() -> None:
    criteria = [criterion(name, is_met=name == "a") for name in ("a", "b")]
    outcome = PlanOutcome(plan(), (), tuple(criteria))
    assert outcome.verdicts == {"a": "passed", "b": "failed"}
    assert outcome.verdict == "failed"


def test_an_outcome_in_json() -> None:
    assert as_json(plan_summary(outcome(True))) == {
        "digest": plan().digest,
        "name": "acceptance",
        "author": "",
        "frozen_at": "2026-05-04T12:00:00Z",
        "matches": True,
        "differences": [],
        "criteria": [
            {
                "algorithm": "a",
                "metric": "recall",
                "rule": "luna16",
                "stratum": "",
                "bound": "low",
                "comparison": ">=",
                "limit": 0.8,
                "value": 0.9,
                "low": 0.85,
                "high": 0.95,
                "met": True,
                "reason": None,
                "replicates": None,
                "p_value": None,
                "family": "primary",
                "adjusted_p_value": None,
            }
        ],
        "verdict": "passed",
        "verdicts": {"a": "passed"},
        "laboratory": "",
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "other"},
        {"author": "somebody"},
        {"notes": "a word"},
        {"frozen_at": datetime(2026, 5, 4, 13, tzinfo=UTC)},
        {"cases": 4},
        {"criteria": (RECALL.model_copy(update={"limit": 0.7}),)},
        {"criteria": (RECALL.model_copy(update={"bound": "value"}),)},
        {"digests": plan().digests.model_copy(update={"cohort": "sha256:" + "2" * 64})},
    ],
)
def test_the_digest_covers_everything_that_is_fixed(fields) -> None:
    assert plan().digest == plan().digest
    assert plan(**fields).digest != plan().digest


def test_a_criterion_reads_as_a_sentence() -> None:
    assert str(RECALL) == "lower bound of recall (luna16) >= 0.8"
    other = Criterion(
        metric="miss_rate", rule="center_hit", stratum="type=solid", comparison="<=", limit=0.25
    )
    assert str(other) == "miss_rate in type=solid (center_hit) <= 0.25"


@pytest.mark.parametrize(
    "fields",
    [
        {"comparison": ">"},
        {"bound": "mean"},
        {"limit": float("nan")},
        {"limit": float("inf")},
        {"figur": "recall"},
    ],
)
def test_what_is_not_a_criterion_is_refused(fields) -> None:
    given = {"metric": "recall", "rule": "luna16", "comparison": ">=", "limit": 0.5}
    with pytest.raises(ValidationError):
        Criterion(**(given | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"criteria": ()},
        {"name": ""},
        {"frozen_at": datetime(2026, 5, 4, 12)},
        {"digests": {"protocol": "abc", "cohort": "abc", "reference": "abc"}},
    ],
)
def test_what_is_not_a_plan_is_refused(fields) -> None:
    with pytest.raises(ValidationError):
        plan(**fields)
