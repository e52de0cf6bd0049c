import numpy as np
import pytest

from builders.words import sentences, undefined
from nodulebench.core.errors import InputError
from nodulebench.statistics.groups import (
    paired_t,
    relative_difference,
    rule_effect,
    unpaired_t,
    wilcoxon,
)
from nodulebench.statistics.multiplicity import holm

RULES = ("center_hit", "center_distance", "area_overlap")
VALUES = np.array(
    [[0.50, 0.51, 0.40], [0.60, 0.62, 0.41], [0.55, 0.55, 0.50], [0.70, 0.73, 0.45]]
)  # algorithms x rules


def test_each_rule_has_mean_and_sample_sd_over_algorithms() -> None:
    group = rule_effect(VALUES, RULES).groups["center_hit"]
    assert group.mean == pytest.approx(0.5875)
    assert group.sd == pytest.approx(np.sqrt(0.021875 / 3))  # squares .0076.. .00016 .0014 .0127


def test_all_pairs_of_rules_are_tested_both_ways() -> None:
    effect = rule_effect(VALUES, RULES)
    assert [(pair.first, pair.second) for pair in effect.pairs] == [
        ("center_hit", "center_distance"),
        ("center_hit", "area_overlap"),
        ("center_distance", "area_overlap"),
    ]
    pair = effect.pairs[1]
    assert pair.mean_difference == pytest.approx(0.1475)
    assert pair.unpaired_t == unpaired_t(effect.groups["center_hit"], effect.groups["area_overlap"])
    assert pair.paired_t == paired_t(VALUES[:, 0], VALUES[:, 2])
    assert pair.wilcoxon == wilcoxon(VALUES[:, 0], VALUES[:, 2])


def test_paired_tests_are_adjusted_over_the_pairs_of_rules() -> None:
    pairs = rule_effect(VALUES, RULES).pairs
    plain = [pair.paired_t.p_value for pair in pairs if pair.paired_t]
    assert [pair.paired_t_holm for pair in pairs] == pytest.approx(list(holm(plain)))


def test_an_undefined_test_is_none_with_its_reason_and_leaves_the_others() -> None:
    same = VALUES.copy()
    same[:, 1] = same[:, 0]
    effect = rule_effect(same, RULES)
    assert effect.pairs[0].paired_t is None
    assert effect.pairs[0].paired_t_holm is None
    assert effect.pairs[1].paired_t_holm == pytest.approx(
        2 * paired_t(VALUES[:, 0], VALUES[:, 2]).p_value
    )
    assert sentences(effect.reasons) == (
        "center_hit against center_distance: "
        "the differences do not vary between units, so the test is undefined",
        "center_hit against center_distance: the pairs do not differ, so the rank test is "
        "undefined",
    )


def test_two_rules_have_no_friedman_test() -> None:
    effect = rule_effect(VALUES[:, ::2], RULES[::2])
    assert effect.friedman is None
    assert sentences(effect.reasons) == (
        "Friedman: Friedman's test needs at least three conditions",
    )


def test_an_undefined_metric_is_refused() -> None:
    holes = VALUES.copy()
    holes[0, 0] = np.nan
    with undefined(match="undefined for some algorithm under some rule"):
        rule_effect(holes, RULES)


def test_columns_must_be_the_rules() -> None:
    with pytest.raises(InputError) as error:
        rule_effect(VALUES, RULES[:2])
    assert str(error.value) == (
        "values by rule: have the shape (4, 3), for 2 rules. "
        "Give one row per algorithm and one column per rule."
    )


def test_relative_difference_is_the_change_of_hits_over_the_baseline() -> None:
    assert relative_difference(41, 100) == pytest.approx(-0.59)
    assert relative_difference(103, 100) == pytest.approx(0.03)


def test_relative_difference_without_baseline_hits_is_undefined() -> None:
    with undefined(match="no nodule is hit under the baseline rule"):
        relative_difference(3, 0)
