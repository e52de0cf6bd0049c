import numpy as np
import pytest
from scipy import stats

from nodulebench.core.errors import InputError
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.mcnemar import PairedHits, mcnemar_exact
from nodulebench.statistics.sample_size.comparisons import size_for_paired_detection


def test_paired_detection_by_hand() -> None:
    # Connor: (1.959964 sqrt(.2) + .841621 sqrt(.2 - .01))^2 / .01 = 154.5
    plan = size_for_paired_detection(difference=0.1, discordance=0.2)
    assert plan.answer == 155


def test_non_inferiority_by_hand() -> None:
    # (1.959964 + .841621)^2 * .2 / .05^2 = 627.9
    plan = size_for_paired_detection(difference=0.0, discordance=0.2, margin=0.05)
    assert plan.answer == 628


def test_correlated_nodules_multiply_the_size() -> None:
    plain = size_for_paired_detection(difference=0.1, discordance=0.2)
    clustered = size_for_paired_detection(
        difference=0.1, discordance=0.2, nodules_per_patient=5, nodules_sd=0, correlation=0.25
    )
    assert clustered.answer == pytest.approx(2 * (plain.answer or 0), abs=2)
    assert clustered.details["patients"] == pytest.approx((clustered.answer or 0) / 5, abs=1)


def test_a_spread_of_numbers_and_an_unsaid_correlation_are_assumed_cautiously() -> None:
    plan = size_for_paired_detection(difference=0.1, discordance=0.2, nodules_per_patient=5)
    assert plan.details["design_effect"] == pytest.approx(3.4)  # 1 + (5 + 4 - 1) x 0.3
    assert "correlate with 0.3 (assumed): design effect 3.4." in in_english(plan.assumptions[2])


def test_mcnemar_reaches_about_the_power_planned() -> None:
    plan = size_for_paired_detection(difference=0.15, discordance=0.25)
    random = np.random.default_rng(3)
    size = plan.answer or 0
    won = 0
    for _ in range(400):
        kind = random.choice(3, p=[0.2, 0.05, 0.75], size=size)
        won += mcnemar_exact(PairedHits(kind == 0, kind == 1, np.arange(size))).p_value < 0.05
    assert won / 400 == pytest.approx(0.8, abs=0.09)  # the exact test is a little conservative


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"difference": 0.3}, "difference: 0.3 is larger than the discordance 0.2."),
        ({"difference": 0.0}, "difference: is 0. Give a margin, or a difference to find."),
        (
            {"difference": -0.1, "margin": 0.05},
            "margin: 0.05 does not exceed the expected loss 0.1.",
        ),
        ({"difference": -0.1, "margin": 0.1}, "margin: 0.1 does not exceed the expected loss 0.1."),
    ],
)
def test_impossible_pairs_are_named(change: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as error:
        size_for_paired_detection(**{"difference": 0.1, "discordance": 0.2} | change)
    assert str(error.value).startswith(message)


def test_a_difference_as_large_as_the_discordance_is_possible() -> None:
    # the new one finds all that the two disagree on; Connor: (1.959964 sqrt(.2)
    # + .841621 sqrt(.2 - .04))^2 / .04 = 36.8
    assert size_for_paired_detection(difference=0.2, discordance=0.2).answer == 37
    # a margin .01 above the expected loss: 2.801585^2 (.2 - .0081) / .01^2 = 15062.0002
    assert size_for_paired_detection(difference=-0.09, discordance=0.2, margin=0.1).answer == 15063


def test_a_curve_of_power_is_that_of_the_normal_law() -> None:
    plan = size_for_paired_detection(difference=0.1, discordance=0.2)
    for point in plan.curve:
        reach = 0.1 * np.sqrt(point.size) - stats.norm.ppf(0.975) * np.sqrt(0.2)
        assert point.value == pytest.approx(stats.norm.cdf(reach / np.sqrt(0.19)))
