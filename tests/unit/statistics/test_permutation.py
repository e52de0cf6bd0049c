from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import Case, Slice, case, cohort, false_mark, mark, nodule, with_score
from builders.words import undefined
from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Permutation
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.i18n.translator import in_english
from nodulebench.metrics.froc import cpm
from nodulebench.metrics.operating_point import precision, recall
from nodulebench.statistics import permutation
from nodulebench.statistics.permutation import permutation_test, side_by_side

EACH = np.arange(3)
FINDER = (
    case("a", nodule(), mark(0.9)),
    case("b", nodule(), mark(0.8)),
    case("c", nodule(), mark(0.7)),
)
BLIND = (case("a", nodule()), case("b", nodule()), case("c", nodule()))


def once(metric: Callable[..., FloatArray], of: LabelledCohort) -> float:
    return float(metric(of, np.ones((1, of.case_count), dtype=np.int32))[0])


def test_only_no_swap_and_the_full_swap_give_as_large_a_difference() -> None:
    result = permutation_test(
        recall, cohort(*FINDER), cohort(*BLIND), unit_of_case=EACH, permutations=100, seed=0
    )
    assert result.difference == 1.0
    assert result.p_value == 2 / 8
    assert (result.swaps, result.is_exact) == (8, True)
    assert in_english(result.method) == "permutation test, all swaps of algorithm labels by unit"


def test_a_patient_is_swapped_as_a_whole() -> None:
    result = permutation_test(
        recall,
        cohort(*FINDER),
        cohort(*BLIND),
        unit_of_case=np.array([0, 0, 1]),
        permutations=100,
        seed=0,
    )
    assert result.p_value == 2 / 4


def test_an_algorithm_against_itself_has_p_one() -> None:
    result = permutation_test(
        recall, cohort(*FINDER), cohort(*FINDER), unit_of_case=EACH, permutations=100, seed=0
    )
    assert (result.difference, result.p_value) == (0.0, 1.0)


def exchanged(
    first: tuple[Case, ...], second: tuple[Case, ...], swap: tuple[bool, ...]
) -> tuple[Case, ...]:
    """The first algorithm's cases with the second's marks where swapped."""
    return tuple(
        replace(own, marks=other.marks) if is_swapped else own
        for own, other, is_swapped in zip(first, second, swap, strict=True)
    )


@cache
def all_exchanges() -> tuple[tuple[LabelledCohort, LabelledCohort], ...]:
    """Both algorithms under every swap of five cases, built from the tables."""
    first = random_cases(5, abnormal=3, normal=2)
    second = exchanged(first, random_cases(6, abnormal=3, normal=2), (True,) * 5)
    return tuple(
        (cohort(*exchanged(first, second, swap)), cohort(*exchanged(second, first, swap)))
        for swap in product((False, True), repeat=5)
    )


@pytest.mark.slow
@pytest.mark.parametrize("metric", [recall, precision, cpm], ids=["recall", "precision", "cpm"])
def test_swapped_weights_equal_rebuilt_cohorts(metric: Callable[..., FloatArray]) -> None:
    differences = [once(metric, first) - once(metric, other) for first, other in all_exchanges()]
    as_large = np.abs(differences) >= abs(differences[0]) - 1e-12
    result = permutation_test(
        metric,
        *all_exchanges()[0],
        unit_of_case=np.arange(5),
        permutations=32,
        seed=0,
        is_on_common_scale=False,
    )
    assert result.difference == pytest.approx(differences[0])
    assert result.p_value == pytest.approx(as_large.mean())
    assert 2 / 32 < result.p_value < 1


def test_side_by_side_each_nodule_keeps_the_mark_that_found_it() -> None:
    first = cohort(case("a", nodule(), mark(0.9)), case("b", nodule()))
    second = cohort(case("a", nodule(), mark(0.4)), case("b", nodule()))
    both = side_by_side(first, second, is_on_common_scale=False)
    assert both.hit_mark.tolist() == [0, -1, 1, -1]
    assert both.submission.marks["score"].to_list() == [0.9, 0.4]


