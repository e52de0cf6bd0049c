import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.statistics.multiplicity import (
    ADJUSTMENTS,
    benjamini_hochberg,
    bonferroni,
    gatekeeping,
    holm,
)

FAMILIES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_holm_multiplies_the_ith_smallest_by_those_left_and_keeps_the_running_maximum() -> None:
    # sorted .01 .02 .03 .04: times 4 3 2 1 = .04 .06 .06 .04, running maximum .04 .06 .06 .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_bonferroni_multiplies_by_the_number_of_tests() -> None:
    assert bonferroni([0.01, 0.4, 0.02]) == pytest.approx([0.03, 1.0, 0.06])


def test_benjamini_hochberg_multiplies_by_number_over_rank_from_the_largest_down() -> None:
    # sorted .01 .02 .03 .9: times 4/1 4/2 4/3 4/4 = .04 .04 .04 .9
    assert benjamini_hochberg([0.9, 0.02, 0.01, 0.03]) == pytest.approx([0.9, 0.04, 0.04, 0.04])


def test_adjusted_values_stay_at_most_one() -> None:
    for adjust in ADJUSTMENTS.values():
        assert max(adjust([0.9, 0.8, 0.7])) <= 1


def test_a_p_value_outside_0_and_1_is_named_with_its_place() -> None:
    with pytest.raises(InputError) as error:
        holm([0.5, float("nan"), 1.5])
    assert str(error.value) == (
        "P value 2: nan is not between 0 and 1. "
        "Leave undefined tests out of the family before adjusting.\n"
        "P value 3: 1.5 is not between 0 and 1. "
        "Leave undefined tests out of the family before adjusting."
    )


def test_an_unknown_adjustment_suggests_a_known_one() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'holm'\?"):
        ADJUSTMENTS["hulm"]


def test_a_family_of_none_stays_empty() -> None:
    for adjust in ADJUSTMENTS.values():
        assert len(adjust([])) == 0


@given(FAMILIES)
def test_holm_is_between_the_plain_and_the_bonferroni_values(family: list[float]) -> None:
    assert (holm(family) >= np.array(family)).all()
    assert (holm(family) <= bonferroni(family)).all()


@given(FAMILIES)
def test_benjamini_hochberg_never_exceeds_holm(family: list[float]) -> None:
    assert (benjamini_hochberg(family) <= holm(family) + 1e-15).all()


@given(FAMILIES, st.randoms())
def test_the_order_of_tests_is_free(family: list[float], random: object) -> None:
    order = list(range(len(family)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for adjust in (holm, bonferroni, benjamini_hochberg):
        shuffled = adjust([family[place] for place in order])
        assert shuffled == pytest.approx(adjust(family)[order])


def test_families_in_order_by_hand() -> None:
    # joint: .010 and .020 -> .020; Holm of .001 .030 .004 (R: p.adjust) -> .003 .030 .008, none
    # below the gate of .020; the last family's .005 waits for the .030 before it
    first, second, third = gatekeeping([0.01, 0.02], [0.001, 0.03, 0.004], [0.005])
    assert first == pytest.approx([0.02, 0.02])
    assert second == pytest.approx([0.02, 0.03, 0.02])
    assert third == pytest.approx([0.03])


def test_a_closed_gate_closes_all_behind_it() -> None:
    assert [list(family) for family in gatekeeping([0.2], [0.001], [0.0001])] == [
        [0.2],
        [0.2],
        [0.2],
    ]
    assert [list(family) for family in gatekeeping([], [0.01, 0.04])] == [[], [0.02, 0.04]]


def claims_step_by_step(alpha: float, joint: list[float], *families: list[float]) -> list[bool]:
    """Which tests succeed when the procedure is gone through as it is written in protocols."""
    is_open = all(p <= alpha for p in joint)
    claims = [is_open] * len(joint)
    for family in families:
        claimed = [False] * len(family)
        if is_open:
            for rank, place in enumerate(sorted(range(len(family)), key=family.__getitem__)):
                if family[place] * (len(family) - rank) > alpha:
                    break
                claimed[place] = True
        claims += claimed
        is_open = is_open and all(claimed)
    return claims


@given(FAMILIES, FAMILIES, FAMILIES, st.floats(0.01, 0.99))
def test_an_adjusted_p_value_says_what_the_steps_say(
    joint: list[float], second: list[float], third: list[float], alpha: float
) -> None:
    adjusted = np.concatenate(gatekeeping(joint, second, third))
    assert (adjusted >= np.array([*joint, *second, *third])).all()
    assert (adjusted <= alpha).tolist() == claims_step_by_step(alpha, joint, second, third)


@pytest.mark.parametrize("untrue", [(True, True), (False, True), (True, False), (False, False)])
def test_wrong_claims_are_rare_for_any_truth(untrue: tuple[bool, bool]) -> None:
    """Strong control: families of nulls that hold (uniform P values) or do not (tiny ones)."""
    random, wrong = np.random.default_rng(4), 0
    for _ in range(2000):
        second = [1e-9 if untrue[0] else random.uniform(), random.uniform()]
        third = [1e-9 if untrue[1] else random.uniform()]
        _, claimed, last = gatekeeping([1e-9], second, third)
        is_wrong = [not untrue[0] and claimed[0] <= 0.05, claimed[1] <= 0.05]
        wrong += any([*is_wrong, not untrue[1] and last[0] <= 0.05])
    assert wrong / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_no_family_falls_below_any_that_was_tested_before() -> None:
    adjusted = gatekeeping([0.01, 0.02], [0.03], [0.04, 0.001], [0.0001])
    assert [family.tolist() for family in adjusted] == [
        [0.02, 0.02],
        [0.03],
        pytest.approx([0.04, 0.03]),
        [0.04],
    ]


@pytest.mark.parametrize("wrong", [-0.5, 1.5])
def test_a_value_outside_0_to_1_is_refused(wrong: float) -> None:
    with pytest.raises(InputError, match=f"P value 2: {wrong} is not between 0 and 1"):
        holm([0.5, wrong])
