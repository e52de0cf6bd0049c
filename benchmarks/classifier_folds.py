"""Classifiers of the detectors, each fold of real blocks judged by one that never saw it.

``python -m benchmarks.classifier_folds --keep DIR``
"""

import argparse
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.measure import DATA
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.weight_files import Classifier, read_weights, write_weights
from nodulebench.formats.lidc.nodule_blocks import FOLDS
from nodulebench.formats.marks.luna16_csv import read_reference
from nodulebench.workflows.detect.train import Examples, collect_examples, train_on


def kept_examples(name: str, folder: Path) -> Examples:
    """A detector's candidates in all blocks; measured once and kept in a folder."""
    path = folder / f"{name}.examples.pickle"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        truth = read_reference(DATA / "luna16")
        path.write_bytes(pickle.dumps(collect_examples(name, DATA / "nodule_blocks", truth)))
    examples: Examples = pickle.loads(path.read_bytes())  # noqa: S301 - written above
    return examples


def classifier_without(fold: int, name: str, examples: Examples, folder: Path) -> Classifier:
    """A classifier trained on the nine other folds; kept in the folder."""
    path = folder / f"{name}-without-{fold}.npz"
    if not path.is_file():
        others = [other for other in FOLDS if other != fold]
        write_weights(path, train_on(name, examples, others), TRAINED[name].names)
    return read_weights(path, TRAINED[name].names)


def areas(name: str, examples: Examples, folder: Path) -> list[float]:
    """Area under the ROC curve of a detector's candidates, fold by fold."""
    found = []
    for fold in FOLDS:
        tested = examples.of_folds([fold])
        score = classifier_without(fold, name, examples, folder).score(tested.features)
        found.append(float(roc_auc_score(tested.is_nodule, score)))
    return found


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder where candidates and weights are kept")
    with TemporaryDirectory() as temporary:
        print_areas(parser.parse_args().keep or Path(temporary))


def print_areas(folder: Path) -> None:
    """Print a row for each detector."""
    print(f"| detector | candidates | of nodules | {' | '.join(map(str, FOLDS))} | mean |")
    print("|---" * (len(FOLDS) + 4) + "|")
    for name in TRAINED:
        examples = kept_examples(name, folder)
        found = areas(name, examples, folder)
        cells = " | ".join(f"{area:.3f}" for area in found)
        count, nodules = len(examples.fold), int(examples.is_nodule.sum())
        print(f"| `{name}` | {count} | {nodules} | {cells} | {np.mean(found):.3f} |")


if __name__ == "__main__":
    main()
