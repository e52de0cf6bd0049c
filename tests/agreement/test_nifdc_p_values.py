"""P values printed by the NIFDC paper (Wang et al., Frontiers in Public Health 2022).

The paper prints group means, three t-test P values and one ANOVA P value for each metric, but no
standard deviations. With ten algorithms and unpaired equal-variance tests, the t-test P values
determine the three deviations; the ANOVA P value then follows and has to agree with print.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy import stats

from nodulebench.core.documents.comparison import GroupSummary
from nodulebench.statistics.groups import one_way_anova, unpaired_t

ALGORITHMS = 10
PAIRS = ((0, 2), (1, 2), (0, 1))  # hit-overlap, distance-overlap, hit-distance


@dataclass(frozen=True)
class Printed:
    means: tuple[float, float, float]  # hit, distance, overlap, in percent
    t_tests: tuple[float, float, float]  # in the order of PAIRS
    anova: float
    anova_digits: int
    sds: tuple[float, float, float]  # implied


PAPER = {
    "recall": Printed(
        (54.68, 55.43, 40.35), (0.0075, 0.0054, 0.8503), 0.0033, 4, (8.73, 8.79, 12.26)
    ),
    "precision": Printed(
        (38.19, 38.69, 27.75), (0.0954, 0.0829, 0.9394), 0.152, 3, (14.45, 14.56, 11.96)
    ),
    "f1": Printed((42.39, 42.96, 31.13), (0.0120, 0.0090, 0.8782), 0.0080, 4, (8.17, 8.23, 9.78)),
}


def groups(means: tuple[float, ...], sds: tuple[float, ...]) -> list[GroupSummary]:
    return [GroupSummary(mean, sd, ALGORITHMS) for mean, sd in zip(means, sds, strict=True)]


def implied_sds(means: tuple[float, ...], p_values: tuple[float, ...]) -> tuple[float, ...]:
    """Deviations whose unpaired t-tests give these P values: sums of two variances each."""
    sums = [
        ALGORITHMS * ((means[i] - means[j]) / stats.t.isf(p / 2, 2 * ALGORITHMS - 2)) ** 2
        for (i, j), p in zip(PAIRS, p_values, strict=True)
    ]
    which = np.array([[float(k in pair) for k in range(3)] for pair in PAIRS])
    return tuple(np.sqrt(np.linalg.solve(which, sums)).tolist())


@pytest.mark.parametrize("metric", PAPER)
def test_nine_t_test_p_values_to_the_printed_digits(metric: str) -> None:
    printed = PAPER[metric]
    group = groups(printed.means, implied_sds(printed.means, printed.t_tests))
    computed = [round(unpaired_t(group[i], group[j]).p_value, 4) for i, j in PAIRS]
    assert computed == list(printed.t_tests)


@pytest.mark.parametrize("metric", PAPER)
def test_implied_deviations(metric: str) -> None:
    printed = PAPER[metric]
    deviations = implied_sds(printed.means, printed.t_tests)
    assert [round(sd, 2) for sd in deviations] == list(printed.sds)


@pytest.mark.parametrize("metric", PAPER)
def test_three_anova_p_values_within_the_rounding_band(metric: str) -> None:
    # the ANOVA P values that means and t-test P values give which round to the printed ones
    printed = PAPER[metric]
    band = [
        one_way_anova(groups(means, implied_sds(means, p_values))).p_value
        for means in product(*[(mean - 0.005, mean + 0.005) for mean in printed.means])
        for p_values in product(*[(p - 5e-5, p + 5e-5) for p in printed.t_tests])
    ]
    assert min(band) <= printed.anova <= max(band)
    if metric == "precision":
        assert (round(min(band), 4), round(max(band), 4)) == (0.1466, 0.1552)


def test_the_anova_of_recall_and_f1_to_the_printed_digits() -> None:
    for metric in ("recall", "f1"):
        printed = PAPER[metric]
        group = groups(printed.means, implied_sds(printed.means, printed.t_tests))
        assert round(one_way_anova(group).p_value, 4) == printed.anova


def test_the_marks_of_the_box_plots() -> None:
    marks = {}
    for metric, printed in PAPER.items():
        group = groups(printed.means, printed.sds)
        marks[metric] = [unpaired_t(group[i], group[j]).mark for i, j in PAIRS]
    assert marks == {
        "recall": ["**", "**", "ns"],
        "precision": ["ns", "ns", "ns"],
        "f1": ["*", "**", "ns"],
    }
