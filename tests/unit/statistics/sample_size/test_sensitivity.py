import pytest

from nodulebench.errors import InputError
from nodulebench.statistics.sample_size.plan import Plan
from nodulebench.statistics.sample_size.sensitivity import size_for_sensitivity


def value_at(plan: Plan, size: int | None) -> float:
    return next(point.value for point in plan.curve if point.size == size)


def test_sensitivity_of_85_percent_to_5_points_needs_196_independent_nodules() -> None:
    plan = size_for_sensitivity(sensitivity=0.85, half_width=0.05)
    assert plan.answer == 196
    assert plan.unit == "nodules"
    assert value_at(plan, 196) == pytest.approx(0.05, abs=5e-5)


def test_ten_nodules_a_patient_with_correlation_a_tenth_nearly_double_the_size() -> None:
    plan = size_for_sensitivity(
        sensitivity=0.85, half_width=0.05, nodules_per_patient=10.3, correlation=0.1
    )
    assert plan.details["design_effect"] == pytest.approx(1.93)
    assert plan.details["independent_nodules"] == 196
    assert plan.answer == 379  # 195.92 * 1.93 = 378.1
    assert plan.details["patients"] == 37
    assert "design effect 1.93" in plan.assumptions[1]


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
