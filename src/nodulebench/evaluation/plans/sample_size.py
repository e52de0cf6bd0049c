"""How large a test has to be: one calculator for each question."""

from pathlib import Path

import numpy as np

from nodulebench.core.config_model import checked
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_reference
from nodulebench.io.json_files import read_json
from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.acceptance import size_for_acceptance
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference
from nodulebench.statistics.sample_size.comparisons import size_for_paired_detection
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)
from nodulebench.statistics.sample_size.proportions import size_for_sensitivity
from nodulebench.statistics.sample_size.readers import size_for_reader_study
from nodulebench.statistics.sample_size.result import Plan

__all__ = [
    "Components",
    "Plan",
    "nodules_of_patients",
    "pilot_study",
    "size_for_acceptance",
    "size_for_auc",
    "size_for_auc_difference",
    "size_for_false_positive_limit",
    "size_for_false_positives",
    "size_for_paired_detection",
    "size_for_reader_study",
    "size_for_sensitivity",
]


def nodules_of_patients(path: Path) -> dict[str, float]:
    """Mean and standard deviation of the nodules that a reference's patients have to be found."""
    reference = read_reference(path)
    is_target = ~reference.nodules["is_ignored"].to_numpy()
    patients = reference.unit_of_case[reference.nodule_case[is_target]]
    counts = np.unique(patients, return_counts=True)[1]
    if not counts.size:
        raise InputError.at(str(path), "has no nodule to be found.", "Give another pilot.")
    return {"nodules_per_patient": float(counts.mean()), "nodules_sd": float(counts.std())}


def pilot_study(path: Path) -> tuple[Components, int]:
    """Components and number of cases of a study, as ``annotate observer analyse --out`` wrote it.

    Raises:
        InputError: if it is something else, or a study in which treatments were not compared.
    """
    content = read_json(path)
    found = content if isinstance(content, dict) else {}
    if "components" not in found or "cases" not in found:
        raise InputError.at(
            path,
            "has no components of a study of readers.",
            "Give what 'annotate observer analyse --out' wrote of readers under two treatments.",
        )
    return checked(Components, found["components"], str(path)), checked(
        int, found["cases"], str(path)
    )
