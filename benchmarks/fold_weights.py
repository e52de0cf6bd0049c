"""The package's weights: every classifier eleven times, from what detectors propose in all cases.

``python -m benchmarks.fold_weights --keep DIR --out src/nodulebench/detection/classifiers/trained``

Cases are the blocks, cut as in ``candidate_blocks``, and the whole scans, each in its fold of
LUNA16; why no phantoms, ``second_look_phantoms`` tells. What detectors propose is kept in DIR; the
tables of ``candidate_blocks`` and ``candidate_scans`` are made of the same.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.candidate_blocks import block_proposals, series_folds
from benchmarks.candidate_scans import scan_cases
from benchmarks.proposals import Proposals, kept_proposals
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.classifiers.scoring import TRAINED, Measured
from nodulebench.detection.classifiers.weights import SEEN, folder_of, write_seen, write_weights
from nodulebench.detection.scan import Candidates
from nodulebench.detection.train_classifier import examples_of, train_on
from nodulebench.io.lidc.blocks import FOLDS

REDUCTION = "second_look"


def examples_from(kept: Sequence[Proposals], name: str) -> Examples:
    """What a classifier learns from: the proposals of its detector, or of all of them."""
    parts, nodules = [], 0
    for number, one in enumerate(kept):
        measured = _all_described(one) if name == REDUCTION else one.found[name]
        parts.append(
            examples_of(one.nodules, measured, fold=one.fold, is_whole=one.is_whole).numbered(
                number, nodules
            )
        )
        nodules += one.nodules.height
    return Examples.joined(*parts)


def _all_described(one: Proposals) -> Measured:
    looks = [one.described[name] for name in NAMES]
    together = Candidates.joined(*(look.candidates for look in looks))
    return Measured(together, np.concatenate([look.features for look in looks]), looks[0].names)


def decides(name: str) -> bool:
    """Whether what is reported depends on a classifier: then no fold may be judged by its own."""
    return name == REDUCTION or TRAINED[name].least_score > 0


def learnt_from(keep: Path) -> list[Proposals]:
    """All cases: blocks, fold by fold, and scans."""
    blocks = [proposal for fold in FOLDS for proposal in block_proposals(fold, keep)]
    return [*blocks, *kept_proposals(scan_cases, keep / "scans")]


def main() -> None:
    """Measure, train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder for measured candidates")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--classifiers", default=",".join(TRAINED), help="names, with commas")
    options = parser.parse_args()
    kept = learnt_from(options.keep)
    for name in options.classifiers.split(","):
        examples = examples_from(kept, name)
        for left_out in (None, *(FOLDS if decides(name) else ())):
            classifier = train_on(name, examples, [fold for fold in FOLDS if fold != left_out])
            path = options.out / folder_of(left_out) / f"{name}.npz"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_weights(path, classifier, TRAINED[name].names)
            print(f"{name} {folder_of(left_out)}: {path.stat().st_size} bytes", flush=True)
    write_seen(options.out / SEEN, series_folds())


if __name__ == "__main__":
    main()
