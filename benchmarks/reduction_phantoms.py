"""Should the false-positive reduction be trained on phantoms too? Real nodules and phantoms.

``python -m benchmarks.reduction_phantoms --keep found/``. Twelve phantoms are trained on and
twelve others scored, half of them healthy people and half as clinics see people; real nodules are
those of the blocks of folds 0 and 1 and of the whole scans, by classifiers that never saw their
fold.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_findings import FIVE, Findings
from benchmarks.candidate_froc import labelled, mixed, sensitivities
from benchmarks.candidate_phantoms import phantom_cases
from benchmarks.candidate_tables import combined
from benchmarks.fold_weights import REDUCTION, examples_from, training_proposals
from benchmarks.proposals import Proposals, findings_of, stored_proposals
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers import false_positive_reduction as reduction
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.train_classifier import train_on
from nodulebench.io.lidc_blocks import FOLDS
from nodulebench.phantom.patient import People

TRAINED_ON, TESTED = range(950, 956), range(956, 962)
"""Numbers of phantoms; no table has any of them."""
ALWAYS = 99
"""The fold of what every classifier learns from."""
CHOSEN = (0, 1)
PEOPLE: tuple[People, ...] = ("healthy", "clinical")
SHOWN = (FIVE, ("mot_m5lv1",), ("isicad", "etrocad"))

Keeps = Callable[[Examples], np.ndarray]
WAYS: dict[str, Keeps] = {
    "no phantoms": lambda all_of: all_of.fold != ALWAYS,
    "phantoms": lambda all_of: np.ones(len(all_of), dtype=np.bool_),
    "other candidates in phantoms": lambda all_of: (all_of.fold != ALWAYS) | ~all_of.is_nodule,
}


def phantoms(numbers: Sequence[int], keep: Path) -> list[Proposals]:
    """The proposals of detectors in phantoms, each under another name."""
    proposals = []
    for people in PEOPLE:
        for number in numbers:
            name = f"phantom-{people}-{number}"
            for case in stored_proposals(phantom_cases(number, people), keep / name):
                nodules = case.nodules.with_columns(case_id=pl.lit(name))
                proposals.append(replace(case, case_id=name, nodules=nodules))
    return proposals


def cpm(findings: Findings, members: tuple[str, ...]) -> float:
    """Of some detectors together."""
    cohort = labelled(findings.reference, combined(findings, members))
    return float(sensitivities(cohort, draws=2)[0].mean())


def main() -> None:
    """Print a line for each way and system."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder for measured candidates")
    keep = parser.parse_args().keep
    real = training_proposals(keep)
    # not whole scans: calibration is that of people
    made = [replace(phantom, fold=ALWAYS, is_whole=False) for phantom in phantoms(TRAINED_ON, keep)]
    tested = phantoms(TESTED, keep)
    examples = examples_from([*real, *made], REDUCTION)
    scans = [case for case in real if case.is_whole]
    blocks = [case for case in real if not case.is_whole and case.fold in CHOSEN]
    asked = sorted({scan.fold for scan in [*scans, *blocks, *tested]})
    print("| trained on | detectors | blocks | blocks' nodules, scans' others | scans | phantoms |")
    print("|---|---|---|---|---|---|")
    packaged = reduction.classifier_of
    for way, keeps in WAYS.items():
        chosen = examples.chosen(keeps(examples))
        trained = {
            fold: train_on(
                REDUCTION, chosen, [*(other for other in FOLDS if other != fold), ALWAYS]
            )
            for fold in asked
        }

        def own(name, weights, names, fold, known=trained):  # type: ignore[no-untyped-def]
            if name != REDUCTION:
                return packaged(name, weights, names, fold)
            return known[-1 if fold is None else fold]

        reduction.classifier_of = own
        each = [findings_of(part, NAMES) for part in (blocks, scans, tested)]
        for members in SHOWN:
            metrics = (
                cpm(each[0], members),
                float(np.mean(mixed(each[0], each[1], members))),
                cpm(each[1], members),
                cpm(each[2], members),
            )
            cells = " | ".join(f"{metric:.3f}" for metric in metrics)
            print(f"| {way} | {'+'.join(members)} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
