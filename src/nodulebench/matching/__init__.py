"""Marks and nodules -> labels: every mark under each rule of a protocol."""

from nodulebench.matching.labelling import label_cohort, label_marks, targets

__all__ = ["label_cohort", "label_marks", "targets"]
