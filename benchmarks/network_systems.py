"""Systems with networks and without, as they ship: real nodules in blocks, whole scans, phantoms.

``python -m benchmarks.network_systems --keep found/ --phantoms 13``.
The results of a case are stored in the folder; ``candidate_blocks`` and ``candidate_scans`` store
the same. Every case is scored by weights that never saw its fold; none was trained on a phantom.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_blocks import SEED, block_cases, block_proposals
from benchmarks.candidate_findings import Case, Findings, as_marks
from benchmarks.candidate_froc import best_on_nodules, off_nodules
from benchmarks.candidate_phantoms import phantom_cases
from benchmarks.candidate_scans import scan_cases, series_by_name
from benchmarks.candidate_tables import nodules_to_find
from benchmarks.network_opinions import Opinions, five_together, stored_opinions
from benchmarks.network_tables import (
    BASELINE,
    CHOSEN,
    HEADLINE,
    print_froc,
    print_mixed,
    write_headline,
)
from benchmarks.proposals import Proposals, findings_of, stored_proposals
from nodulebench.core.arrays import FloatArray
from nodulebench.core.tables import Submission
from nodulebench.detection.scan import Candidates
from nodulebench.detection.systems import combine_probabilities, scores_by, with_network_positions
from nodulebench.phantom.patient import People

FIRST = 900
"""The number of the first phantom: no other benchmark has these."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What detectors proposed in a case, and the networks' scores."""

    proposed: Proposals
    opinions: Opinions

    def by_system(self) -> dict[str, Candidates]:
        """What each system says of it."""
        five, places = five_together(self.proposed), self.opinions.places
        own = self.opinions.of(five)
        more = with_network_positions(five, places)
        both = [more.score, scores_by(places, more)]
        return {
            BASELINE: five,
            "twoscale": _by(five, own),
            "heatmap": places,
            "five and twoscale": _by(five, five.score, own),
            "five and heatmap": _by(more, *both),
            "nodulebench": _by(more, *both, self.opinions.of(more)),
        }


def _by(candidates: Candidates, *opinions: FloatArray) -> Candidates:
    return replace(candidates, score=combine_probabilities(opinions))


def systems_on(cases: Sequence[Seen]) -> Findings:
    """What each system says of some cases."""
    by_system = [case.by_system() for case in cases]
    lists = {
        name: pl.concat(
            [
                as_marks(case.proposed.case_id, systems[name])
                for case, systems in zip(cases, by_system, strict=True)
            ]
        )
        for name in by_system[0]
    }
    empty = findings_of([case.proposed for case in cases], ())
    return replace(
        empty, submissions={name: Submission(name, list_) for name, list_ in lists.items()}
    )


def seen_blocks(keep: Path, folds: Sequence[int]) -> list[Seen]:
    """The blocks of some folds."""
    return [
        case
        for fold in folds
        for case in _seen(
            partial(block_cases, [fold]),
            block_proposals(fold, keep),
            keep / f"seed{SEED}-fold{fold}",
            lambda name: name.partition("_")[0],
        )
    ]


def seen_scans(keep: Path) -> list[Seen]:
    """The whole scans."""
    folder = keep / "scans"
    series_of = series_by_name().__getitem__
    return _seen(scan_cases, stored_proposals(scan_cases, folder), folder, series_of)


def seen_phantoms(keep: Path, numbers: Sequence[int], people: People = "healthy") -> list[Seen]:
    """Phantoms by their numbers."""
    seen = []
    for number in numbers:
        cases, folder = phantom_cases(number, people), keep / f"phantom-{people}-{number}"
        seen += _seen(cases, stored_proposals(cases, folder), folder, str)
    return seen


def _seen(
    cases: Callable[[], Iterator[Case]],
    proposed: Sequence[Proposals],
    folder: Path,
    series_of: Callable[[str], str],
) -> list[Seen]:
    stored = stored_opinions(cases, proposed, folder, series_of)
    return [Seen(proposals, opinions) for proposals, opinions in zip(proposed, stored, strict=True)]


def print_candidates(findings: Findings) -> None:
    """Print candidates per case and the share of nodules among them."""
    cases, nodules = findings.reference.cases.height, nodules_to_find(findings.reference).height
    print(f"| system | candidates per case | found of {nodules} |")
    print("|---|---|---|")
    for name, submission in findings.submissions.items():
        hits = int(np.isfinite(best_on_nodules(findings.reference, submission)).sum())
        print(f"| {name} | {submission.marks.height / cases:.1f} | {hits} |")


def print_types(findings: Findings) -> None:
    """Print how many nodules of each type are found at one false positive per phantom."""
    reference, cases = findings.reference, findings.reference.cases.height
    of_type = nodules_to_find(reference)["type"]
    types = of_type.unique().sort().to_list()
    print(
        f"| system | {' | '.join(f'{type_}, of {(of_type == type_).sum()}' for type_ in types)} |"
    )
    print("|---" * (len(types) + 1) + "|")
    for name, submission in findings.submissions.items():
        false = np.sort(off_nodules(reference, submission))[::-1]
        least = false[cases] if len(false) > cases else -np.inf
        is_hit = best_on_nodules(reference, submission) > least
        counts = [int(is_hit[(of_type == kind).to_numpy()].sum()) for kind in types]
        print(f"| {name} | {' | '.join(map(str, counts))} |")


def print_medians(findings: Findings) -> None:
    """Print the median of what each system says of the nodules that it proposes, by type."""
    of_type = nodules_to_find(findings.reference)["type"]
    types = of_type.unique().sort().to_list()
    print(f"| system | {' | '.join(types)} |")
    print("|---" * (len(types) + 1) + "|")
    for name, submission in findings.submissions.items():
        best = best_on_nodules(findings.reference, submission)
        is_proposed = np.isfinite(best)
        own = [best[is_proposed & (of_type == kind).to_numpy()] for kind in types]
        print(f"| {name} | {' | '.join(f'{np.median(values):.4f}' for values in own)} |")


def print_kind(title: str, findings: Findings) -> None:
    """Print candidates and FROC of all systems."""
    print(f"\n{title}: {findings.reference.cases.height}\n")
    print_candidates(findings)
    print()
    print_froc(findings, findings.submissions, BASELINE)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder for stored scores")
    parser.add_argument("--phantoms", type=int, default=13)
    parser.add_argument("--people", choices=("healthy", "clinical"), default="healthy")
    parser.add_argument("--write", type=Path, help="folder for the lists of the headline")
    given = parser.parse_args()
    blocks = systems_on(seen_blocks(given.keep, HEADLINE))
    print_kind("Blocks of folds 2 to 9", blocks)
    print_kind("Blocks of folds 0 and 1", systems_on(seen_blocks(given.keep, CHOSEN)))
    scans = systems_on(seen_scans(given.keep))
    print_kind("Whole scans", scans)
    print("\nNodules of the blocks of folds 2 to 9, false positives of the scans\n")
    print_mixed(blocks, scans, _on_both(blocks, scans))
    numbers = range(FIRST, FIRST + given.phantoms)
    phantoms = systems_on(seen_phantoms(given.keep, numbers, given.people))
    print_kind(f"Phantoms, {given.people}", phantoms)
    print()
    print_types(phantoms)
    print()
    print_medians(phantoms)
    if given.write:
        write_headline(given.write, blocks.reference, blocks.submissions)


def _on_both(first: Findings, other: Findings) -> dict[str, Submission]:
    return {
        name: Submission(name, pl.concat([marks.marks, other.submissions[name].marks]))
        for name, marks in first.submissions.items()
    }


if __name__ == "__main__":
    main()
