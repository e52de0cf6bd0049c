"""FROC and CPM of detectors and their combinations, on whole scans and on blocks.

``python -m benchmarks.candidate_froc --keep DIR``; DIR is from ``fold_weights`` or the tables.
Every case is scored by weights that never saw its fold. CPM is the mean sensitivity at 1/8 to 8
false positives per scan, with an interval from resampled scans.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.candidate_blocks import SEED, find_in_fold
from benchmarks.candidate_findings import FIVE, Findings, joined_findings
from benchmarks.candidate_scans import scan_cases
from benchmarks.candidate_tables import combined
from benchmarks.proposals import findings_of, stored_proposals
from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import DUPLICATE, HIT, LabelledCohort, labelled_cohort
from nodulebench.core.protocol import load_protocol
from nodulebench.core.results import Curve
from nodulebench.core.tables import Reference, Submission
from nodulebench.detection.candidates import NAMES
from nodulebench.evaluation.combine import all_members
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.froc import froc_curve, sensitivity_at_fp_rate

FOLDS = tuple(range(2, 10))
"""The first two were used to choose the detectors' parameters."""
RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""False positives per scan or block."""
DRAWS = 2000
SHOWN = (("isicad", "etrocad"), ("isicad", "m5l", "etrocad"))
"""Combinations that are shown next to each detector and all five."""


def scan_findings(keep: Path | None, names: Sequence[str] = NAMES) -> Findings:
    """What detectors say of the whole scans."""
    folder = None if keep is None else keep / "scans"
    return findings_of(stored_proposals(scan_cases, folder), names)


def block_findings(
    keep: Path, names: Sequence[str] = NAMES, folds: Sequence[int] = FOLDS
) -> Findings:
    """What detectors say of the blocks of some folds."""
    return joined_findings([find_in_fold(fold, names, SEED, keep) for fold in folds])


def labelled(reference: Reference, submission: Submission) -> LabelledCohort:
    """Marks labelled by LUNA16's rule, without a cap on their number."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    return labelled_cohort(reference, submission, labels, targets(reference, submission, protocol))


def froc_of(reference: Reference, submission: Submission) -> Curve:
    """Sensitivity over false positives per case, by LUNA16's rule."""
    return froc_curve(labelled(reference, submission))


def sensitivities(cohort: LabelledCohort, draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Draws + 1 x rates: of all cases, then of resampled cases."""
    cases = cohort.case_count
    drawn = np.random.default_rng(seed).multinomial(cases, np.full(cases, 1 / cases), draws)
    weights = np.concatenate([np.ones((1, cases)), drawn]).astype(np.int32)
    protocol = load_protocol("luna16")
    sensitivity: FloatArray = sensitivity_at_fp_rate(
        cohort, weights, operating_points=RATES, interpolation=protocol.interpolation
    )
    return sensitivity


def print_cpm(findings: Findings, members: Sequence[tuple[str, ...]]) -> None:
    """Print sensitivities and CPM of detectors and combinations."""
    print(f"| detectors | {' | '.join(f'{rate:g}' for rate in RATES)} | CPM (95 % interval) |")
    print("|---" * (len(RATES) + 2) + "|")
    for names in members:
        sensitivity = sensitivities(labelled(findings.reference, combined(findings, names)))
        cpm = sensitivity.mean(axis=1)
        low, high = np.nanquantile(cpm[1:], (0.025, 0.975))
        cells = " | ".join(f"{value:.3f}" for value in sensitivity[0])
        print(f"| {'+'.join(names)} | {cells} | {cpm[0]:.3f} ({low:.3f}–{high:.3f}) |")


def mixed(blocks: Findings, scans: Findings, names: tuple[str, ...]) -> list[float]:
    """Sensitivities of the many nodules of blocks at the false positives of whole scans."""
    best = best_on_nodules(blocks.reference, combined(blocks, names))
    false = np.sort(off_nodules(scans.reference, combined(scans, names)))[::-1]
    cases = scans.reference.cases.height
    allowed = [int(rate * cases) for rate in RATES]
    least = [false[count] if count < len(false) else -np.inf for count in allowed]
    return [float(np.mean(best > score)) for score in least]


def best_on_nodules(reference: Reference, submission: Submission) -> FloatArray:
    """The highest score on each nodule to find; minus infinity on those that are missed."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    best = np.full(reference.nodules.height, -np.inf)
    hit = np.isin(labels.label, (HIT, DUPLICATE))
    score = submission.marks["score"].to_numpy()
    np.maximum.at(best, labels.nodule[hit], score[labels.mark[hit]])
    on_targets: FloatArray = best[~reference.nodules["is_ignored"].to_numpy()]
    return on_targets


def off_nodules(reference: Reference, submission: Submission) -> FloatArray:
    """The scores of marks that lie on no nodule and on no ignored finding."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    return submission.marks["score"].to_numpy()[np.unique(labels.mark[labels.nodule < 0])]


def print_mixed(blocks: Findings, scans: Findings, members: Sequence[tuple[str, ...]]) -> None:
    """Print the mean of those sensitivities."""
    print(f"| detectors | {' | '.join(f'{rate:g}' for rate in RATES)} | CPM |")
    print("|---" * (len(RATES) + 2) + "|")
    for names in members:
        sensitivity = mixed(blocks, scans, names)
        cells = " | ".join(f"{value:.3f}" for value in sensitivity)
        print(f"| {'+'.join(names)} | {cells} | {np.mean(sensitivity):.3f} |")


def main() -> None:
    """Print the tables of whole scans and of blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder of measured candidates")
    keep = parser.parse_args().keep
    single = [(name,) for name in NAMES if name not in FIVE]
    members = [*single, *all_members(FIVE)]
    findings = scan_findings(keep)
    print(f"{findings.reference.cases.height} whole scans\n")
    print_cpm(findings, members)
    shown = [*single, *((name,) for name in FIVE), *SHOWN, FIVE]
    blocks = block_findings(keep)
    print("\nNodules of the blocks of folds 2 to 9, false positives of the scans\n")
    print_mixed(blocks, findings, shown)
    print("\nBlocks of folds 2 to 9, false positives per block\n")
    print_cpm(blocks, shown)


if __name__ == "__main__":
    main()
