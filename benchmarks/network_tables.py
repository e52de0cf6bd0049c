"""Scoring networks against the classical ranking of the same candidates: FROC, CPM, differences.

``python -m benchmarks.network_tables WEIGHTS --blocks DIR EXAMPLES --scans DIR EXAMPLES``: DIR
is what ``candidate_blocks --keep`` and the like wrote, EXAMPLES what ``examples`` made of it,
WEIGHTS what ``network_folds`` wrote. Every case is scored by weights that never saw its fold, and
compared with the list that networks were given: the five detectors by their reduction.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.candidate_findings import FIVE, Findings, joined_findings, restricted
from benchmarks.candidate_froc import DRAWS, RATES, best_on_nodules, labelled, off_nodules
from benchmarks.candidate_scans import series_by_name
from benchmarks.proposals import findings_of, read_proposals
from nodulebench.core.arrays import FloatArray
from nodulebench.core.protocol import load_protocol
from nodulebench.core.tables import MARKS, Reference, Submission
from nodulebench.io.csv_files import write_csv
from nodulebench.io.marks.luna16 import write_reference
from nodulebench.metrics.froc import sensitivity_at_fp_rate

FINDERS = ("heatmap", "znet_unet")
"""These score no candidates."""
CHOSEN, HEADLINE = (0, 1), tuple(range(2, 10))
BASELINE = "+".join(FIVE)


@dataclass(frozen=True, eq=False)
class Data:
    """Cases of one kind: what detectors found, and what networks were shown."""

    findings: Findings
    examples: Path
    first: int
    """The number of its first case in all examples."""
    fold: dict[str, int]
    names: tuple[str, ...]
    """Of the cases, in the order of the examples."""

    def of_folds(self, folds: Sequence[int]) -> Findings:
        """The cases of some folds."""
        return restricted(
            self.findings,
            pl.Series([name for name in self.names if self.fold.get(name, -1) in folds]),
        )


def read_data(folder: Path, examples: Path, first: int, ids: Mapping[str, str]) -> Data:
    """Findings and examples; ``ids`` tells what a series is called in the findings."""
    listed = pl.read_csv(examples / "candidates.csv")["seriesuid"].unique(maintain_order=True)
    folds = pl.read_csv(examples / "folds.csv")
    return Data(
        joined_findings(
            [findings_of(read_proposals(done.parent), ()) for done in sorted(folder.rglob("done"))]
        ),
        examples,
        first,
        {ids.get(name, name): fold for name, fold in folds.iter_rows()},
        tuple(ids.get(name, name) for name in listed),
    )


def given_list(parts: Sequence[Data], ids: Mapping[str, str]) -> pl.DataFrame:
    """The candidates of all parts with the probability that detectors gave them."""
    whole = pl.concat([pl.read_csv(part.examples / "candidates.csv") for part in parts])
    return whole.with_columns(
        pl.col("seriesuid").replace(dict(ids)), mark_id=pl.int_range(1, pl.len() + 1)
    )


def scored_lists(
    weights: Path, network: str, parts: Sequence[Data], ids: Mapping[str, str]
) -> pl.DataFrame:
    """The candidates of all parts with a network's probability, where it scored them."""
    flags = [np.load(part.examples / "is_judged.npy") for part in parts]
    which = np.concatenate(
        [np.load(part.examples / "places.npy")[:, 0] + part.first for part in parts]
    )
    fold = np.concatenate([np.load(part.examples / "fold.npy") for part in parts])
    row = np.cumsum(np.concatenate(flags)) - 1
    score = np.full(int(row[-1]) + 1, np.nan)
    for path in sorted(weights.glob(f"{network}-*.npz")):
        left_out = path.stem.rpartition("-")[2]
        with np.load(path) as stored:
            inside = stored["chosen"] < len(which)
            chosen, given = stored["chosen"][inside], stored["score"][inside]
            own = fold[which[chosen].astype(np.int64)]
            wanted = (own == int(left_out)) if left_out != "all" else (own == -1)
            if not (weights / f"{network}-all.npz").is_file() and left_out == "0":
                wanted |= own == -1
            score[row[chosen[wanted]]] = given[wanted]
    whole = given_list(parts, ids).with_columns(pl.Series("probability", score))
    return whole.filter(pl.col("probability").is_not_nan())


def as_submission(name: str, table: pl.DataFrame) -> Submission:
    """A list with probabilities as marks."""
    marks = table.select(
        case_id="seriesuid",
        mark_id=pl.col("mark_id").cast(pl.String),
        x_mm="coordX",
        y_mm="coordY",
        z_mm="coordZ",
        score="probability",
    )
    return Submission(name, MARKS.conform(marks, name))


def on_cases(submission: Submission, reference: Reference) -> Submission:
    """The marks of some cases."""
    wanted = reference.cases["case_id"].to_list()
    return Submission(submission.name, submission.marks.filter(pl.col("case_id").is_in(wanted)))


def sensitivities(
    reference: Reference, submission: Submission, rates: tuple[float, ...]
) -> FloatArray:
    """Draws + 1 x rates: of all cases, then of resampled cases, the same for every system."""
    cohort = labelled(reference, on_cases(submission, reference))
    cases = cohort.case_count
    drawn = np.random.default_rng(0).multinomial(cases, np.full(cases, 1 / cases), DRAWS)
    weights = np.concatenate([np.ones((1, cases)), drawn]).astype(np.int32)
    sensitivity: FloatArray = sensitivity_at_fp_rate(
        cohort, weights, operating_points=rates, interpolation=load_protocol("luna16").interpolation
    )
    return sensitivity


