import numpy as np
import pytest

from builders.tables import case, cohort, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.malignancy import (
    brier_score,
    expected_calibration_error,
    reliability,
)


def rated_cohort(*pairs: tuple[float, float]) -> LabelledCohort:
    """One case per pair (malignancy in the reference, stated probability)."""
    return cohort(
        *(
            case(f"c{number}", nodule(malignancy=truth), mark(0.5, malignancy=stated))
            for number, (truth, stated) in enumerate(pairs)
        )
    )


FIVE = ((0.0, 0.05), (1.0, 0.15), (1.0, 0.95), (1.0, 0.85), (0.0, 0.82))
EVERYONE = np.ones((1, 5))


def test_the_brier_score_is_the_mean_squared_error() -> None:
    expected = (0.05**2 + 0.85**2 + 0.05**2 + 0.15**2 + 0.82**2) / 5
    assert brier_score(rated_cohort(*FIVE), EVERYONE)[0] == pytest.approx(expected)


def test_errors_cancel_within_a_bin_but_not_between() -> None:
    expected = (0.05 + 0.85 + 0.05 + abs(0.85 + 0.82 - 1)) / 5
    assert expected_calibration_error(rated_cohort(*FIVE), EVERYONE)[0] == pytest.approx(expected)


def test_one_bin_compares_the_means() -> None:
    error = expected_calibration_error(rated_cohort(*FIVE), EVERYONE, calibration_bins=1)
    assert error[0] == pytest.approx(abs(0.05 + 0.15 + 0.95 + 0.85 + 0.82 - 3) / 5)


def test_the_reliability_shows_every_bin() -> None:
    table = reliability(rated_cohort(*FIVE), calibration_bins=5)
    assert table.rows() == [
        (0.0, 0.2, 2, pytest.approx(0.1), 0.5),
        (0.2, 0.4, 0, None, None),
        (0.4, 0.6, 0, None, None),
        (0.6, 0.8, 0, None, None),
        (0.8, 1.0, 3, pytest.approx((0.95 + 0.85 + 0.82) / 3), pytest.approx(2 / 3)),
    ]


def test_an_edge_belongs_to_the_upper_bin_and_one_to_the_last() -> None:
    edges = rated_cohort((0.0, 0.3), (0.0, 0.7), (1.0, 1.0), (0.0, 0.0))
    counts = reliability(edges)["nodules"].to_list()
    assert counts == [1, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    fine = reliability(rated_cohort((0.0, 0.29)), calibration_bins=100)
    assert fine["nodules"].arg_max() == 29


def test_there_are_ten_bins_by_default() -> None:
    # 0.095 and 0.105 lie in one bin of nine (to 0.111) and of eleven (0.091 to 0.182)
    apart = rated_cohort((0.0, 0.095), (1.0, 0.105))
    error = expected_calibration_error(apart, np.ones((1, 2)))
    assert error[0] == pytest.approx((0.095 + 0.895) / 2)
    assert reliability(apart).height == 10
