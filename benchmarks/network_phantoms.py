"""Networks on phantoms of seeds that nothing was chosen on, beside the ranking they start from.

``python -m benchmarks.network_phantoms --phantoms 16``. No network ever learnt from a phantom.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benchmarks.candidate_findings import Case, Findings, joined_findings, kept_findings
from benchmarks.candidate_phantoms import phantom_case
from benchmarks.candidate_tables import nodules_to_find
from benchmarks.network_tables import BASELINE, best_on_nodules, off_nodules, print_froc
from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.chest import Chest
from nodulebench.model.arrays import FloatArray
from nodulebench.workflows.detect.network_finder import found_by
from nodulebench.workflows.detect.network_judge import read_jury
from nodulebench.workflows.detect.system import (
    agreed,
    candidates_in,
    read_system,
    said_by,
    with_places_of,
)

FIRST = 900
"""The number of the first phantom: no other benchmark has these."""
NAME = "phantom"
SYSTEMS = (BASELINE, "twoscale", "heatmap", "five and twoscale", "nodulebench")


@lru_cache(maxsize=1)
def said_of(chest: Chest) -> dict[str, Candidates]:
    """What each system says of a phantom; detectors and networks look once."""
    volume, names = chest.volume, (NAME,)
    five, _ = candidates_in(read_system(BASELINE), chest, volume, series=names)
    places, _ = found_by("heatmap", chest, volume, read_system("heatmap").weights, names)
    more = with_places_of(five, places)
    likely = read_jury("twoscale", ()).judge(volume, NAME, more.center_mm, names).score
    heat, own = said_by(places, more), likely[: len(five)]

    def scored(candidates: Candidates, *opinions: FloatArray) -> Candidates:
        return replace(candidates, score=agreed(opinions))

    judged = (
        five,
        scored(five, own),
        places,
        scored(five, five.score, own),
        scored(more, more.score, heat, likely),
    )
    return dict(zip(SYSTEMS, judged, strict=True))


def found_by_system(name: str, chest: Chest) -> Candidates:
    """What one system says of a phantom."""
    return said_of(chest)[name]


def print_candidates(findings: Findings) -> None:
    """Print candidates per phantom and the share of nodules among them."""
    cases, nodules = findings.reference.cases.height, nodules_to_find(findings.reference).height
    print(f"| system | candidates per phantom | found of {nodules} |")
    print("|---|---|---|")
    for name, one in findings.submissions.items():
        found = int(np.isfinite(best_on_nodules(findings.reference, one)).sum())
        print(f"| {name} | {one.marks.height / cases:.1f} | {found} |")


def print_types(findings: Findings) -> None:
    """Print how many nodules of each type are found at one false positive per phantom."""
    reference, cases = findings.reference, findings.reference.cases.height
    of_type = nodules_to_find(reference)["type"]
    types = of_type.unique().sort().to_list()
    print(f"| system | {' | '.join(f'{one}, of {(of_type == one).sum()}' for one in types)} |")
    print("|---" * (len(types) + 1) + "|")
    for name, one in findings.submissions.items():
        false = np.sort(off_nodules(reference, one))[::-1]
        least = false[cases] if len(false) > cases else -np.inf
        is_found = best_on_nodules(reference, one) > least
        counts = [int(is_found[(of_type == kind).to_numpy()].sum()) for kind in types]
        print(f"| {name} | {' | '.join(map(str, counts))} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phantoms", type=int, default=16)
    parser.add_argument("--keep", type=Path, help="folder for what was found")
    given = parser.parse_args()
    chosen = {name: partial(found_by_system, name) for name in SYSTEMS}
    parts = []
    for number in range(FIRST, FIRST + given.phantoms):

        def cases(one: int = number) -> Iterator[Case]:
            yield phantom_case(one)

        folder = None if given.keep is None else given.keep / f"phantom{number}"
        parts.append(kept_findings(cases, chosen, folder))
    findings = joined_findings(parts)
    print_candidates(findings)
    print()
    print_types(findings)
    print()
    print_froc(findings, findings.submissions, BASELINE)


if __name__ == "__main__":
    main()
