"""Candidate detectors on phantoms whose nodules are known exactly: all combinations, size, dose.

``python -m benchmarks.candidate_phantoms --phantoms 100 --dose-phantoms 12``
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl

from benchmarks.candidate_findings import (
    FIVE,
    Case,
    Findings,
    detectors,
    joined_findings,
    stored_findings,
)
from benchmarks.candidate_froc import froc_of, print_cpm
from benchmarks.candidate_tables import (
    MemberScore,
    nodules_to_find,
    print_cpu,
    print_groups,
    print_table,
    score_all_members,
    with_interval,
)
from nodulebench.core.arrays import BoolArray
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.detection.scan import prepare_scan
from nodulebench.imaging.lungs import lung_density
from nodulebench.phantom.patient import SCANNER, NodulePlan, People, make_patient, stream
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner, random_scanner
from nodulebench.phantom.truth import nodule_rows, nodule_tables

SEED = 516
"""Not that of any phantom on which a detector's parameters were chosen."""
MATRIX = 256
SLICE_MM = 2.0
DOSES_MAS = (256.0, 64.0, 16.0, 4.0, 1.0)
"""From a high dose to one far below all that are used; noise doubles from step to step."""
RATES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""False positives per phantom."""
SIZES_MM = (0.0, 4.0, 6.0, 10.0, 20.0, 40.0)
PLANS = tuple(NodulePlan(kind) for kind in NODULE_TYPES)
"""Every phantom has a nodule of each type, of any size, surface and attachment."""


def phantom_case(
    number: int, exposure_mas: float | None = None, people: People = "healthy"
) -> Case:
    """A phantom on a random scanner; with an exposure, the same one at that dose."""
    patient = make_patient(SEED, number, PLANS, people=people)
    chest = patient.chest
    half_width = chest.half_width + chest.wall_mm + chest.fat_mm
    chance = stream(SEED, number * 1000, SCANNER)
    _, scanner = random_scanner(chance, matrix=MATRIX, half_width_mm=half_width)
    scanner = replace(scanner, slice_thickness_mm=SLICE_MM, slice_spacing_mm=SLICE_MM)
    name = f"phantom-{number:03d}"
    if exposure_mas is not None:
        scanner = replace(_plain(scanner), exposure_mas=exposure_mas)
        name += f"-{exposure_mas:g}"
    scan = scan_patient(patient, scanner)
    nodules, _ = nodule_tables(nodule_rows(name, scan.nodules), [])
    return Case(name, prepare_scan(scan.volume, name), nodules)


def phantom_cases(
    number: int, people: People, exposure_mas: float | None = None
) -> Callable[[], Iterator[Case]]:
    """A function that makes a phantom; it is not called if its findings are stored."""

    def cases() -> Iterator[Case]:
        yield phantom_case(number, exposure_mas, people)

    return cases


def _plain(scanner: Scanner) -> Scanner:
    """Dose is compared under one kernel."""
    return replace(scanner, kernel="standard")


def phantom_groups(nodules: pl.DataFrame) -> dict[str, BoolArray]:
    """Nodules by diameter, type and attachment."""
    diameter = nodules["diameter_mm"].to_numpy()
    groups: dict[str, BoolArray] = {
        f"{low:g}–{high:g} mm": (diameter >= low) & (diameter < high)
        for low, high in pairwise(SIZES_MM)
    }
    for column in ("type", "attachment"):
        for name in nodules[column].unique().sort():
            groups[name.replace("_", " ")] = (nodules[column] == name).to_numpy()
    return groups


def print_exchange(scores: Sequence[MemberScore], nodules: pl.DataFrame) -> None:
    """Print what one of two detectors finds and the other does not."""
    single = {score.members[0]: score.is_hit for score in scores if len(score.members) == 1}
    is_glass = (nodules["type"] == "pure_ground_glass").to_numpy()
    groups = {"ground glass": is_glass, "everything else": ~is_glass}
    print("| nodules | number | only SubsolidCAD | only LargeCAD | both | neither |")
    print("|---|---|---|---|---|---|")
    subsolid, large = single["subsolidcad"], single["largecad"]
    for name, inside in groups.items():
        counts = (subsolid & ~large, large & ~subsolid, subsolid & large, ~subsolid & ~large)
        cells = " | ".join(str(int((inside & each).sum())) for each in counts)
        print(f"| {name} | {int(inside.sum())} | {cells} |")


def print_doses(by_dose: dict[float, list[MemberScore]], nodules: int) -> None:
    """Print sensitivity on the same phantoms at falling dose."""
    members = [score.members for score in by_dose[DOSES_MAS[0]]]
    print("| dose (mAs) | " + " | ".join("+".join(names) for names in members) + " |")
    print("|---|" + "---|" * len(members))
    for dose, scores in by_dose.items():
        cells = [with_interval(int(score.is_hit.sum()), nodules) for score in scores]
        print(f"| {dose:g} | " + " | ".join(cells) + " |")


def _shown(scores: Sequence[MemberScore], count: int) -> list[MemberScore]:
    return [score for score in scores if len(score.members) in (1, count)]


def main() -> None:
    """Print the tables that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", default=",".join(FIVE), help="names, with commas")
    parser.add_argument("--phantoms", type=int, default=100)
    parser.add_argument("--dose-phantoms", type=int, default=12, help="of these, at falling dose")
    parser.add_argument("--people", choices=get_args(People), default="healthy")
    parser.add_argument("--keep", type=Path, help="folder where findings are stored and read")
    options = parser.parse_args()
    names = options.detectors.split(",")
    findings = joined_findings(
        [
            _one(number, None, names, options.keep, options.people)
            for number in range(1, options.phantoms + 1)
        ]
    )
    nodules = nodules_to_find(findings.reference)
    scores = score_all_members(findings)
    print(f"{options.phantoms} phantoms, {nodules.height} nodules\n")
    print_table(findings, scores, "phantom")
    print()
    print_cpm(findings, [score.members for score in scores])
    print()
    print_groups(_shown(scores, len(set(names) & set(FIVE))), phantom_groups(nodules))
    if {"subsolidcad", "largecad"} <= set(names):
        print()
        print_exchange(scores, nodules)
    if options.dose_phantoms:
        print(f"\nThe same {options.dose_phantoms} phantoms at {len(DOSES_MAS)} doses\n")
        print_dose_table(options.dose_phantoms, names, options.keep, options.people)
    print()
    print_cpu(findings)


