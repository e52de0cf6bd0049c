"""How large a test has to be: one calculator for each question."""

from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.acceptance import size_for_acceptance
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)
from nodulebench.statistics.sample_size.paired import size_for_paired_detection
from nodulebench.statistics.sample_size.plan import Plan
from nodulebench.statistics.sample_size.readers import size_for_reader_study
from nodulebench.statistics.sample_size.sensitivity import size_for_sensitivity

__all__ = [
    "Components",
    "Plan",
    "size_for_acceptance",
    "size_for_auc",
    "size_for_auc_difference",
    "size_for_false_positive_limit",
    "size_for_false_positives",
    "size_for_paired_detection",
    "size_for_reader_study",
    "size_for_sensitivity",
]
