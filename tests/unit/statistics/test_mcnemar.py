from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from builders.tables import case, cohort, mark, nodule
from builders.words import undefined
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.mcnemar import (
    PairedHits,
    compare_detection,
    durkalski,
    eliasziw_donner,
    mcnemar_exact,
    obuchowski,
    paired_hits,
)


def hits(*patients: str) -> PairedHits:
    """One word per patient, one letter per nodule: b both, f only first, s only second, n none."""
    letters = [(number, letter) for number, word in enumerate(patients) for letter in word]
    return PairedHits(
        np.array([letter in "bf" for _, letter in letters]),
        np.array([letter in "bs" for _, letter in letters]),
        np.array([number for number, _ in letters]),
    )


THREE = hits("ffb", "fs", "fnnb")
"""Patients of 3, 2 and 4 nodules; only first 2 1 1, only second 0 1 0."""


def test_exact_test_halves_the_discordant_nodules() -> None:
    # 4 to 1: 2 * (1 + 5) / 32
    test = mcnemar_exact(THREE)
    assert test.statistic == 4
    assert test.p_value == pytest.approx(12 / 32)


def test_durkalski_by_hand() -> None:
    # shares 2/3, 0, 1/4: (11/12)^2 / (4/9 + 1/16) = 121/73
    assert durkalski(THREE).statistic == pytest.approx(121 / 73)
    assert durkalski(THREE).p_value == pytest.approx(stats.chi2.sf(121 / 73, 1))


def test_obuchowski_by_hand() -> None:
    # differences 2 0 1: (2/3) * 9 / 5
    assert obuchowski(THREE).statistic == pytest.approx(1.2)


def test_eliasziw_donner_by_hand() -> None:
    # cells (both, first, second, none) by patient: 1 2 0 0 | 0 1 1 0 | 1 1 0 2; n = 3 2 4, N = 9.
    cells = np.array([[1, 2, 0, 0], [0, 1, 1, 0], [1, 1, 0, 2]])
    n, shares = cells.sum(1), cells.sum(0) / 9
    between = (
        sum((cells[k, c] - n[k] * shares[c]) ** 2 / n[k] for k in range(3) for c in range(4)) / 3
    )
    within = sum(cells[k, c] * (n[k] - cells[k, c]) / n[k] for k in range(3) for c in range(4)) / 6
    typical = 3 - (0 + 1 + 1) / (3 * 2 * 3)
    pooled = (between - within) / (between + (typical - 1) * within)
    correlation = max(0, 1 / (1 + 5 / 9 * (1 - pooled) / pooled)) if pooled > 0 else 0
    # discordant 2 2 1: mean 5/3, typical 5/3 - (2/3) / (3 * 2 * 5/3), then weighted
    mean = 5 / 3
    base = mean - (2 / 3) / (6 * mean)
    inflation = 1 + (base + 3 * (mean - base) - 1) * correlation
    assert eliasziw_donner(THREE).statistic == pytest.approx((4 - 1) ** 2 / 5 / inflation)


def test_eliasziw_donner_shrinks_the_statistic_where_patients_agree_with_themselves() -> None:
    alike = hits("ffff", "ssss", "ffff", "ffff", "ssss", "ffff")
    plain = (16 - 8) ** 2 / 24
    assert eliasziw_donner(alike).statistic == pytest.approx(plain / 4)  # correlation 1, size 4


def test_nodules_that_are_all_discordant_in_the_same_way_have_no_correlation() -> None:
    assert eliasziw_donner(hits("ff", "ff")).statistic == pytest.approx((4 - 0) ** 2 / 4)


def test_one_nodule_per_patient_needs_no_correction() -> None:
    single = hits("f", "f", "f", "s", "b", "n")
    assert eliasziw_donner(single).statistic == pytest.approx((3 - 1) ** 2 / 4)
    assert durkalski(single).statistic == pytest.approx((3 - 1) ** 2 / 4)
    assert obuchowski(single).statistic == pytest.approx((3 - 1) ** 2 / 4 * 5 / 6)