def test_on_the_common_scale_scores_of_different_range_may_be_pooled() -> None:
    first = random_cases(5, abnormal=4, normal=2)
    second = exchanged(first, random_cases(6, abnormal=4, normal=2), (True,) * 6)
    stretched = tuple(
        replace(
            content,
            marks=tuple(
                with_score(item, 1000 * item.score - 5000)
                for item in content.marks
                if item.score is not None
            ),
        )
        for content in second
    )
    answers = [
        permutation_test(
            cpm,
            cohort(*first),
            cohort(*cases),
            unit_of_case=np.arange(6),
            permutations=64,
            seed=0,
        )
        for cases in (second, stretched)
    ]
    assert answers[0].p_value == answers[1].p_value
    assert answers[0].difference == pytest.approx(answers[1].difference)


def test_random_swaps_approach_all_swaps_and_repeat_with_the_seed() -> None:
    first = random_cases(5, abnormal=8, normal=4)
    second = exchanged(first, random_cases(6, abnormal=8, normal=4), (True,) * 12)
    cohorts = cohort(*first), cohort(*second)
    units = np.arange(12)
    exact = permutation_test(recall, *cohorts, unit_of_case=units, permutations=4096, seed=0)
    drawn = permutation_test(recall, *cohorts, unit_of_case=units, permutations=3000, seed=0)
    again = permutation_test(recall, *cohorts, unit_of_case=units, permutations=3000, seed=0)
    assert exact.is_exact
    assert not drawn.is_exact
    assert drawn == again
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.04)
    assert (
        in_english(drawn.method)
        == "permutation test, 3000 random swaps of algorithm labels by unit"
    )


def test_a_random_test_never_says_p_zero() -> None:
    many = tuple(case(f"{number}", nodule(), mark(0.5)) for number in range(20))
    none = tuple(replace(content, marks=()) for content in many)
    result = permutation_test(
        recall, cohort(*many), cohort(*none), unit_of_case=np.arange(20), permutations=99, seed=4
    )
    assert result.p_value == 1 / 100


def test_a_metric_that_counts_cases_without_their_weights_is_refused() -> None:
    def falses_per_listed_case(of: LabelledCohort, weight: WeightArray) -> FloatArray:
        return weight[:, of.false_case].sum(axis=1) / of.case_count

    noisy = cohort(case("a", nodule(), false_mark(0.5)), case("b"))
    with pytest.raises(InputError) as error:
        permutation_test(
            falses_per_listed_case,
            noisy,
            cohort(case("a", nodule()), case("b")),
            unit_of_case=np.arange(2),
            permutations=10,
            seed=0,
        )
    assert str(error.value) == (
        "permutation test: the metric gives a difference of 0.5 on the cases themselves and 0.25 "
        "with cases of weight 0 added. Use a metric that counts cases by their weights and "
        "compares scores only between hits and false positives."
    )


def test_the_cases_must_be_the_same() -> None:
    with pytest.raises(InputError, match="labelled on 3 and 2 cases, units are given for 3"):
        permutation_test(
            recall,
            cohort(*FINDER),
            cohort(*BLIND[:2]),
            unit_of_case=EACH,
            permutations=10,
            seed=0,
        )


def test_a_metric_undefined_for_one_algorithm_is_undefined() -> None:
    with pytest.raises(UndefinedError):
        permutation_test(
            precision,
            cohort(*FINDER),
            cohort(*BLIND),
            unit_of_case=EACH,
            permutations=10,
            seed=0,
        )


def test_p_values_of_equal_algorithms_are_even() -> None:
    random = np.random.default_rng(2)
    everything = cohort(*(case(f"{number}", nodule(), mark(0.5)) for number in range(12)))
    small = 0
    for trial in range(200):
        first, second = (
            replace(everything, is_hit=row, hit_mark=np.where(row, everything.hit_mark, -1))
            for row in random.random((2, 12)) < 0.6
        )
        result = permutation_test(
            recall, first, second, unit_of_case=np.arange(12), permutations=200, seed=trial
        )
        small += result.p_value <= 0.1
    assert small / 200 <= 0.15


def test_marks_without_scores_can_be_swapped() -> None:
    silent = [
        tuple(
            replace(case, marks=tuple(with_score(item, None) for item in case.marks))
            for case in cases
        )
        for cases in (FINDER, BLIND)
    ]
    result = permutation_test(
        recall, cohort(*silent[0]), cohort(*silent[1]), unit_of_case=EACH, permutations=8, seed=0
    )
    assert result.p_value == 2 / 8


