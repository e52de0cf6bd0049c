import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.words import undefined
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.agreement import (
    Scale,
    Weights,
    class_table,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
)

NAN = np.nan
THREE_CLASSES = np.array([[20, 5, 0], [3, 15, 2], [0, 4, 11]])


@pytest.mark.parametrize(
    ("weights", "kappa"), [("none", 0.64255), ("linear", 0.72185), ("quadratic", 0.80734)]
)
def test_kappa_of_a_worked_table(weights: Weights, kappa: float) -> None:
    assert cohen_kappa(THREE_CLASSES, weights=weights).value == pytest.approx(kappa, abs=5e-6)


def test_kappa_by_hand() -> None:
    # observed .7, by chance .5 * .6 + .5 * .4 = .5
    assert cohen_kappa(np.array([[40, 10], [20, 30]])).value == pytest.approx(0.4)


def test_perfect_agreement_is_one_without_error() -> None:
    kappa = cohen_kappa(np.diag([4, 6]))
    assert (kappa.value, kappa.low, kappa.high) == pytest.approx((1, 1, 1))


def test_kappa_of_a_single_class_is_undefined() -> None:
    with undefined(match="only one class"):
        cohen_kappa(np.array([[5, 0], [0, 0]]))


def test_kappa_needs_a_square_table() -> None:
    with pytest.raises(InputError, match=r"has the shape \(2, 3\)\. Give a square table"):
        cohen_kappa(np.ones((2, 3)))


def test_kappa_of_no_subjects_is_undefined() -> None:
    with undefined(match="rated by both readers"):
        cohen_kappa(np.zeros((2, 2)))


def test_class_table_leaves_out_subjects_that_one_reader_missed() -> None:
    table = class_table(np.array([0, 0, 1, NAN]), np.array([0, 1, NAN, 1]), 2)
    assert table.tolist() == [[1, 1], [0, 0]]


def from_counts(counts: list[list[int]]) -> np.ndarray:
    """Ratings with these numbers of readers in each class, per subject."""
    return np.array([np.repeat(np.arange(len(row)), row) for row in counts], dtype=float)


