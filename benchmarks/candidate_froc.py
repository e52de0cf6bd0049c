"""FROC of the detectors' classifiers on real nodules, each trained on the folds it does not judge.

``python -m benchmarks.candidate_froc KEPT``; KEPT is what ``candidate_blocks --weights --keep``
wrote.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.candidate_blocks import SEED, find_in_fold
from benchmarks.candidate_findings import Findings, joined_findings
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.match import label_marks, targets
from nodulebench.metrics.froc import froc_curve
from nodulebench.model.cohort import labelled_cohort
from nodulebench.model.results import Curve
from nodulebench.model.tables import Reference, Submission
from nodulebench.protocols import load_protocol

FOLDS = tuple(range(2, 10))
"""The first two were used to choose the detectors' parameters."""
RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""False positives per block."""


def classified(kept: Path, folds: Sequence[int] = FOLDS) -> Findings:
    """What detectors with a classifier reported of some folds."""
    names = list(TRAINED)
    return joined_findings([find_in_fold(fold, names, SEED, kept) for fold in folds])


def froc_of(reference: Reference, submission: Submission) -> Curve:
    """Sensitivity over false positives per block, by LUNA16's rule."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    is_target = targets(reference, submission, protocol)
    return froc_curve(labelled_cohort(reference, submission, labels, is_target))


def main() -> None:
    """Print sensitivity at rates of false positives per block."""
    findings = classified(Path(sys.argv[1]))
    rates = " | ".join(f"{rate:g}" for rate in RATES)
    print(f"| classifier | {rates} | all reported | false positives per block |")
    print("|---|" + "---|" * (len(RATES) + 2))
    for name, submission in findings.submissions.items():
        curve = froc_of(findings.reference, submission)
        values = [float(curve.y[curve.x <= rate].max()) for rate in (*RATES, np.inf)]
        cells = " | ".join(f"{value:.3f}" for value in values)
        print(f"| {name} | {cells} | {curve.x.max():.1f} |")


if __name__ == "__main__":
    main()
