"""FROC of the detectors' classifiers on real nodules, each trained on the folds it does not judge.

``python -m benchmarks.candidate_froc KEPT``; KEPT is the folder of ``candidate_blocks --weights``.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_blocks import SEED, block_cases
from benchmarks.candidate_findings import PLACE, Case
from benchmarks.fold_weights import Example, classifier_without, examples_of
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.training import roc_area
from nodulebench.match import label_marks, targets
from nodulebench.metrics.froc import froc_curve
from nodulebench.model.arrays import FloatArray
from nodulebench.model.cohort import labelled_cohort
from nodulebench.model.results import Curve
from nodulebench.model.tables import CASES, MARKS, Reference, Submission
from nodulebench.protocols import load_protocol

FOLDS = tuple(range(2, 10))
"""The first two were used to choose the detectors' parameters."""
RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""False positives per block."""


def scores_of(fold: int, name: str, kept: Path) -> tuple[list[Example], list[FloatArray]]:
    """A fold's candidates and what a classifier of the other folds says of them."""
    classifier = classifier_without(fold, name, _cases, kept)
    examples = examples_of(fold, name, _cases, kept)
    return examples, [
        classifier.score(one.measured.features) if len(one.measured.features) else np.empty(0)
        for one in examples
    ]


def _cases(fold: int) -> list[Case]:
    return list(block_cases([fold], SEED))


def classified(name: str, kept: Path, folds: Sequence[int] = FOLDS) -> tuple[Submission, float]:
    """All candidates of some folds with their scores, and the mean area under the ROC curve."""
    marks, areas = [MARKS.empty()], []
    for fold in folds:
        examples, scores = scores_of(fold, name, kept)
        for example, score in zip(examples, scores, strict=True):
            marks.append(_marks(example, score))
        used = [one.is_on_nodule | ~one.is_on_ignored for one in examples]
        pairs = list(zip(examples, scores, used, strict=True))
        areas.append(
            roc_area(
                np.concatenate([score[chosen] for _, score, chosen in pairs]),
                np.concatenate([one.is_on_nodule[chosen] for one, _, chosen in pairs]),
            )
        )
    return Submission(name, pl.concat(marks)), float(np.mean(areas))


def _marks(example: Example, score: FloatArray) -> pl.DataFrame:
    place = example.measured.candidates.center_mm
    table = pl.DataFrame(
        {**{axis: place[:, at] for at, axis in enumerate(PLACE)}, "score": score}
    ).with_columns(
        case_id=pl.lit(example.case_id), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(table, example.case_id)


def block_truth(folds: Sequence[int] = FOLDS) -> Reference:
    """The blocks of some folds and the findings in them."""
    cases = [case for fold in folds for case in _cases(fold)]
    names = pl.DataFrame({"case_id": [case.case_id for case in cases]})
    return Reference(
        "blocks",
        CASES.conform(names, "blocks"),
        pl.concat([case.nodules for case in cases], how="diagonal_relaxed"),
    )


def froc_of(reference: Reference, submission: Submission) -> Curve:
    """Sensitivity over false positives per block, by LUNA16's rule."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    is_target = targets(reference, submission, protocol)
    return froc_curve(labelled_cohort(reference, submission, labels, is_target))


def main() -> None:
    """Print sensitivity at rates of false positives per block."""
    kept = Path(sys.argv[1]) / f"seed{SEED}"
    reference = block_truth()
    print("| classifier | " + " | ".join(f"{rate:g}" for rate in RATES) + " | all | ROC area |")
    print("|---|" + "---|" * (len(RATES) + 2))
    for name in TRAINED:
        submission, area = classified(name, kept)
        curve = froc_of(reference, submission)
        values = [float(curve.y[curve.x <= rate].max()) for rate in (*RATES, np.inf)]
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + f" | {area:.3f} |")


if __name__ == "__main__":
    main()