def test_swapping_the_algorithms_changes_no_p_value() -> None:
    turned = PairedHits(THREE.second, THREE.first, THREE.unit)
    for test in (mcnemar_exact, durkalski, obuchowski, eliasziw_donner):
        assert test(turned).p_value == pytest.approx(test(THREE).p_value)


def test_the_numbers_of_patients_mean_nothing() -> None:
    renamed = PairedHits(THREE.first, THREE.second, 100 - 7 * THREE.unit)
    for test in (durkalski, obuchowski, eliasziw_donner):
        assert test(renamed).statistic == pytest.approx(test(THREE).statistic)


def test_all_forms_together_with_table_and_difference() -> None:
    comparison = compare_detection(THREE)
    assert comparison.difference.value == pytest.approx(3 / 9)
    # ratio estimator: d = 2 0 1, n = 3 2 4, p = 1/3: residuals 1, -2/3, -1/3
    error = np.sqrt(3 / (2 * 81) * (1 + 4 / 9 + 1 / 9))
    assert comparison.difference.low == pytest.approx(1 / 3 - stats.norm.ppf(0.975) * error)
    assert comparison.durkalski == durkalski(THREE)
    assert comparison.obuchowski == obuchowski(THREE)
    assert comparison.eliasziw_donner == eliasziw_donner(THREE)
    assert comparison.exact == mcnemar_exact(THREE)


def test_one_patient_has_a_difference_but_no_interval() -> None:
    comparison = compare_detection(hits("ffb"))
    assert comparison.difference.value == pytest.approx(2 / 3)
    assert comparison.difference.low is None
    assert (
        in_english(comparison.difference.reason) == "one patient gives no variance between patients"
    )


def test_algorithms_that_find_the_same_cannot_be_distinguished() -> None:
    with undefined(match="no nodule was found by exactly one of the algorithms"):
        compare_detection(hits("bn", "b"))


def test_discordance_that_cancels_within_every_patient_is_undefined_between_patients() -> None:
    balanced = hits("fs", "sf")
    assert mcnemar_exact(balanced).p_value == 1
    with pytest.raises(UndefinedError):
        durkalski(balanced)


def test_no_nodules_leave_the_test_undefined() -> None:
    with undefined(match="no nodules that both algorithms had to find"):
        compare_detection(hits())


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match="are given for 1, 2 and 2 nodules"):
        PairedHits(np.array([True]), np.array([True, False]), np.array([0, 1]))


def test_hits_are_paired_by_nodule_with_the_patient_of_their_case() -> None:
    first = cohort(
        case("a", nodule(), mark(0.5)), case("b", nodule(), nodule(10, (100, 0, 0)), mark(0.4))
    )
    second = cohort(case("a", nodule()), case("b", nodule(), nodule(10, (100, 0, 0)), mark(0.4)))
    paired = paired_hits(first, second, np.array([4, 2]))
    assert paired.first.tolist() == [True, True, False]
    assert paired.second.tolist() == [False, True, False]
    assert paired.unit.tolist() == [4, 2, 2]


PATIENTS, EACH = 30, 6
UNIT = np.repeat(np.arange(PATIENTS), EACH)


def leaning_patients(random: np.random.Generator) -> PairedHits:
    """Within a patient the same algorithm tends to win the discordant nodules."""
    leaning = np.repeat(random.random(PATIENTS) < 0.5, EACH)
    wins = np.where(random.random(len(UNIT)) < 0.9, leaning, ~leaning)
    is_discordant = random.random(len(UNIT)) < 0.4
    return PairedHits(is_discordant & wins, is_discordant & ~wins, UNIT)


def alike_nodules(random: np.random.Generator) -> PairedHits:
    """Nodules of a patient resemble each other in all four outcomes with correlation 0.3."""
    shares = random.dirichlet(np.array([0.4, 0.2, 0.2, 0.2]) * 0.7 / 0.3, PATIENTS)
    outcome = np.array([random.choice(4, size=EACH, p=share) for share in shares]).ravel()
    return PairedHits(np.isin(outcome, [0, 1]), np.isin(outcome, [0, 2]), UNIT)


