"""ZNET as a complete system on the blocks of folds 0 and 1: its U-Net, and its second network.

``python -m benchmarks.network_znet UNET WEIGHTS ZNET``: UNET is what ``nodulebench examples UNET
--detectors znet_unet --folds 0,1`` wrote, ZNET the examples of all folds with that list as the one
that is scored, WEIGHTS what ``network_folds WEIGHTS ZNET --networks znet --folds 0,1`` wrote.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_blocks import block_cases
from benchmarks.candidate_findings import Case, Findings
from benchmarks.network_tables import CHOSEN, as_submission, print_froc
from nodulebench.core.tables import CASES, Reference, Submission
from nodulebench.detection.trained_networks import read_panel

UNET, CLASSIFIER, OTHER = "znet_unet", "znet", "twoscale"


def listed_in(examples: Path) -> pl.DataFrame:
    """The candidates that are scored, in their order."""
    table = pl.read_csv(examples / "candidates.csv")
    return table.with_columns(mark_id=pl.int_range(1, pl.len() + 1))


def by_network(listed: pl.DataFrame, weights: Path, examples: Path) -> pl.DataFrame:
    """The same with the probabilities of ZNET's second half, each fold by the one without it."""
    scored = np.flatnonzero(np.load(examples / "is_judged.npy"))
    row = {int(number): at for at, number in enumerate(scored)}
    score = np.full(listed.height, np.nan)
    for fold in CHOSEN:
        with np.load(weights / f"{CLASSIFIER}-{fold}.npz") as stored:
            for number, probability in zip(stored["chosen"], stored["score"], strict=True):
                if int(number) in row:
                    score[row[int(number)]] = probability
    if np.isnan(score).any():
        raise ValueError("not all candidates were scored")
    return listed.with_columns(pl.Series("probability", score))


def by_other(listed: pl.DataFrame, cases: list[Case]) -> pl.DataFrame:
    """The same by our network, as it ships."""
    parts = []
    for case in cases:
        own = listed.filter(seriesuid=case.case_id)
        place = own.select("coordX", "coordY", "coordZ").to_numpy()
        series = (case.case_id.partition("_")[0],)
        scores = read_panel(OTHER, ()).score(case.chest.volume, case.case_id, place, series)
        parts.append(own.with_columns(pl.Series("probability", scores.score)))
    return pl.concat(parts)


def findings_of(cases: list[Case]) -> Findings:
    """The nodules of the blocks, and how much lung they show."""
    litres = [
        float(np.count_nonzero(case.chest.lungs.mask) * np.prod(case.chest.spacing_mm)) / 1e6
        for case in cases
    ]
    names = {"case_id": [case.case_id for case in cases], "lung_litres": litres}
    nodules = pl.concat([case.nodules for case in cases], how="diagonal_relaxed")
    return Findings(
        Reference("blocks", CASES.conform(pl.DataFrame(names), "blocks"), nodules), {}, {}
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("unet", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("znet", type=Path)
    given = parser.parse_args()
    cases = list(block_cases(CHOSEN))
    listed = listed_in(given.unet)
    lists = {
        UNET: listed,
        f"{UNET}+{OTHER}": by_other(listed, cases),
        f"{UNET}+{CLASSIFIER}": by_network(listed_in(given.znet), given.weights, given.znet),
    }
    systems: dict[str, Submission] = {
        name: as_submission(name, list_) for name, list_ in lists.items()
    }
    findings = findings_of(cases)
    per_block = listed.height / findings.reference.cases.height
    print(f"{findings.reference.cases.height} blocks, {per_block:.1f} candidates a block\n")
    print_froc(findings, systems, UNET)


if __name__ == "__main__":
    main()
