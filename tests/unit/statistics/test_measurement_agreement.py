import numpy as np
import pytest
from scipy import stats

from builders.words import undefined
from nodulebench.core.notices import Notice
from nodulebench.statistics.agreement import (
    IccForm,
    bland_altman,
    concordance_correlation,
    intraclass_correlation,
)

SIX_TARGETS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)
"""Four raters on six targets: the example of Shrout and Fleiss 1979."""


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("1,1", 0.17, -0.133, 0.72),
        ("2,1", 0.29, 0.019, 0.76),
        ("3,1", 0.71, 0.342, 0.95),
        ("1,k", 0.44, -0.884, 0.91),
        ("2,k", 0.62, 0.071, 0.93),
        ("3,k", 0.91, 0.676, 0.99),
    ],
)
def test_six_forms_on_the_example_of_shrout_and_fleiss(
    form: IccForm, value: float, low: float, high: float
) -> None:
    # values as printed in the paper; intervals as R's psych package gives them
    icc = intraclass_correlation(SIX_TARGETS, form=form)
    assert icc.value == pytest.approx(value, abs=5e-3)
    assert icc.low == pytest.approx(low, abs=6e-4)
    assert icc.high == pytest.approx(high, abs=6e-3)


def test_icc_by_hand() -> None:
    # subjects 1 3, 5 5 and 8 8: means 2 5 8, 36 between on 2, readers ±1/3
    table = np.array([[1.0, 3.0], [5.0, 5.0], [8.0, 8.0]])
    between = 2 * 18 / 2
    within = 2 / 3
    assert intraclass_correlation(table, form="1,1").value == pytest.approx(
        (between - within) / (between + within)
    )


def test_a_shift_of_one_reader_lowers_agreement_but_not_consistency() -> None:
    shifted = SIX_TARGETS + np.array([0, 0, 0, 10])
    assert intraclass_correlation(shifted, form="3,1").value == pytest.approx(
        intraclass_correlation(SIX_TARGETS, form="3,1").value
    )
    assert (intraclass_correlation(shifted, form="2,1").value or 0) < 0.29


def test_the_mean_of_k_measurements_follows_spearman_and_brown() -> None:
    for kind in ("1", "2", "3"):
        single = intraclass_correlation(SIX_TARGETS, form=f"{kind},1").value or 0  # type: ignore[arg-type]
        of_mean = intraclass_correlation(SIX_TARGETS, form=f"{kind},k").value  # type: ignore[arg-type]
        assert of_mean == pytest.approx(4 * single / (1 + 3 * single))


def test_holes_in_the_measurements_leave_icc_undefined() -> None:
    with undefined(match="every reader on every subject"):
        intraclass_correlation(np.array([[1.0, np.nan], [2.0, 3.0]]))


def test_readers_without_any_error_leave_the_interval_undefined() -> None:
    with undefined(match="agree without error"):
        intraclass_correlation(np.array([[1.0, 1.0], [2.0, 2.0]]))


LARGE_METER = np.array(
    [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427.0]
)
MINI_METER = np.array(
    [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451.0]
)
"""Peak flow by two meters: the example of Bland and Altman 1986."""


def test_limits_of_the_example_of_bland_and_altman() -> None:
    agreement = bland_altman(LARGE_METER, MINI_METER)
    assert agreement.bias.value == pytest.approx(-2.1, abs=0.05)
    assert agreement.standard_deviation == pytest.approx(38.8, abs=0.05)
    # the paper rounds 1.96 to 2: -79.7 and 75.5
    assert agreement.lower.value == pytest.approx(-2.1 - 1.96 * 38.8, abs=0.1)
    assert agreement.upper.value == pytest.approx(-2.1 + 1.96 * 38.8, abs=0.1)
    # standard error of the bias 9.4, interval -22.0 to 17.8
    assert (agreement.bias.low, agreement.bias.high) == pytest.approx((-22.0, 17.8), abs=0.1)
    assert agreement.count == 17


def test_the_interval_of_a_limit_by_hand() -> None:
    agreement = bland_altman(LARGE_METER, MINI_METER)
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 16)
    error = agreement.standard_deviation * np.sqrt(1 / 17 + z**2 / 32)
    assert agreement.lower.value is not None
    assert agreement.lower.low == pytest.approx(agreement.lower.value - t * error)


def test_about_the_named_share_of_differences_is_within_the_limits() -> None:
    random = np.random.default_rng(2)
    first, second = random.normal(size=(2, 4000))
    agreement = bland_altman(first, second, share=0.8)
    difference = first - second
    inside = (difference > (agreement.lower.value or 0)) & (
        difference < (agreement.upper.value or 0)
    )
    assert inside.mean() == pytest.approx(0.8, abs=0.02)


def test_one_pair_has_no_limits() -> None:
    with undefined(match="two pairs"):
        bland_altman(np.array([1.0]), np.array([2.0]))


def test_concordance_by_hand() -> None:
    # x 1 2 3, y 2 3 4: covariance 2/3, variances 2/3, shift 1: (4/3) / (4/3 + 1) = 4/7
    concordance = concordance_correlation(np.array([1.0, 2, 3]), np.array([2.0, 3, 4]))
    assert concordance.value == pytest.approx(4 / 7)


