"""Classifiers that never saw the fold they judge: a detector's candidates, measured once a fold."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.candidate_findings import Case, Detect
from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.classify.measured import Measured
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.weight_files import Classifier
from nodulebench.formats.lidc.nodule_blocks import FOLDS
from nodulebench.model.arrays import BoolArray
from nodulebench.workflows.detect.train import SEED, hits

MakeCases = Callable[[int], Iterable[Case]]
"""The cases of a fold."""


@dataclass(frozen=True, eq=False)
class Example:
    """The candidates of one case before the classifier."""

    case_id: str
    measured: Measured
    is_on_nodule: BoolArray
    is_on_ignored: BoolArray


def detectors_without(
    fold: int, names: Iterable[str], make_cases: MakeCases, keep: Path
) -> dict[str, Detect]:
    """Those detectors that end in a classifier, each with one trained on the nine other folds.

    They answer for the cases of the fold, one after the other, and are trained when first asked.
    """
    chosen: dict[str, Detect] = {}
    for name in names:
        if name in TRAINED:
            answers = _answers(fold, name, make_cases, keep)
            chosen[name] = lambda _, given=answers: next(given)
    return chosen


def _answers(fold: int, name: str, make_cases: MakeCases, keep: Path) -> Iterator[Candidates]:
    least = import_module(f"nodulebench.algorithms.candidates.{name}").DEFAULT.least_score
    classifier = classifier_without(fold, name, make_cases, keep)
    for example in examples_of(fold, name, make_cases, keep):
        found, features = example.measured.candidates, example.measured.features
        score = classifier.score(features) if len(found) else np.empty(0)
        kept = score >= least
        yield Candidates(found.center_mm[kept], score[kept], found.diameter_mm[kept])


def classifier_without(fold: int, name: str, make_cases: MakeCases, keep: Path) -> Classifier:
    """A detector's classifier, trained on all folds but one."""
    examples = [
        example
        for other in FOLDS
        if other != fold
        for example in examples_of(other, name, make_cases, keep)
    ]
    kept = [one.is_on_nodule | ~one.is_on_ignored for one in examples]
    pairs = list(zip(examples, kept, strict=True))
    features = np.concatenate([one.measured.features[chosen] for one, chosen in pairs])
    is_nodule = np.concatenate([one.is_on_nodule[chosen] for one, chosen in pairs])
    return TRAINED[name].train(features, is_nodule, SEED)


def examples_of(fold: int, name: str, make_cases: MakeCases, keep: Path) -> list[Example]:
    """A detector's candidates in the cases of a fold; measured once and kept in a folder."""
    path = keep / f"{name}-{fold}.pickle"
    if not path.is_file():
        examples = []
        for case in make_cases(fold):
            measured = TRAINED[name].find(case.chest)
            on = hits(measured.candidates.center_mm, case.nodules)
            examples.append(Example(case.case_id, measured, *on))
        keep.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(examples))
    kept: list[Example] = pickle.loads(path.read_bytes())  # noqa: S301 - written above
    return kept