TEN_SUBJECTS = from_counts(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""Fourteen readers, five classes: the example by which Fleiss' kappa is usually taught."""


def test_fleiss_kappa_of_the_usual_example() -> None:
    assert fleiss_kappa(TEN_SUBJECTS).value == pytest.approx(0.210, abs=5e-4)


def test_fleiss_kappa_by_hand() -> None:
    # three subjects, two readers: 00 01 11; observed 2/3, shares 1/2: chance 1/2
    assert fleiss_kappa(np.array([[0.0, 0], [0, 1], [1, 1]])).value == pytest.approx(1 / 3)


def test_gwet_ac1_by_hand() -> None:
    # shares .5: chance 2 * .5 * .5 / 1 = .5; with three classes on offer 2 * .25 / 2 = .25
    ratings = np.array([[0.0, 0], [0, 1], [1, 1]])
    assert gwet_ac1(ratings).value == pytest.approx((2 / 3 - 0.5) / 0.5)
    assert gwet_ac1(ratings, classes=3).value == pytest.approx((2 / 3 - 0.25) / 0.75)


def test_gwet_ac1_of_a_prevalent_class() -> None:
    # 118 both no, 5 and 2 disagree, 0 both yes: kappa near 0 though 94 % agree.
    # shares .972 .028: chance 2 * .972 * .028 = .054432
    counts = [(0.0, 0.0)] * 118 + [(0.0, 1.0)] * 5 + [(1.0, 0.0)] * 2
    ratings = np.array(counts)
    assert gwet_ac1(ratings).value == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
    assert abs(cohen_kappa(np.array([[118, 5], [2, 0]])).value or 1) < 0.03


FOUR_OBSERVERS = np.array(
    [
        [1, 1, NAN, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [NAN, 5, 5, 5],
        [NAN, NAN, 1, 1],
        [NAN, NAN, 3, NAN],
    ]
)
"""Krippendorff's own example with missing ratings."""


@pytest.mark.parametrize(
    ("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorff_s_example(scale: Scale, alpha: float) -> None:
    coefficient = krippendorff_alpha(FOUR_OBSERVERS, scale=scale)
    assert coefficient.value == pytest.approx(alpha, abs=5e-4)


def test_alpha_by_hand() -> None:
    # pairs 00 01 11: coincidences 2 1 | 1 2, margins 3 3; 1 - (2/6) / (18/30)
    assert krippendorff_alpha(np.array([[0.0, 0], [0, 1], [1, 1]])).value == pytest.approx(4 / 9)


def test_a_subject_rated_once_says_nothing() -> None:
    for coefficient in (fleiss_kappa, gwet_ac1, krippendorff_alpha):
        with_it = coefficient(FOUR_OBSERVERS)
        without = coefficient(FOUR_OBSERVERS[:-1])
        assert with_it.value == pytest.approx(without.value)


def test_equal_ratings_leave_alpha_and_kappa_undefined_but_not_ac1() -> None:
    same = np.ones((4, 2))
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        with undefined(match="chance explains all agreement"):
            coefficient(same)
    assert gwet_ac1(same).value == 1


def test_agreement_needs_two_subjects_rated_twice() -> None:
    with undefined(match="two subjects that two readers rated"):
        fleiss_kappa(np.array([[1.0, 2.0], [1.0, NAN]]))


def test_the_interval_leaves_out_one_subject_after_the_other() -> None:
    ratings = np.array([[0.0, 0], [0, 1], [1, 1], [1, 1], [0, 0]])
    left_out = np.array(
        [fleiss_kappa(np.delete(ratings, index, axis=0)).value for index in range(5)], dtype=float
    )
    error = np.sqrt(4 / 5 * ((left_out - left_out.mean()) ** 2).sum())
    kappa = fleiss_kappa(ratings)
    assert kappa.high == pytest.approx((kappa.value or 0) + 1.959964 * error, abs=1e-6)
    assert in_english(kappa.method) == "Fleiss' kappa, jackknife over subjects"


def test_a_coefficient_without_interval_says_why() -> None:
    alpha = krippendorff_alpha(np.array([[1.0, 1], [1, 1], [1, 2]]))
    assert alpha.value is not None
    assert alpha.low is None
    assert in_english(alpha.reason).startswith("no interval: ")


RATINGS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=3, max_size=8)


@settings(max_examples=60)
@given(RATINGS, st.permutations(range(3)))
def test_the_order_of_readers_is_free(rows: list[list[int]], order: list[int]) -> None:
    ratings = np.array(rows, dtype=float)
    for coefficient in (fleiss_kappa, gwet_ac1, krippendorff_alpha):
        try:
            value = coefficient(ratings).value
        except UndefinedError:
            continue
        assert coefficient(ratings[:, order]).value == pytest.approx(value)
        assert value is not None
        assert value <= 1 + 1e-12


@settings(max_examples=60)
@given(RATINGS)
def test_nominal_alpha_is_free_of_names_and_interval_alpha_of_origin_and_unit(
    rows: list[list[int]],
) -> None:
    ratings = np.array(rows, dtype=float)
    try:
        nominal, interval = (
            krippendorff_alpha(ratings, scale="nominal").value,
            krippendorff_alpha(ratings, scale="interval").value,
        )
    except UndefinedError:
        return
    names = np.array([7.0, -2.0, 30.0, 1.0])[np.array(rows)]
    assert krippendorff_alpha(names, scale="nominal").value == pytest.approx(nominal)
    assert krippendorff_alpha(10 - 3 * ratings, scale="interval").value == pytest.approx(interval)


def test_two_subjects_that_were_rated_twice_are_enough() -> None:
    assert fleiss_kappa(np.array([[0.0, 0.0], [1.0, 1.0]])).value == pytest.approx(1)


def test_the_error_of_kappa_is_that_of_fleiss_cohen_and_everitt() -> None:
    """Two classes: the variance written out cell by cell."""
    estimate = cohen_kappa(np.array([[40, 10], [20, 30]]))
    share, kappa, chance = np.array([[0.4, 0.1], [0.2, 0.3]]), 0.4, 0.5
    row, column = share.sum(axis=1), share.sum(axis=0)
    agreed = sum(share[i, i] * (1 - (row[i] + column[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    apart = sum(share[i, 1 - i] * (column[i] + row[1 - i]) ** 2 for i in (0, 1))
    left = (kappa - chance * (1 - kappa)) ** 2
    variance = (agreed + (1 - kappa) ** 2 * apart - left) / (100 * (1 - chance) ** 2)
    half = 1.959963984540054 * variance**0.5
    assert (estimate.low, estimate.high) == pytest.approx((kappa - half, kappa + half))
    wide = cohen_kappa(np.array([[40, 10], [20, 30]]), level=0.99)
    assert wide.high == pytest.approx(kappa + 2.5758293035489004 * variance**0.5)


def test_perfect_agreement_has_no_error_however_many_subjects_there_are() -> None:
    for first in range(1, 15):
        for second in range(1, 15):
            kappa = cohen_kappa(np.diag([first, second, 3]))
            bounds = (kappa.low, kappa.value, kappa.high)
            assert bounds == pytest.approx((1, 1, 1), abs=1e-6)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_two_classes_leave_nothing_to_weigh(weights: Weights) -> None:
    table = np.array([[40, 10], [20, 30]])
    plain, weighed = cohen_kappa(table), cohen_kappa(table, weights=weights)
    bounds = (weighed.low, weighed.value, weighed.high)
    assert bounds == pytest.approx((plain.low, plain.value, plain.high))
    assert plain.method == Notice("cohen_kappa", {"weights": None})
    assert weighed.method == Notice("cohen_kappa", {"weights": weights})


def test_kappa_needs_two_classes() -> None:
    with pytest.raises(InputError, match=r"has the shape \(1, 1\)\."):
        cohen_kappa(np.array([[5]]))
    with pytest.raises(InputError, match=r"has the shape \(4,\)\."):
        cohen_kappa(np.ones(4))


def test_one_subject_in_two_classes_has_a_kappa_of_0() -> None:
    assert cohen_kappa(np.array([[0, 1], [0, 0]])).value == 0
