"""How well the second look tells nodules, detector by detector, and whether its numbers hold.

``python -m benchmarks.classifier_folds --keep DIR``; DIR is what ``fold_weights`` kept. Every
candidate is judged by the weights that never saw its fold.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.fold_weights import learnt_from
from benchmarks.proposals import Proposals, reported
from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers.false_positive_reduction import NAME as REDUCTION
from nodulebench.detection.classifiers.models import NODULES_PER_SCAN
from nodulebench.detection.classifiers.scoring import Measured
from nodulebench.detection.classifiers.weights import classifier_of
from nodulebench.detection.train_classifier import examples_of

BINS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class Told:
    """What the second look said of candidates that it never saw."""

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


def reliability(told: Told) -> FloatArray:
    """Bins x 5: mean probability, share of nodules, candidates a scan, counts on and off them."""
    rows = []
    for low, high in pairwise(BINS):
        inside = (told.probability >= low) & ((told.probability < high) | (high == BINS[-1]))
        inside &= told.weight > 0
        if inside.any():
            weight = told.weight[inside]
            rows.append(
                (
                    np.average(told.probability[inside], weights=weight),
                    np.average(told.is_nodule[inside], weights=weight),
                    weight.sum(),
                    np.count_nonzero(told.is_nodule[inside]),
                    np.count_nonzero(~told.is_nodule[inside]),
                )
            )
    return np.array(rows)


def told_of(kept: Sequence[Proposals], names: Sequence[str]) -> Told:
    """What is said of the candidates of some detectors."""
    probability, is_nodule, is_whole = [], [], []
    nodules = sum(int((~one.nodules["is_ignored"]).sum()) for one in kept)
    scans = sum(one.is_whole for one in kept)
    for one in kept:
        fold = one.fold if one.fold >= 0 else None
        for name in names:
            look = one.described[name]
            passes = reported(one.found[name], name, fold)
            passed = Measured(look.candidates.chosen(passes), look.features[passes], look.names)
            found = examples_of(one.nodules, passed, fold=one.fold, is_whole=one.is_whole)
            classifier = classifier_of(REDUCTION, None, look.names, fold)
            probability.append(classifier.score(found.features))
            is_nodule.append(found.is_nodule)
            is_whole.append(found.is_whole)
    is_on, whole = np.concatenate(is_nodule), np.concatenate(is_whole)
    weight = np.where(is_on, NODULES_PER_SCAN / nodules, whole / max(scans, 1))
    return Told(np.concatenate(probability), is_on, weight, whole)


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder of measured candidates")
    kept = learnt_from(parser.parse_args().keep)
    print("| detector | candidates | on nodules | AUC | AUC on scans | Brier | ECE |")
    print("|---|---|---|---|---|---|---|")
    for names in (*((name,) for name in NAMES), NAMES):
        told = told_of(kept, names)
        print(
            f"| {names[0] if len(names) == 1 else 'all'} | {len(told.weight)} | "
            f"{int(told.is_nodule.sum())} | {told.area:.3f} | {told.area_on_scans:.3f} | "
            f"{told.brier:.4f} | {told.calibration_error:.4f} |"
        )


if __name__ == "__main__":
    main()
