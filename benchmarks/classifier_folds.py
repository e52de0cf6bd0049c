"""How well the false-positive reduction ranks nodules, and whether its probabilities hold.

``python -m benchmarks.classifier_folds --keep DIR``; DIR is from ``fold_weights``. Every
candidate is scored by the weights that never saw its fold.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.fold_weights import training_proposals
from benchmarks.proposals import Proposals, reported
from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers.false_positive_reduction import NAME as REDUCTION
from nodulebench.detection.classifiers.models import NODULES_PER_SCAN
from nodulebench.detection.classifiers.weights import Measured, classifier_of
from nodulebench.detection.train_classifier import examples_of

BINS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class ScoredCandidates:
    """Probabilities of the false-positive reduction for candidates that it never saw."""

    probability: FloatArray
    is_nodule: BoolArray
    weight: FloatArray
    """How often there is such a candidate on a scan: those off nodules are the whole scans' own,
    those on nodules count so that a scan has as many nodules as in LUNA16."""
    is_whole: BoolArray

    @property
    def area(self) -> float:
        """Under the ROC curve, of all candidates of blocks and scans."""
        return float(roc_auc_score(self.is_nodule, self.probability))

    @property
    def area_on_scans(self) -> float:
        """The same of those of whole scans."""
        whole = self.is_whole
        return float(roc_auc_score(self.is_nodule[whole], self.probability[whole]))

    @property
    def brier(self) -> float:
        """Mean squared difference from the truth, as on scans."""
        return float(np.average((self.probability - self.is_nodule) ** 2, weights=self.weight))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean difference within bins, as on scans."""
        bins = reliability(self)
        return float(np.average(np.abs(bins[:, 0] - bins[:, 1]), weights=bins[:, 2]))


def reliability(scored: ScoredCandidates) -> FloatArray:
    """Bins x 5: mean probability, share of nodules, candidates a scan, counts on and off them."""
    rows = []
    for low, high in pairwise(BINS):
        inside = (scored.probability >= low) & ((scored.probability < high) | (high == BINS[-1]))
        inside &= scored.weight > 0
        if inside.any():
            weight = scored.weight[inside]
            rows.append(
                (
                    np.average(scored.probability[inside], weights=weight),
                    np.average(scored.is_nodule[inside], weights=weight),
                    weight.sum(),
                    np.count_nonzero(scored.is_nodule[inside]),
                    np.count_nonzero(~scored.is_nodule[inside]),
                )
            )
    return np.array(rows)


def scored_candidates(cases: Sequence[Proposals], names: Sequence[str]) -> ScoredCandidates:
    """The scored candidates of some detectors."""
    probability, is_nodule, is_whole = [], [], []
    nodules = sum(int((~case.nodules["is_ignored"]).sum()) for case in cases)
    scans = sum(case.is_whole for case in cases)
    for case in cases:
        fold = case.fold if case.fold >= 0 else None
        for name in names:
            described = case.described[name]
            passes = reported(case.proposed[name], name, fold)
            passed = Measured(
                described.candidates.chosen(passes), described.features[passes], described.names
            )
            examples = examples_of(case.nodules, passed, fold=case.fold, is_whole=case.is_whole)
            classifier = classifier_of(REDUCTION, None, described.names, fold)
            probability.append(classifier.score(examples.features))
            is_nodule.append(examples.is_nodule)
            is_whole.append(examples.is_whole)
    is_on, whole = np.concatenate(is_nodule), np.concatenate(is_whole)
    weight = np.where(is_on, NODULES_PER_SCAN / nodules, whole / max(scans, 1))
    return ScoredCandidates(np.concatenate(probability), is_on, weight, whole)


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder of measured candidates")
    cases = training_proposals(parser.parse_args().keep)
    print("| detector | candidates | on nodules | AUC | AUC on scans | Brier | ECE |")
    print("|---|---|---|---|---|---|---|")
    for names in (*((name,) for name in NAMES), NAMES):
        scored = scored_candidates(cases, names)
        print(
            f"| {names[0] if len(names) == 1 else 'all'} | {len(scored.weight)} | "
            f"{int(scored.is_nodule.sum())} | {scored.area:.3f} | {scored.area_on_scans:.3f} | "
            f"{scored.brier:.4f} | {scored.calibration_error:.4f} |"
        )


if __name__ == "__main__":
    main()