def print_dose_table(
    phantoms: int, names: Sequence[str], keep: Path | None, people: People
) -> None:
    """Run detectors on the same phantoms at each dose and print what they find.

    Noise adds candidates, of which some hit by chance; so sensitivity is printed twice: of all
    candidates, and of as many false ones at every dose, by their scores.
    """
    scores, findings_by_dose, nodules = {}, {}, 0
    for dose in DOSES_MAS:
        findings = joined_findings(
            [_one(number, dose, names, keep, people) for number in range(1, phantoms + 1)]
        )
        nodules = nodules_to_find(findings.reference).height
        scores[dose] = _shown(score_all_members(findings), len(names))
        findings_by_dose[dose] = findings
    print_doses(scores, nodules)
    print()
    print_doses_at_rates(findings_by_dose, names, people)


def print_doses_at_rates(
    by_dose: dict[float, Findings], names: Sequence[str], people: People
) -> None:
    """Print the mean sensitivity at fixed rates of false positives, and how many candidates."""
    print("| dose (mAs) | noise SD (HU) | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for dose, findings in by_dose.items():
        cases = findings.reference.cases.height
        cells = []
        for name in names:
            submission = findings.submissions[name]
            curve = froc_of(findings.reference, submission)
            mean = np.mean([float(curve.y[curve.x <= rate].max(initial=0.0)) for rate in RATES])
            cells.append(f"{mean:.3f} ({submission.marks.height / cases:.0f})")
        print(f"| {dose:g} | {noise_sd_hu(dose, people):.0f} | " + " | ".join(cells) + " |")


def noise_sd_hu(dose: float, people: People) -> float:
    """In the lungs of the first phantom."""
    chest = phantom_case(1, dose, people).chest
    return lung_density(chest.hu, chest.lungs).noise_sd_hu


def _one(
    number: int, dose: float | None, names: Sequence[str], keep: Path | None, people: People
) -> Findings:
    label = f"{people}{number}" + ("" if dose is None else f"-{dose:g}")
    folder = None if keep is None else keep / label
    return stored_findings(phantom_cases(number, people, dose), detectors(names), folder)


if __name__ == "__main__":
    main()
