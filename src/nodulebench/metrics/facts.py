"""What a report must know of each figure of merit, by its name: direction, unit, standard term."""

from dataclasses import dataclass
from typing import Literal

Guard = Literal["", "trials", "cases", "rate", "none"]
"""What the unseen patient does to a figure: fail or succeed in all its trials; be two more cases of
the cohort, for a figure between 0 and 1, or for a rate without upper limit; or nothing, because no
worst case can be stated. Empty: trials for a proportion, otherwise nothing."""


@dataclass(frozen=True, slots=True)
class FigureFacts:
    """Facts about a figure that its numbers do not tell."""

    is_higher_better: bool | None
    """None: neither (a signed error is best at 0; a count of marks is no merit)."""
    ieee_2802: str = ""
    """The term of IEEE 2802-2022 for it, if the standard has one."""
    unit: str = ""
    columns: str | tuple[str, ...] = ""
    """The points at which a figure is read, of one read at several: the field of the protocol that
    lists them, or their names."""
    guard: Guard = ""
    """How its interval is guarded where nothing, or hardly anything, goes wrong."""


_BETTER, _WORSE, _NEITHER = True, False, None

FACTS_OF_MODULE: dict[str, dict[str, FigureFacts]] = {
    "operating_point": {
        "recall": FigureFacts(_BETTER, "lesion localisation rate"),
        "miss_rate": FigureFacts(_WORSE, "miss rate"),
        "precision": FigureFacts(_BETTER, "precision", guard="cases"),
        "f_beta": FigureFacts(_BETTER, "F1", guard="cases"),
        "fp_per_case": FigureFacts(_WORSE, "non-lesion localisation rate", guard="rate"),
        "fp_per_normal_case": FigureFacts(_WORSE, guard="rate"),
        "marks_per_case": FigureFacts(_NEITHER),
        "case_sensitivity": FigureFacts(_BETTER, "sensitivity"),
        "case_specificity": FigureFacts(_BETTER, "specificity"),
    },
    "froc": {
        "sensitivity_at_fp_rate": FigureFacts(
            _BETTER, "lesion localisation rate", columns="operating_points", guard="cases"
        ),
        "cpm": FigureFacts(_BETTER, guard="cases"),
        "cpm_exact": FigureFacts(_BETTER, guard="cases"),
    },
    "precision_recall": {"average_precision": FigureFacts(_BETTER, "AP", guard="cases")},
    "afroc": {
        "afroc_area": FigureFacts(_BETTER, guard="cases"),
        "wafroc_area": FigureFacts(_BETTER, guard="cases"),
        "afroc1_area": FigureFacts(_BETTER, guard="cases"),
        "wafroc1_area": FigureFacts(_BETTER, guard="cases"),
        "efroc_area": FigureFacts(_BETTER, guard="cases"),
        "case_roc_area": FigureFacts(_BETTER, guard="cases"),
        "case_sensitivity_at_fpf": FigureFacts(
            _BETTER, "sensitivity", columns="fpf_points", guard="cases"
        ),
        "case_roc_area_until_fpf": FigureFacts(_BETTER, columns="fpf_points", guard="cases"),
    },
    "lroc": {
        "lroc_area": FigureFacts(_BETTER, guard="cases"),
        "pcl_at_fpf": FigureFacts(_BETTER, columns="fpf_points", guard="cases"),
    },
    "roc": {
        "malignancy_auc": FigureFacts(_BETTER),
        "malignancy_sensitivity_at_fpf": FigureFacts(_BETTER, "sensitivity", columns="fpf_points"),
        "malignancy_auc_until_fpf": FigureFacts(_BETTER, columns="fpf_points"),
        "malignancy_accuracy": FigureFacts(_BETTER, "accuracy"),
        "malignancy_sensitivity": FigureFacts(_BETTER, "sensitivity"),
        "malignancy_specificity": FigureFacts(_BETTER, "specificity"),
        "malignancy_precision": FigureFacts(_BETTER, "positive predictive value"),
        "malignancy_f_beta": FigureFacts(_BETTER, "F1"),
    },
    "calibration": {
        "brier_score": FigureFacts(_WORSE),
        "expected_calibration_error": FigureFacts(_WORSE),
    },
    "characterisation": {
        "size_error_rate": FigureFacts(_WORSE),
        "diameter_error_mm": FigureFacts(_NEITHER, unit="mm"),
        "absolute_diameter_error_mm": FigureFacts(_WORSE, unit="mm"),
        "density_accuracy": FigureFacts(_BETTER),
        "density_accuracy_of_found": FigureFacts(_BETTER, "accuracy"),
    },
    "agreement": {
        "density_kappa": FigureFacts(_BETTER, "kappa"),
        "type_kappa": FigureFacts(_BETTER, "kappa"),
        "category_agreement": FigureFacts(_BETTER, "accuracy"),
        "category_kappa": FigureFacts(_BETTER, "kappa"),
        "category_kappa_linear": FigureFacts(_BETTER, "kappa"),
        "category_kappa_quadratic": FigureFacts(_BETTER, "kappa"),
    },
    "segmentation": {
        "mean_dice": FigureFacts(_BETTER, "Dice"),
        "mean_iou": FigureFacts(_BETTER, "IoU"),
        "pooled_dice": FigureFacts(_BETTER, "Dice"),
        "pooled_iou": FigureFacts(_BETTER, "IoU"),
    },
    "time_per_case": {
        "median_seconds_per_case": FigureFacts(_WORSE, unit="s"),
        "mean_seconds_per_case": FigureFacts(_WORSE, unit="s"),
        "max_seconds_per_case": FigureFacts(_WORSE, unit="s"),
        "failed_run_rate": FigureFacts(_WORSE),
    },
}
"""Every figure by the file that holds it, with what is known of it: one line here adds a figure."""

FACTS = {name: facts for figures in FACTS_OF_MODULE.values() for name, facts in figures.items()}
