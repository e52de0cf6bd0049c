"""Design effects: by hand, against simulated clusters, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.result import clustering


def effect(mean: float, sd: float | None, correlation: float | None) -> float:
    return clustering(mean, sd, correlation, assumed_correlation=0.5).effect


def test_kish_by_hand() -> None:
    # patients with 1, 2, 3, 10 nodules: sum m² / sum m = 114 / 16 = 7.125
    counts = np.array([1, 2, 3, 10])
    assert effect(counts.mean(), counts.std(), 0.2) == pytest.approx(1 + 6.125 * 0.2)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_the_effect_is_that_of_the_counts_and_grows_with_the_correlation(
    counts: list[int], first: float, other: float
) -> None:
    m = np.array(counts)
    kish = (m**2).sum() / m.sum()
    result = effect(m.mean(), m.std() if m.max() > 1 else 0, first)
    assert result == pytest.approx(1 + (kish - 1) * first)
    assert result >= 1 + (m.mean() - 1) * first - 1e-9  # never less than equal numbers have
    low, high = sorted((first, other))
    assert effect(m.mean(), None, low) <= effect(m.mean(), None, high)


def test_simulated_clusters_vary_as_the_effect_says() -> None:
    """Beta-binomial misses in 1 + geometric numbers of nodules; the rate's variance is counted."""
    random = np.random.default_rng(5)
    patients, sensitivity, rho = 400, 0.8, 0.3
    rates, sizes = [], []
    for _ in range(3000):
        counts = random.geometric(1 / 4, patients)  # mean 4, variance 12
        skill = random.beta(
            sensitivity * (1 / rho - 1), (1 - sensitivity) * (1 / rho - 1), patients
        )
        rates.append(random.binomial(counts, skill).sum() / counts.sum())
        sizes.append(counts.sum())
    independent = sensitivity * (1 - sensitivity) / np.mean(sizes)
    expected = effect(4, None, rho)  # 1 + (4 + 3 - 1) x 0.3
    assert expected == pytest.approx(2.8)
    assert np.var(rates) / independent == pytest.approx(expected, rel=0.1)


def test_one_nodule_each_needs_no_correction_and_no_spread() -> None:
    assert effect(1, None, None) == 1
    with pytest.raises(InputError, match=r"patient: 0\.5 is impossible with a mean of 1\."):
        effect(1, 0.5, 0.1)


def test_two_nodules_each_and_the_edges_of_what_is_possible() -> None:
    assert effect(2, 0, 0.5) == 1.5
    assert effect(2, 0, 0) == 1
    assert effect(2, 1, 1) == 2.5  # m = 2 + 1 / 2
    assert clustering(1, 0, 0.3, assumed_correlation=0.5).assumption == Notice("one_nodule_each")
    values = clustering(2, None, 0.5, assumed_correlation=0.3).assumption.values
    assert values == {
        "mean": 2,
        "sd": pytest.approx(2**0.5),
        "correlation": 0.5,
        "effect": 2,
        "is_sd_assumed": True,
        "is_correlation_assumed": False,
    }


def test_a_mean_below_one_is_named_even_without_a_spread() -> None:
    with pytest.raises(InputError, match=r"nodules per patient: 0\.5 is not between 1 and inf\."):
        effect(0.5, None, 0.1)
