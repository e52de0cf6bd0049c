"""MARKS x NODULES -> LABELS: what each rule of a protocol says of every mark."""

from nodulebench.matching.labelling import label_marks, targets

__all__ = ["label_marks", "targets"]
