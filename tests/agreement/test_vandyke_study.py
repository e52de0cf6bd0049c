"""The Van Dyke reader study: 2 ways of reading, 5 readers, 69 normal and 45 abnormal cases.

The data come with RJafroc (RocData.imrmc). Variance components, tests and P values are those of
RJafroc and of Iowa's OR-DBM program; powers and sizes are printed in the RJafroc book, chapter
"ROC-ORH sample size", where the pilot's own difference is the one to be found.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.statistics.delong import compare_auc
from nodulebench.statistics.mrmc import (
    Components,
    ReaderMetrics,
    components,
    metrics_from_ratings,
    obuchowski_rockette,
    one_treatment,
)
from nodulebench.statistics.sample_size.readers import reader_study_power, size_for_reader_study


@pytest.fixture(scope="module")
def study(oracle_data: Path) -> tuple[FloatArray, BoolArray]:
    """Ratings (treatments x readers x cases) and truth."""
    table = pl.read_csv(oracle_data / "vandyke.csv").sort("modality", "reader", "case")
    truth = table["truth"].to_numpy().reshape(2, 5, 114)
    assert (truth == truth[0, 0]).all()
    return table["rating"].to_numpy().reshape(2, 5, 114), truth[0, 0] == 1


@pytest.fixture(scope="module")
def jackknife(study: tuple[FloatArray, BoolArray]) -> ReaderMetrics:
    return metrics_from_ratings(*study, "jackknife")


@pytest.fixture(scope="module")
def pilot(jackknife: ReaderMetrics) -> Components:
    return components(jackknife)


def test_areas(jackknife: ReaderMetrics) -> None:
    expected = [
        [0.91964573, 0.85877617, 0.90386473, 0.97310789, 0.82979066],
        [0.94782609, 0.90531401, 0.92173913, 0.99935588, 0.92995169],
    ]
    np.testing.assert_allclose(jackknife.value, expected, atol=5e-9)
    np.testing.assert_allclose(jackknife.value.mean(axis=1), [0.897037, 0.940837], atol=5e-7)


def test_components(pilot: Components) -> None:
    assert pilot.variance == pytest.approx(8.0229e-4, abs=5e-9)
    assert pilot.covariance_1 == pytest.approx(3.4661e-4, abs=5e-9)
    assert pilot.covariance_2 == pytest.approx(3.4407e-4, abs=5e-9)
    assert pilot.covariance_3 == pytest.approx(2.3903e-4, abs=5e-9)
    assert pilot.treatment_square == pytest.approx(4.79617e-3, abs=5e-9)
    assert pilot.treatment_reader_square == pytest.approx(5.51031e-4, abs=5e-10)


def test_random_readers_and_cases(jackknife: ReaderMetrics) -> None:
    analysis = obuchowski_rockette(jackknife).random_readers_random_cases
    assert analysis.significance.statistic == pytest.approx(4.4563, abs=5e-5)
    assert analysis.significance.degrees_of_freedom[1] == pytest.approx(15.26, abs=5e-3)
    assert analysis.significance.p_value == pytest.approx(0.0517, abs=5e-5)
    difference = analysis.differences[0, 1]
    assert difference.value == pytest.approx(-0.04380032, abs=5e-9)
    assert difference.low == pytest.approx(-0.0880, abs=5e-5)
    assert difference.high == pytest.approx(0.0004, abs=5e-5)


def test_fixed_readers(jackknife: ReaderMetrics) -> None:
    analysis = obuchowski_rockette(jackknife).fixed_readers.significance
    assert analysis.p_value == pytest.approx(0.0193, abs=5e-5)


def test_fixed_cases(jackknife: ReaderMetrics) -> None:
    analysis = obuchowski_rockette(jackknife).fixed_cases.significance
    assert analysis.statistic == pytest.approx(8.704, abs=5e-4)
    assert analysis.p_value == pytest.approx(0.0420, abs=5e-5)


def test_delong_covariances(study: tuple[FloatArray, BoolArray]) -> None:
    metrics = metrics_from_ratings(*study, "delong")
    analysis = obuchowski_rockette(metrics).random_readers_random_cases.significance
    assert analysis.statistic == pytest.approx(4.4849, abs=5e-5)
    assert analysis.degrees_of_freedom[1] == pytest.approx(15.07, abs=5e-3)
    assert analysis.p_value == pytest.approx(0.0512, abs=5e-5)


def test_delong_test_of_each_reader(study: tuple[FloatArray, BoolArray]) -> None:
    rating, is_abnormal = study
    computed = [
        compare_auc(rating[:, reader, is_abnormal], rating[:, reader, ~is_abnormal]).significance
        for reader in range(5)
    ]
    z = [-1.111, -1.780, -0.576, -1.528, -2.288]
    p = [0.2665, 0.0751, 0.5645, 0.1264, 0.0222]  # the third is .564547 in exact fractions
    np.testing.assert_allclose([test.statistic for test in computed], z, atol=5e-4)
    np.testing.assert_allclose([test.p_value for test in computed], p, atol=5e-5)


def test_one_treatment_on_the_readers_differences_gives_the_same_test(
    jackknife: ReaderMetrics,
) -> None:
    # identity: for two treatments the single-treatment test of paired differences is the F test
    matrix = jackknife.covariance
    analysis = one_treatment(
        jackknife.value[0] - jackknife.value[1],
        matrix[0, :, 0] + matrix[1, :, 1] - matrix[0, :, 1] - matrix[1, :, 0],
        "jackknife",
    )
    assert analysis.significance.statistic**2 == pytest.approx(4.4563, abs=5e-5)
    assert analysis.significance.degrees_of_freedom[0] == pytest.approx(15.26, abs=5e-3)
    assert analysis.significance.p_value == pytest.approx(0.0517, abs=5e-5)
    assert analysis.fixed_cases.p_value == pytest.approx(0.0420, abs=5e-5)


@pytest.mark.parametrize(
    ("readers", "cases", "power"), [(6, 112, 0.5555789), (6, 251, 0.8005403), (10, 163, 0.8015625)]
)
def test_power_for_more_readers_and_cases(
    pilot: Components, readers: int, cases: int, power: float
) -> None:
    computed = reader_study_power(
        pilot, pilot_cases=114, difference=0.04380032206, readers=readers, cases=cases
    )
    assert computed == pytest.approx(power, abs=5e-8)


@pytest.mark.parametrize(
    ("readers", "cases"),
    [(4, 1089), (5, 344), (6, 251), (7, 211), (8, 188), (10, 163), (20, 126), (50, 109)],
)
def test_cases_needed(pilot: Components, readers: int, cases: int) -> None:
    plan = size_for_reader_study(pilot, pilot_cases=114, difference=0.04380032206, readers=readers)
    assert plan.answer == cases