def test_concordance_interval_by_the_published_formula_where_the_shift_is_large() -> None:
    x, y = np.array([1.0, 2, 3, 5, 9]), np.array([4.0, 4, 7, 9, 14])
    concordance = concordance_correlation(x, y)
    p, r = concordance.value or 0, np.corrcoef(x, y)[0, 1]
    u = (x.mean() - y.mean()) / np.sqrt(x.std() * y.std())
    # the standard error of the coefficient itself, then that of its Fisher z
    inner = (1 - r**2) * p**2 * (1 - p**2) / r**2 + 2 * p**3 * (1 - p) * u**2 / r
    error = np.sqrt((inner - 0.5 * p**4 * u**4 / r**2) / (len(x) - 2)) / (1 - p**2)
    z = np.log((1 + p) / (1 - p)) / 2
    bounds = np.tanh([z - 1.959963984540054 * error, z + 1.959963984540054 * error])
    assert (concordance.low, concordance.high) == pytest.approx(tuple(bounds), abs=1e-12)


def test_concordance_of_equal_measurements_is_one() -> None:
    concordance = concordance_correlation(np.array([1.0, 2, 4]), np.array([1.0, 2, 4]))
    assert concordance.value == pytest.approx(1)
    assert concordance.low is None


def test_concordance_never_exceeds_correlation() -> None:
    concordance = concordance_correlation(LARGE_METER, MINI_METER)
    assert concordance.value is not None
    assert concordance.value <= np.corrcoef(LARGE_METER, MINI_METER)[0, 1]
    assert concordance.value == pytest.approx(0.943, abs=5e-4)


def test_concordance_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(9)
    covered = 0
    for _ in range(300):
        x = random.normal(size=60)
        y = 0.2 + 0.9 * x + random.normal(scale=0.4, size=60)
        truth = 2 * 0.9 / (1 + 0.81 + 0.16 + 0.04)
        concordance = concordance_correlation(x, y)
        assert concordance.low is not None
        assert concordance.high is not None
        covered += concordance.low <= truth <= concordance.high
    assert 0.91 <= covered / 300 <= 0.99


def test_measurements_that_do_not_vary_have_no_concordance() -> None:
    with undefined(match="that vary"):
        concordance_correlation(np.ones(4), np.arange(4.0))


def test_one_reader_has_no_intraclass_correlation() -> None:
    with undefined(match="two subjects and two readers"):
        intraclass_correlation(np.ones((4, 1)))


@pytest.mark.parametrize("form", ["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"])
@pytest.mark.parametrize(("unit", "origin"), [(25.4, 0.0), (0.01, 100.0)])
def test_unit_and_origin_of_measurements_change_no_correlation(
    form: IccForm, unit: float, origin: float
) -> None:
    plain = intraclass_correlation(SIX_TARGETS, form=form)
    other = intraclass_correlation(unit * SIX_TARGETS + origin, form=form)
    assert (other.value, other.low, other.high) == pytest.approx(
        (plain.value, plain.low, plain.high), abs=1e-9
    )


def test_the_random_readers_interval_by_the_published_formula() -> None:
    # McGraw and Wong 1996, table 7: a, b and Satterthwaite's degrees of freedom
    subject, reader, error, n, k = 11.241667, 32.486111, 1.019444, 6, 4
    value = (subject - error) / (subject + 3 * error + 4 * (reader - error) / 6)
    a, b = 4 * value / (6 * (1 - value)), 1 + 4 * value * 5 / (6 * (1 - value))
    behind = (a * reader + b * error) ** 2 / ((a * reader) ** 2 / 3 + (b * error) ** 2 / 15)
    low_f, high_f = stats.f.ppf(0.975, 5, behind), stats.f.ppf(0.975, behind, 5)
    noise = k * reader + (k * n - k - n) * error
    low = n * (subject - low_f * error) / (low_f * noise + n * subject)
    high = n * (high_f * subject - error) / (noise + n * high_f * subject)
    icc = intraclass_correlation(SIX_TARGETS, form="2,1")
    assert (icc.value, icc.low, icc.high) == pytest.approx((value, low, high), abs=1e-6)


def test_two_pairs_have_limits_and_three_a_concordance() -> None:
    agreement = bland_altman(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    assert (agreement.bias.value, agreement.standard_deviation) == pytest.approx((0, 2**0.5))
    with undefined(match="concordance"):
        concordance_correlation(np.array([1.0, 2]), np.array([2.0, 3]))
    assert concordance_correlation(np.array([1.0, 2, 4]), np.array([2.0, 3, 3])).value is not None


def test_a_constant_measurement_has_no_concordance() -> None:
    same, other = np.ones(4), np.array([1.0, 2, 3, 4])
    for first, second in ((same, other), (other, same)):
        with undefined(match="concordance"):
            concordance_correlation(first, second)


def test_measurements_without_any_relation_have_a_concordance_of_0_and_no_interval() -> None:
    concordance = concordance_correlation(np.array([0.0, 1, 0, 1]), np.array([0.0, 0, 1, 1]))
    assert (concordance.value, concordance.low) == (0, None)
    assert concordance.reason == Notice("pairs_alike")


def test_pairs_on_a_straight_line_have_no_error_beyond_its_slope() -> None:
    random = np.random.default_rng(4)
    for slope in (0.3, 0.7, 1.7, 3.1):
        for _ in range(20):
            x = random.normal(size=5)
            concordance = concordance_correlation(x, x.mean() + slope * (x - x.mean()))
            value = 2 * slope / (1 + slope**2)
            bounds = (concordance.low, concordance.value, concordance.high)
            assert bounds == pytest.approx((value,) * 3, abs=1e-6)