def test_a_metric_without_a_value_is_undefined() -> None:
    def nothing(_: LabelledCohort, weight: WeightArray) -> FloatArray:
        return np.full(len(weight), np.nan)

    with undefined(match="undefined for one of the algorithms"):
        permutation_test(
            nothing, cohort(*FINDER), cohort(*BLIND), unit_of_case=EACH, permutations=8, seed=0
        )


def test_scores_of_only_one_algorithm_are_dropped() -> None:
    with_scores = cohort(*FINDER)
    without = replace(with_scores, has_scores=False)
    for first, second, expected in (
        (with_scores, with_scores, True),
        (with_scores, without, False),
        (without, with_scores, False),
    ):
        assert side_by_side(first, second, is_on_common_scale=False).has_scores is expected


def test_on_the_common_scale_hits_keep_their_order_and_their_place_between_false_positives() -> (
    None
):
    labelled = cohort(
        case("a", nodule(), mark(0.95), false_mark(0.9)),
        case("b", nodule(), mark(0.8), false_mark(0.3)),
        case("c", nodule(), mark(0.7)),
        case("d", nodule(), mark(0.6)),
        case("e", nodule(), mark(0.3)),
        case("f", nodule(), mark(0.1)),
    )
    both = side_by_side(labelled, labelled, is_on_common_scale=True)
    # none above .95; one above .8 .7 .6, which 1, 2 and 3 hits exceed; .3 is tied with the second
    hits = np.array([0, 1 + 1 / 13, 1 + 2 / 13, 1 + 3 / 13, 1.5, 2 + 5 / 13])
    assert both.hit_score == pytest.approx(-np.concatenate([hits, hits]))
    assert sorted(both.false_score) == pytest.approx([-1.5, -1.5, -0.5, -0.5])


def test_blocks_of_single_swaps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = cohort(*FINDER), cohort(*BLIND[:2], case("c", nodule(), mark(0.9)))

    def tested(permutations: int) -> Permutation:
        return permutation_test(
            recall, first, second, unit_of_case=EACH, permutations=permutations, seed=3
        )

    whole = tested(100)
    for elements in (1, 36):  # 1 and 3 swaps at a time
        monkeypatch.setattr(permutation, "_BLOCK_ELEMENTS", elements)
        assert tested(100) == whole
        assert (tested(5).swaps, tested(5).is_exact) == (5, False)
        assert (tested(8).swaps, tested(8).is_exact) == (8, True)


def test_a_difference_of_rounding_only_is_not_a_wrong_count() -> None:
    def noisy(of: LabelledCohort, weight: WeightArray) -> FloatArray:
        return recall(of, weight) + (1e-12 * weight[:, 0] if of.case_count > 3 else 0.0)

    same = cohort(*FINDER)
    result = permutation_test(noisy, same, same, unit_of_case=EACH, permutations=9, seed=0)
    assert result.difference == pytest.approx(0, abs=1e-11)


def test_boxes_of_only_one_algorithm_are_dropped() -> None:
    boxed = cohort(case("a", nodule(), mark(0.5, (0, 0, 0), Slice(0, 0, 0, 2, 2))))
    plain = cohort(case("a", nodule(), mark(0.5)))
    for first, second in ((boxed, plain), (plain, boxed)):
        assert side_by_side(first, second, is_on_common_scale=False).submission.slices is None
    both = side_by_side(boxed, boxed, is_on_common_scale=False).submission.slices
    assert both is not None
    assert both.height == 2


def test_marks_below_a_threshold_of_either_stay_in_the_joined_cohort() -> None:
    every = cohort(*FINDER)
    some = every.over(0.75)
    for first, second in ((some, every), (every, some), (some, some)):
        joined = side_by_side(first, second, is_on_common_scale=False)
        assert joined.at_every_score.is_hit.tolist() == [True] * 6
    assert side_by_side(every, every, is_on_common_scale=False).whole is None


def test_rounding_of_large_differences_is_not_a_wrong_count_either() -> None:
    def noisy(of: LabelledCohort, weight: WeightArray) -> FloatArray:
        return 1e6 * recall(of, weight) + (1e-4 * weight[:, 0] if of.case_count > 3 else 0.0)

    result = permutation_test(
        noisy, cohort(*FINDER), cohort(*BLIND), unit_of_case=EACH, permutations=9, seed=0
    )
    assert result.difference == pytest.approx(1e6)
