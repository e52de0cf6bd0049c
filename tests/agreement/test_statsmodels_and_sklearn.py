"""Statistics that statsmodels and scikit-learn also have, on random data."""

import warnings

import numpy as np
import pytest
from scipy import stats

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas as pd
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.anova import AnovaRM
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
    from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels
    from statsmodels.stats.multitest import multipletests

from nodulebench.statistics.agreement import Weights, class_table, cohen_kappa, fleiss_kappa
from nodulebench.statistics.groups import paired_t, repeated_measures_anova
from nodulebench.statistics.mcnemar import PairedHits, mcnemar_exact
from nodulebench.statistics.multiplicity import benjamini_hochberg, bonferroni, holm

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_adjusted_p_values(seed: int) -> None:
    p_values = np.random.default_rng(seed).random(9) ** 3
    for ours, name in ((holm, "holm"), (bonferroni, "bonferroni"), (benjamini_hochberg, "fdr_bh")):
        np.testing.assert_allclose(ours(p_values), multipletests(p_values, method=name)[1])
    np.testing.assert_allclose(
        benjamini_hochberg(p_values), stats.false_discovery_control(p_values)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_repeated_measures_anova(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(10, 3))
    rows = pd.DataFrame(
        {
            "unit": np.repeat(np.arange(10), 3),
            "rule": np.tile(np.arange(3), 10),
            "value": values.ravel(),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = AnovaRM(rows, "value", "unit", within=["rule"]).fit().anova_table
    anova = repeated_measures_anova(values).uncorrected
    assert anova.statistic == pytest.approx(table["F Value"].iloc[0])
    assert anova.p_value == pytest.approx(table["Pr > F"].iloc[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_paired_t(seed: int) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, 12))
    expected = stats.ttest_rel(first, second)
    assert paired_t(first, second).p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_mcnemar(seed: int) -> None:
    first, second = np.random.default_rng(seed).random((2, 40)) < [[0.7], [0.5]]
    table = class_table(first.astype(float), second.astype(float), 2)
    expected = mcnemar(table, exact=True).pvalue
    test = mcnemar_exact(PairedHits(first, second, np.arange(40)))
    assert test.p_value == pytest.approx(expected)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_s_kappa_and_its_error(weights: Weights, seed: int) -> None:
    random = np.random.default_rng(seed)
    first = random.integers(0, 4, 80)
    second = np.where(random.random(80) < 0.6, first, random.integers(0, 4, 80))
    table = class_table(first.astype(float), second.astype(float), 4)
    kappa = cohen_kappa(table, weights=weights)
    learned = cohen_kappa_score(first, second, weights=None if weights == "none" else weights)
    assert kappa.value == pytest.approx(learned)
    if weights == "none":
        modelled = cohens_kappa(table)
    else:
        modelled = cohens_kappa(table, wt="linear" if weights == "linear" else "quadratic")
    error = modelled.std_kappa
    assert kappa.value is not None
    assert kappa.high == pytest.approx(kappa.value + stats.norm.ppf(0.975) * error)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_kappa(seed: int) -> None:
    ratings = np.random.default_rng(seed).integers(0, 3, (15, 4))
    counts, _ = aggregate_raters(ratings)
    assert fleiss_kappa(ratings.astype(float)).value == pytest.approx(fleiss_of_statsmodels(counts))