def with_interval(values: npt.NDArray[np.float64], sign: str = "") -> str:
    """A metric of all cases with the middle 95 % of the draws."""
    low, high = np.nanquantile(values[1:], (0.025, 0.975))
    return f"{values[0]:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def print_froc(findings: Findings, systems: Mapping[str, Submission], baseline: str) -> None:
    """Print sensitivities per case, CPM per case and per litre, and differences to a baseline."""
    reference = findings.reference
    litres = findings.lung_litres / reference.cases.height
    per_litre = tuple(rate * litres for rate in RATES)
    base = sensitivities(reference, systems[baseline], RATES)
    print(
        f"| system | {' | '.join(f'{rate:g}' for rate in RATES)} | CPM (95 % interval) | "
        "per litre | CPM against the baseline | at 1 against the baseline |"
    )
    print("|---" * (len(RATES) + 5) + "|")
    for name, system in systems.items():
        sensitivity = sensitivities(reference, system, RATES)
        cells = " | ".join(f"{value:.3f}" for value in sensitivity[0])
        wide = sensitivities(reference, system, per_litre).mean(axis=1)
        against = [""] * 2
        if name != baseline:
            against = [
                with_interval(sensitivity.mean(axis=1) - base.mean(axis=1), "+"),
                with_interval(sensitivity[:, 3] - base[:, 3], "+"),
            ]
        print(
            f"| {name} | {cells} | {with_interval(sensitivity.mean(axis=1))} | "
            f"{with_interval(wide)} | {against[0]} | {against[1]} |",
            flush=True,
        )


def print_mixed(blocks: Findings, scans: Findings, systems: Mapping[str, Submission]) -> None:
    """Print sensitivities of the blocks' nodules at the false positives of whole scans."""
    print(f"| system | {' | '.join(f'{rate:g}' for rate in RATES)} | CPM |")
    print("|---" * (len(RATES) + 2) + "|")
    for name, system in systems.items():
        best = best_on_nodules(blocks.reference, on_cases(system, blocks.reference))
        false = np.sort(off_nodules(scans.reference, on_cases(system, scans.reference)))[::-1]
        allowed = [int(rate * scans.reference.cases.height) for rate in RATES]
        least = [false[count] if count < len(false) else -np.inf for count in allowed]
        shares = [float(np.mean(best > score)) for score in least]
        cells = " | ".join(f"{value:.3f}" for value in shares)
        print(f"| {name} | {cells} | {np.mean(shares):.3f} |", flush=True)


def averages(lists: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The means of two networks and more."""
    for count in range(2, len(lists) + 1):
        for members in combinations(lists, count):
            first = lists[members[0]]
            score = np.mean([lists[member]["probability"].to_numpy() for member in members], axis=0)
            yield (
                "mean of " + ", ".join(members),
                first.with_columns(pl.Series("probability", score)),
            )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--blocks", type=Path, nargs=2, required=True)
    parser.add_argument("--scans", type=Path, nargs=2, required=True)
    given = parser.parse_args()
    ids = {series: name for name, series in series_by_name().items()}
    blocks = read_data(given.blocks[0], given.blocks[1], 0, ids)
    count = len(np.load(given.blocks[1] / "fold.npy"))
    scans = read_data(given.scans[0], given.scans[1], count, ids)
    parts = [blocks, scans]
    listed = given_list(parts, ids)
    five = {BASELINE: as_submission(BASELINE, listed)}
    folds_of: dict[str, set[str]] = {}
    for path in sorted(given.weights.glob("*.npz")):
        name, _, fold = path.stem.rpartition("-")
        folds_of.setdefault(name, set()).add(fold)
    lists = {
        name: scored_lists(given.weights, name, parts, ids)
        for name in folds_of
        if name not in FINDERS
    }
    networks = {name: as_submission(name, table) for name, table in lists.items()}
    whole = {name: lists[name] for name in lists if folds_of[name] >= set(map(str, HEADLINE))}
    ten = {
        **five,
        **{name: networks[name] for name in whole},
        **{name: as_submission(name, table) for name, table in averages(whole)},
    }
    for folds, systems in ((HEADLINE, ten), (CHOSEN, {**five, **networks})):
        chosen = blocks.of_folds(folds)
        print(f"\nBlocks of folds {folds}: {chosen.reference.cases.height}\n")
        print_froc(chosen, systems, BASELINE)
    print("\nNodules of the blocks of folds 2 to 9, false positives of the scans\n")
    print_mixed(blocks.of_folds(HEADLINE), scans.findings, ten)
    print("\nWhole scans\n")
    print_froc(scans.findings, ten, BASELINE)


def write_headline(out: Path, reference: Reference, systems: Mapping[str, Submission]) -> None:
    """The blocks of the headline as LUNA16 lists them, for ``nodulebench compare``."""
    write_reference(reference, out / "reference")
    for name, system in systems.items():
        table = on_cases(system, reference).marks.select(
            seriesuid="case_id", coordX="x_mm", coordY="y_mm", coordZ="z_mm", probability="score"
        )
        write_csv(table, out / f"{name.replace(' ', '-')}.csv")


if __name__ == "__main__":
    main()
