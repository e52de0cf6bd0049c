"""Classifiers that have never seen the fold they are tested on: trained, kept, and used."""

import pickle
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.candidate_findings import Detect
from benchmarks.measure import DATA
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.weight_files import write_weights
from nodulebench.formats.luna16_csv import read_reference
from nodulebench.formats.nodule_blocks import FOLDS
from nodulebench.workflows.train_classifier import Examples, collect_examples, train_on


def detectors_without(fold: int, names: Iterable[str], folder: Path) -> dict[str, Detect]:
    """Those detectors that end in a classifier, with one trained on the nine other folds."""
    chosen: dict[str, Detect] = {}
    for name in names:
        if name in TRAINED:
            module = import_module(f"nodulebench.algorithms.candidates.{name}")
            settings = replace(module.DEFAULT, weights=weights_without(fold, name, folder))
            chosen[name] = partial(module.detect, settings=settings)
    return chosen


def weights_without(fold: int, name: str, folder: Path) -> Path:
    """The file of weights of a classifier that was trained without a fold; made where missing."""
    path = folder / f"{name}-without-{fold}.npz"
    if not path.is_file():
        examples = examples_of(name, folder)
        others = [other for other in FOLDS if other != fold]
        write_weights(path, train_on(name, examples, others), TRAINED[name].names)
    return path


def examples_of(name: str, folder: Path) -> Examples:
    """A detector's candidates in all blocks, uncut, to learn from."""
    path = folder / f"{name}.examples.pickle"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        truth = read_reference(DATA / "luna16")
        path.write_bytes(pickle.dumps(collect_examples(name, DATA / "nodule_blocks", truth)))
    examples: Examples = pickle.loads(path.read_bytes())  # noqa: S301 - written above
    return examples
