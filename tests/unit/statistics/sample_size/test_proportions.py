import pytest

from nodulebench.core.errors import InputError
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.sample_size.proportions import size_for_sensitivity
from nodulebench.statistics.sample_size.result import Plan


def value_at(plan: Plan, size: int | None) -> float:
    return next(point.value for point in plan.curve if point.size == size)


def test_sensitivity_of_85_percent_to_5_points_needs_196_independent_nodules() -> None:
    plan = size_for_sensitivity(sensitivity=0.85, half_width=0.05)
    assert plan.answer == 196
    assert plan.unit == "nodules"
    assert value_at(plan, 196) == pytest.approx(0.05, abs=5e-5)


def test_ten_nodules_a_patient_with_a_long_tail_nearly_triple_the_size() -> None:
    plan = size_for_sensitivity(
        sensitivity=0.85, half_width=0.05, nodules_per_patient=10.3, correlation=0.1
    )
    # 1 + geometric: SD² = 10.3 x 9.3, Kish's size 10.3 + 9.3 = 19.6, 1 + 18.6 x 0.1
    assert plan.details["design_effect"] == pytest.approx(2.86)
    assert plan.details["independent_nodules"] == 196
    assert plan.answer == 561  # 195.92 * 2.86 = 560.3
    assert plan.details["patients"] == 55
    assert "(assumed: geometric), which correlate with 0.1: design effect 2.86" in in_english(
        plan.assumptions[1]
    )


def test_equal_numbers_have_the_design_effect_of_the_mean() -> None:
    plan = size_for_sensitivity(
        sensitivity=0.85, half_width=0.05, nodules_per_patient=10.3, nodules_sd=0, correlation=0.1
    )
    assert plan.details["design_effect"] == pytest.approx(1.93)
    assert plan.answer == 379  # 195.92 * 1.93 = 378.1


def test_a_missing_correlation_is_a_cautious_one_and_is_stated() -> None:
    plan = size_for_sensitivity(sensitivity=0.85, half_width=0.05, nodules_per_patient=3)
    assert plan.details["design_effect"] == pytest.approx(3)  # 1 + (3 + 2 - 1) x 0.5
    assert "which correlate with 0.5 (assumed): design effect 3." in in_english(plan.assumptions[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitivity": 1.0}, "sensitivity: 1 is not above 0 and below 1."),
        ({"half_width": 0.0}, "half-width: 0 is not above 0 and below 1."),
        ({"correlation": 1.5}, "correlation within patients: 1.5 is not between 0 and 1."),
        ({"nodules_per_patient": 0.5}, "nodules per patient: 0.5 is not between 1 and inf."),
    ],
)
def test_impossible_assumptions_are_named(change: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as error:
        size_for_sensitivity(**{"sensitivity": 0.85, "half_width": 0.05} | change)
    assert str(error.value) == message