def rejected(test: Callable[[PairedHits], Significance], draw: Callable[..., PairedHits]) -> float:
    """How often a test at 5 % rejects though the algorithms are equally good."""
    random = np.random.default_rng(5)
    return float(np.mean([test(draw(random)).p_value < 0.05 for _ in range(400)]))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [leaning_patients, alike_nodules])
def test_clustered_forms_keep_the_error_rate_where_the_plain_test_does_not(
    draw: Callable[..., PairedHits],
) -> None:
    assert rejected(mcnemar_exact, draw) > 0.12
    assert rejected(durkalski, draw) < 0.08
    assert rejected(obuchowski, draw) < 0.08


def test_eliasziw_donner_keeps_the_error_rate_only_where_all_outcomes_correlate_alike() -> None:
    assert rejected(eliasziw_donner, alike_nodules) < 0.08
    assert rejected(eliasziw_donner, leaning_patients) > 0.08


def slow_eliasziw_donner(*patients: str) -> float:
    """The statistic from the letters of each patient, cell by cell."""
    sizes = [len(word) for word in patients]
    total, units = sum(sizes), len(patients)
    between = within = 0.0
    for letter in "bfsn":
        share = sum(word.count(letter) for word in patients) / total
        for word, size in zip(patients, sizes, strict=True):
            count = word.count(letter)
            between += (count - size * share) ** 2 / size / units
            within += count * (size - count) / size / (total - units)
    mean = total / units
    typical = mean - sum((size - mean) ** 2 for size in sizes) / (units * (units - 1) * mean)
    pooled = (between - within) / (between + (typical - 1) * within)
    discordant = [word.count("f") + word.count("s") for word in patients]
    share = sum(discordant) / total
    correlation = 1 / (1 + share * (1 - pooled) / pooled) if pooled > 0 else 0.0
    # Eliasziw and Donner's size: sum of squares over sum, of patients with a discordant nodule
    size = sum(count**2 for count in discordant) / sum(discordant)
    first, second = (sum(word.count(letter) for word in patients) for letter in "fs")
    return (first - second) ** 2 / (first + second) / (1 + (size - 1) * correlation)


@pytest.mark.parametrize(
    "patients",
    [
        ("fff", "sn", "bbbb", "fsf", "nn"),
        ("ffb", "bb", "ssn", "nnn", "fff"),
        ("ffff", "bb", "n", "s"),
        ("ff", "fs", "nn", "bbn", "bb", "nnn", "ffs"),
    ],
)
def test_eliasziw_donner_of_patients_who_agree_with_themselves(patients: tuple[str, ...]) -> None:
    test = eliasziw_donner(hits(*patients))
    assert test.statistic == pytest.approx(slow_eliasziw_donner(*patients))
    assert test.degrees_of_freedom == (1.0,)
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 1))
    first, second = (sum(word.count(letter) for word in patients) for letter in "fs")
    assert test.statistic < (first - second) ** 2 / (first + second)


def test_a_single_patient_with_discordant_nodules() -> None:
    # cells 2 1 0 0 among 3: no variance between patients, so no correlation
    assert eliasziw_donner(hits("ffb")).statistic == pytest.approx(2)


def test_two_patients_by_the_slow_way_and_the_degrees_of_freedom() -> None:
    two = ("fffb", "ss")
    assert eliasziw_donner(hits(*two)).statistic == pytest.approx(slow_eliasziw_donner(*two))
    for test in (durkalski, obuchowski):
        assert test(THREE).degrees_of_freedom == (1.0,)


def test_both_bounds_are_there_or_neither_is() -> None:
    assert compare_detection(hits("ffb")).difference.high is None
    error = np.sqrt(3 / (2 * 81) * (1 + 4 / 9 + 1 / 9))
    high = compare_detection(THREE).difference.high
    assert high == pytest.approx(1 / 3 + stats.norm.ppf(0.975) * error)
