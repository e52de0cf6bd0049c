"""Labelled cohort -> Curve or figure of merit. ``FIGURES`` lists every figure by its name."""

from collections.abc import Callable

from nodulebench.metrics.afroc import (
    afroc1_area,
    afroc_area,
    case_roc_area,
    efroc_area,
    wafroc1_area,
    wafroc_area,
)
from nodulebench.metrics.agreement import (
    category_agreement,
    category_kappa,
    category_kappa_linear,
    category_kappa_quadratic,
    density_kappa,
    type_kappa,
)
from nodulebench.metrics.calibration import brier_score, expected_calibration_error
from nodulebench.metrics.characterisation import (
    absolute_diameter_error_mm,
    density_accuracy,
    density_accuracy_of_found,
    diameter_error_mm,
    size_error_rate,
)
from nodulebench.metrics.facts import FACTS, FigureFacts
from nodulebench.metrics.figure import Ratio
from nodulebench.metrics.froc import cpm, cpm_exact, sensitivity_at_fp_rate
from nodulebench.metrics.lroc import lroc_area, pcl_at_fpf
from nodulebench.metrics.operating_point import (
    case_sensitivity,
    case_specificity,
    f_beta,
    fp_per_case,
    fp_per_normal_case,
    marks_per_case,
    miss_rate,
    precision,
    recall,
)
from nodulebench.metrics.precision_recall import average_precision
from nodulebench.metrics.roc import (
    malignancy_accuracy,
    malignancy_auc,
    malignancy_f_beta,
    malignancy_precision,
    malignancy_sensitivity,
    malignancy_specificity,
)
from nodulebench.metrics.segmentation import mean_dice, mean_iou, pooled_dice, pooled_iou
from nodulebench.metrics.time_per_case import (
    failed_run_rate,
    max_seconds_per_case,
    mean_seconds_per_case,
    median_seconds_per_case,
)
from nodulebench.model.arrays import FloatArray
from nodulebench.registry import Registry

__all__ = ["FACTS", "FIGURES", "Figure", "FigureFacts", "meaning_of", "name_of"]

Figure = Callable[..., FloatArray]
"""``figure(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""


def name_of(figure: Figure) -> str:
    """The name under which a figure is registered."""
    return figure.name if isinstance(figure, Ratio) else figure.__name__


def meaning_of(figure: Figure) -> str:
    """What a figure means, in one line."""
    if isinstance(figure, Ratio):
        return figure.meaning
    return (figure.__doc__ or "").strip().partition("\n")[0].rstrip(".")


FIGURES: Registry[Figure] = Registry(
    "figure of merit",
    "figures",
    (
        recall,
        miss_rate,
        precision,
        f_beta,
        fp_per_case,
        fp_per_normal_case,
        marks_per_case,
        case_sensitivity,
        case_specificity,
        sensitivity_at_fp_rate,
        cpm,
        cpm_exact,
        average_precision,
        afroc_area,
        wafroc_area,
        afroc1_area,
        wafroc1_area,
        efroc_area,
        case_roc_area,
        lroc_area,
        pcl_at_fpf,
        malignancy_auc,
        malignancy_accuracy,
        malignancy_sensitivity,
        malignancy_specificity,
        malignancy_precision,
        malignancy_f_beta,
        brier_score,
        expected_calibration_error,
        size_error_rate,
        diameter_error_mm,
        absolute_diameter_error_mm,
        density_accuracy,
        density_accuracy_of_found,
        density_kappa,
        type_kappa,
        category_agreement,
        category_kappa,
        category_kappa_linear,
        category_kappa_quadratic,
        mean_dice,
        mean_iou,
        pooled_dice,
        pooled_iou,
        median_seconds_per_case,
        mean_seconds_per_case,
        max_seconds_per_case,
        failed_run_rate,
    ),
    name_of=name_of,
)
