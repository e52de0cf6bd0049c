"""All detectors on variants of one scan -> a table of the relations that their marks satisfy.

Detectors see every variant together, and balls are placed where none of them has a mark.

``python -m benchmarks.detector_relations scan.mhd --test crop --test noise``
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.core.notices import Notice
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.detectors import candidates_of
from nodulebench.detection.scan import prepare_scan
from nodulebench.imaging.volume import Volume
from nodulebench.io.images.case_images import read_case
from nodulebench.runner.command import Marks
from nodulebench.runner.robustness import (
    AS_IT_IS,
    DEFAULT_CHOICE,
    TESTS,
    Bench,
    RelationVerdict,
    RobustnessChoice,
)
from nodulebench.runner.scan_variants import InsertedNodule, place_nodules

BALLS_HU = {"subsolidcad": -600.0}
"""Ground glass for the detector that is made for it; the others have solid balls."""


Detect = Callable[[Sequence[str], Volume], dict[str, Marks]]
"""Detectors by name and a scan -> what each says of it."""


def built_in(names: Sequence[str], volume: Volume) -> dict[str, Marks]:
    """What built-in detectors say, who see the same chest."""
    chest = prepare_scan(volume)
    by_detector = {name: candidates_of(name, chest) for name in names}
    return {
        name: Marks(candidates.center_mm, candidates.score)
        for name, candidates in by_detector.items()
    }


class Together(Bench):
    """One scan and some detectors: a run is of all of them, and tells what one says."""

    def __init__(
        self, volume: Volume, names: Sequence[str], choice: RobustnessChoice, detect: Detect
    ) -> None:
        """Look at the lungs of the case."""
        super().__init__(lambda scan: detect([self.name], scan)[self.name], volume, choice)
        self.names, self.name, self.detect = names, names[0], detect
        self.detected: dict[Notice, dict[str, Marks]] = {}

    def run(self, name: Notice, volume: Volume) -> Marks:
        """Marks of the detector in turn; all are run once for each name."""
        if name not in self.detected:
            self.detected[name] = self.detect(self.names, volume)
        return self.detected[name][self.name]

    @cached_property
    def nodules(self) -> tuple[InsertedNodule, ...]:
        """What is inserted: where the lungs are free of all marks."""
        self.run(AS_IT_IS, self.volume)
        marks = np.concatenate([own.center_mm for own in self.detected[AS_IT_IS].values()])
        sizes, random = self.choice.diameters_mm, self.random(0)
        return place_nodules(self.volume, self.lungs.mask, sizes, marks, random)


def _steps(counted: Sequence[Notice]) -> str:
    return ", ".join(str(notice.values["count"]) for notice in counted)


IN_SHORT: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "marks_agree": lambda values: f"{values['share']:.2f}",
    "highest_stay": lambda values: f"{values['remaining']} of {values['top']}; {values['all']:.2f}",
    "inserted_found": lambda values: (
        f"{values['large_found']} of {values['large']}; {in_short(values['elsewhere'])}"
    ),
    "about_as_many": lambda values: (
        f"{values['remaining']} of {values['total']}; {_steps(values['counts'])}"
    ),
    "found_by_step": lambda values: _steps(values["steps"]),
    "large_stay": lambda values: f"{values['remaining']} of {values['total']}",
}
"""What was measured, in a few metrics."""


def in_short(measured: Notice) -> str:
    """The metrics of a verdict, or why there are none."""
    known = IN_SHORT.get(measured.code)
    return "not tested" if known is None else known(measured.values)


def cell(verdict: RelationVerdict) -> str:
    """The metrics of a verdict, bold where the relation does not hold."""
    measured = in_short(verdict.measured)
    return f"**{measured}**" if verdict.is_passed is False else measured


def rows(
    volume: Volume, tests: Sequence[str], detect: Detect = built_in
) -> dict[str, dict[str, str]]:
    """Test and detector -> what was measured."""
    solid = [name for name in NAMES if name not in BALLS_HU]
    benches = [Together(volume, solid, DEFAULT_CHOICE, detect)]
    benches += [
        Together(volume, [name], RobustnessChoice(nodule_hu=hu), detect)
        for name, hu in BALLS_HU.items()
    ]
    table: dict[str, dict[str, str]] = {test: {} for test in tests}
    for bench in benches:
        for test in tests:
            for name in bench.names:
                bench.name = name
                table[test][name] = cell(TESTS[test][1](bench))
    return table


def main() -> None:
    """Print the table of one scan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", type=Path, help="the image of a scan in any form")
    parser.add_argument("--test", action="append", choices=list(TESTS), help="some, not all")
    options = parser.parse_args()
    tests = options.test or list(TESTS)
    table = rows(read_case(options.case), tests)
    print("| test | " + " | ".join(NAMES) + " |")
    print("|---|" + "---|" * len(NAMES))
    for test, cells in table.items():
        print(f"| `{test}` | " + " | ".join(cells[name] for name in NAMES) + " |")
    held = [sum("**" not in cells[name] for cells in table.values()) for name in NAMES]
    print("| hold | " + " | ".join(f"{count} of {len(tests)}" for count in held) + " |")


if __name__ == "__main__":
    main()
