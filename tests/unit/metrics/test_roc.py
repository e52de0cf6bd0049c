import numpy as np
import pytest

from builders.tables import Case, case, cohort, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english
from nodulebench.metrics import METRICS
from nodulebench.metrics.malignancy import malignancy_auc, malignancy_counts, malignancy_roc_curve


def rated_cohort(*pairs: tuple[float | None, float | None]) -> LabelledCohort:
    """One case per pair (malignancy in the reference, stated probability)."""
    return cohort(
        *(
            case(f"c{number}", nodule(malignancy=truth), mark(0.5, malignancy=stated))
            for number, (truth, stated) in enumerate(pairs)
        )
    )


def value(name: str, of: LabelledCohort, **settings: float) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)), **settings)[0])


FIVE = ((0.0, 0.1), (0.0, 0.4), (0.0, 0.4), (1.0, 0.4), (1.0, 0.8))


def test_the_area_counts_pairs_and_halves_ties() -> None:
    assert value("malignancy_auc", rated_cohort(*FIVE)) == pytest.approx((1 + 0.5 + 0.5 + 3) / 6)


def test_the_curve_is_drawn_from_the_highest_probability_down() -> None:
    curve = malignancy_roc_curve(rated_cohort(*FIVE))
    np.testing.assert_allclose(curve.x, [0, 0, 2 / 3, 1])
    np.testing.assert_allclose(curve.y, [0, 1 / 2, 1, 1])
    np.testing.assert_array_equal(curve.threshold, [np.inf, 0.8, 0.4, 0.1])


def test_the_area_is_the_trapezoids_under_the_curve() -> None:
    curve = malignancy_roc_curve(rated_cohort(*FIVE))
    x, y = curve.x, curve.y
    trapezoids = sum((x[i + 1] - x[i]) * (y[i] + y[i + 1]) for i in range(len(x) - 1)) / 2
    assert value("malignancy_auc", rated_cohort(*FIVE)) == pytest.approx(trapezoids)


def test_sensitivity_at_a_specificity_and_the_mean_until_there_are_read_on_the_curve() -> None:
    # the line from (0, 1/2) to (2/3, 1): 1/2 + 3/4 x
    everyone = np.ones((1, 5))
    read = METRICS["malignancy_sensitivity_at_fpf"](rated_cohort(*FIVE), everyone)
    np.testing.assert_allclose(read, [[0.5375, 0.65]], rtol=1e-12)
    mean = METRICS["malignancy_auc_until_fpf"](rated_cohort(*FIVE), everyone)
    np.testing.assert_allclose(mean, [[0.51875, 0.575]], rtol=1e-12)
    beyond = METRICS["malignancy_auc_until_fpf"](
        rated_cohort(*FIVE), everyone, fpf_points=(2 / 3, 0.8)
    )
    np.testing.assert_allclose(beyond, [[0.75, (0.5 + 0.8 - 2 / 3) / 0.8]], rtol=1e-12)


def test_a_probability_at_the_threshold_calls_malignant() -> None:
    called = {"malignancy_threshold": 0.4}
    assert value("malignancy_sensitivity", rated_cohort(*FIVE), **called) == 1.0
    assert value("malignancy_specificity", rated_cohort(*FIVE), **called) == pytest.approx(1 / 3)
    assert value("malignancy_accuracy", rated_cohort(*FIVE), **called) == pytest.approx(3 / 5)
    assert value("malignancy_precision", rated_cohort(*FIVE), **called) == pytest.approx(2 / 4)
    assert value("malignancy_f_beta", rated_cohort(*FIVE), **called) == pytest.approx(4 / 6)


def test_the_usual_threshold_is_one_half() -> None:
    assert value("malignancy_sensitivity", rated_cohort(*FIVE)) == 0.5
    assert value("malignancy_specificity", rated_cohort(*FIVE)) == 1.0
    assert value("malignancy_accuracy", rated_cohort(*FIVE)) == pytest.approx(4 / 5)


def with_gaps() -> LabelledCohort:
    """Two rated nodules; one missed, one found without a probability, two of unknown truth."""
    cases: list[Case] = [
        case("a", nodule(malignancy=1.0), mark(0.5, malignancy=0.9)),
        case("b", nodule(malignancy=0.0), mark(0.5, malignancy=0.3)),
        case("c", nodule(malignancy=1.0)),
        case("d", nodule(malignancy=1.0), mark(0.5)),
        case("e", nodule(), mark(0.5, malignancy=0.7)),
        case("f", nodule(malignancy=0.5), mark(0.5, malignancy=0.7)),
    ]
    return cohort(*cases)


def test_nodules_without_truth_or_probability_are_left_out_and_counted() -> None:
    assert value("malignancy_auc", with_gaps()) == 1.0
    assert value("malignancy_accuracy", with_gaps()) == 1.0
    assert malignancy_counts(with_gaps()) == {
        "malignant": 1,
        "benign": 1,
        "missed": 1,
        "not_stated": 1,
        "truth_unknown": 2,
    }


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        (
            rated_cohort((None, 0.5)),
            "the reference labels no nodule as benign (0) or malignant (1)",
        ),
        (rated_cohort((1.0, None)), "no mark states a probability of malignancy"),
        (
            cohort(
                case("a", nodule(malignancy=1.0)),
                case("b", mark(0.5, (500, 0, 0), malignancy=0.5)),
            ),
            "no nodule of known malignancy was found with a probability",
        ),
        (rated_cohort((1.0, 0.5)), "all rated nodules are malignant; a ROC needs both kinds"),
        (rated_cohort((0.0, 0.5)), "all rated nodules are benign; a ROC needs both kinds"),
    ],
)
def test_the_reason_says_what_is_missing(cases: LabelledCohort, reason: str) -> None:
    with pytest.raises(UndefinedError) as refusal:
        malignancy_auc(cases, np.ones((1, cases.case_count)))
    assert in_english(reason_of(refusal.value)) == reason


@pytest.mark.parametrize(
    ("name", "pair", "reason"),
    [
        ("malignancy_sensitivity", (0.0, 0.9), "no malignant nodule was rated"),
        ("malignancy_specificity", (1.0, 0.9), "no benign nodule was rated"),
        ("malignancy_precision", (1.0, 0.1), "no nodule was classified as malignant"),
        (
            "malignancy_f_beta",
            (0.0, 0.1),
            "no nodule is malignant and none was classified as malignant",
        ),
    ],
)
def test_a_share_of_nothing_is_undefined(name: str, pair: tuple[float, float], reason: str) -> None:
    with pytest.raises(UndefinedError) as refusal:
        value(name, rated_cohort(pair))
    assert in_english(reason_of(refusal.value)) == reason


def test_f_beta_at_the_usual_threshold_by_hand() -> None:
    # of two malignant ones 0.8 is called so and 0.4 is not, and no benign one is: 2 / (2 + 1)
    assert value("malignancy_f_beta", rated_cohort(*FIVE)) == pytest.approx(2 / 3)


def test_malignant_and_benign_nodules_are_counted_apart() -> None:
    counts = malignancy_counts(rated_cohort(*FIVE))
    assert (counts["malignant"], counts["benign"]) == (2, 3)


def test_specificity_at_the_usual_threshold_by_hand() -> None:
    assert value("malignancy_specificity", rated_cohort((0.0, 0.9), (0.0, 0.1), (1.0, 0.8))) == 0.5
