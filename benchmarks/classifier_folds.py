"""Classifiers of the detectors, each fold of real blocks judged by one that never saw it.

``python -m benchmarks.classifier_folds --weights DIR``
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.fold_weights import examples_of, weights_without
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.training import roc_area
from nodulebench.algorithms.classify.weight_files import read_weights
from nodulebench.formats.nodule_blocks import FOLDS


def areas(name: str, folder: Path) -> list[float]:
    """Area under the ROC curve of a detector's candidates, fold by fold."""
    examples = examples_of(name, folder)
    found = []
    for fold in FOLDS:
        tested = examples.of_folds([fold])
        classifier = read_weights(weights_without(fold, name, folder), TRAINED[name].names)
        found.append(roc_area(classifier.score(tested.features), tested.is_nodule))
    return found


def main() -> None:
    """Print a row for each detector."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True, help="where they are kept")
    folder = parser.parse_args().weights
    print(f"| detector | candidates | of nodules | {' | '.join(map(str, FOLDS))} | mean |")
    print("|---" * (len(FOLDS) + 4) + "|")
    for name in TRAINED:
        examples, found = examples_of(name, folder), areas(name, folder)
        cells = " | ".join(f"{area:.3f}" for area in found)
        count, nodules = len(examples.fold), int(examples.is_nodule.sum())
        print(f"| `{name}` | {count} | {nodules} | {cells} | {np.mean(found):.3f} |")


if __name__ == "__main__":
    main()
