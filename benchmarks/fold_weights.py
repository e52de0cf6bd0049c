"""The package's weights: every classifier eleven times, from what detectors propose in all cases.

``python -m benchmarks.fold_weights --keep DIR --out src/nodulebench/detection/classifiers/trained``

Cases are the blocks, cut as in ``candidate_blocks``, and the whole scans, each in its fold of
LUNA16; ``reduction_phantoms`` explains why phantoms are left out. DIR stores the proposals, which
``candidate_blocks`` and ``candidate_scans`` use too.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.candidate_blocks import block_proposals, series_folds
from benchmarks.candidate_scans import scan_cases
from benchmarks.proposals import Proposals, stored_proposals
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.classifiers.weights import (
    SEEN,
    TRAINED,
    Measured,
    packaged_name,
    write_seen,
    write_weights,
)
from nodulebench.detection.scan import Candidates
from nodulebench.detection.train_classifier import examples_of, train_on
from nodulebench.io.lidc_blocks import FOLDS

REDUCTION = "second_look"


def examples_from(cases: Sequence[Proposals], name: str) -> Examples:
    """What a classifier learns from: the proposals of its detector, or of all of them."""
    parts, nodules = [], 0
    for number, case in enumerate(cases):
        measured = _all_described(case) if name == REDUCTION else case.proposed[name]
        parts.append(
            examples_of(case.nodules, measured, fold=case.fold, is_whole=case.is_whole).numbered(
                number, nodules
            )
        )
        nodules += case.nodules.height
    return Examples.joined(*parts)


def _all_described(case: Proposals) -> Measured:
    measured = [case.described[name] for name in NAMES]
    together = Candidates.joined(*(part.candidates for part in measured))
    return Measured(
        together, np.concatenate([part.features for part in measured]), measured[0].names
    )


def decides(name: str) -> bool:
    """Whether reports depend on a classifier: then no fold may be scored by its own."""
    return name == REDUCTION or TRAINED[name].least_score > 0


def training_proposals(keep: Path) -> list[Proposals]:
    """All cases: blocks, fold by fold, and scans."""
    blocks = [proposal for fold in FOLDS for proposal in block_proposals(fold, keep)]
    return [*blocks, *stored_proposals(scan_cases, keep / "scans")]


def main() -> None:
    """Measure, train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder for measured candidates")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--classifiers", default=",".join(TRAINED), help="names, with commas")
    options = parser.parse_args()
    cases = training_proposals(options.keep)
    for name in options.classifiers.split(","):
        examples = examples_from(cases, name)
        for left_out in (None, *(FOLDS if decides(name) else ())):
            classifier = train_on(name, examples, [fold for fold in FOLDS if fold != left_out])
            path = options.out / packaged_name(name, left_out)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_weights(path, classifier, TRAINED[name].names)
            print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
    write_seen(options.out / SEEN, series_folds())


if __name__ == "__main__":
    main()
