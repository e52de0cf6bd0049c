"""Defaults: 95 %, two-sided, and so on."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from nodulebench.metrics.malignancy import (
    malignancy_accuracy,
    malignancy_f_beta,
    malignancy_precision,
    malignancy_sensitivity,
    malignancy_specificity,
    reliability,
)
from nodulebench.metrics.operating_point import f_beta
from nodulebench.statistics.agreement import (
    bland_altman,
    cohen_kappa,
    concordance_correlation,
    fleiss_kappa,
    gwet_ac1,
    intraclass_correlation,
    krippendorff_alpha,
)
from nodulebench.statistics.delong import auc_estimate, compare_auc
from nodulebench.statistics.mcnemar import compare_detection
from nodulebench.statistics.mrmc import (
    obuchowski_rockette,
    one_treatment,
    readers_against_algorithm,
)
from nodulebench.statistics.paired import compare_all
from nodulebench.statistics.permutation import permutation_test
from nodulebench.statistics.ranking import rank_algorithms
from nodulebench.statistics.sample_size.comparisons import PilotOptions
from nodulebench.statistics.sample_size.readers import reader_study_power, size_for_reader_study
from nodulebench.statistics.size_error_model import lost_fraction, normal_error, overestimated_share


@pytest.mark.parametrize(
    ("function", "defaults"),
    [
        (cohen_kappa, {"weights": "none", "level": 0.95}),
        (fleiss_kappa, {"level": 0.95}),
        (gwet_ac1, {"level": 0.95}),
        (krippendorff_alpha, {"scale": "nominal", "level": 0.95}),
        (auc_estimate, {"level": 0.95}),
        (compare_auc, {"level": 0.95}),
        (compare_all, {"level": 0.95}),
        (compare_detection, {"level": 0.95}),
        (bland_altman, {"share": 0.95, "level": 0.95}),
        (concordance_correlation, {"level": 0.95}),
        (intraclass_correlation, {"form": "2,1", "level": 0.95}),
        (obuchowski_rockette, {"level": 0.95}),
        (one_treatment, {"level": 0.95}),
        (readers_against_algorithm, {"level": 0.95}),
        (permutation_test, {"is_on_common_scale": True}),
        (rank_algorithms, {"level": 0.95}),
        (
            PilotOptions,
            {"simulations": 1000, "seed": 0, "margin": 0.0, "level": 0.95, "power": 0.8},
        ),
        (reader_study_power, {"alpha": 0.05}),
        (size_for_reader_study, {"alpha": 0.05, "power": 0.8}),
        (lost_fraction, {"tolerance_mm": 0.0}),
        (overestimated_share, {"tolerance_mm": 0.0}),
        (normal_error, {"bias_mm": 0.0}),
        (reliability, {"calibration_bins": 10}),
        (f_beta.sums, {"beta": 1.0}),
        (malignancy_accuracy.sums, {"malignancy_threshold": 0.5}),
        (malignancy_precision.sums, {"malignancy_threshold": 0.5}),
        (malignancy_sensitivity.sums, {"malignancy_threshold": 0.5}),
        (malignancy_specificity.sums, {"malignancy_threshold": 0.5}),
        (malignancy_f_beta.sums, {"malignancy_threshold": 0.5, "beta": 1.0}),
    ],
)
def test_defaults_are_the_usual_values(
    function: Callable[..., Any], defaults: dict[str, object]
) -> None:
    settings = inspect.signature(function).parameters
    assert {name: settings[name].default for name in defaults} == defaults
