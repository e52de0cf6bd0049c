"""Phantoms and real scans: density, noise and vessels of the lungs, Dice, time and memory."""

import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from benchmarks.measure import DATA, peak_of_command
from nodulebench.imaging.lungs import LungDensity, lung_density, segment_lungs
from nodulebench.imaging.volume import Volume
from nodulebench.io.dicom.volumes import read_volume
from nodulebench.phantom.patient import People, make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

REAL = ("LIDC-IDRI-0001", "LIDC-IDRI-0003", "LIDC-IDRI-0401", "LIDC-IDRI-0407", "NLST-101287")
SCANNERS = (
    Scanner(2.5, 2.5, 0.703, kernel="standard", exposure_mas=25),
    Scanner(2.5, 2.5, 0.72, kernel="standard", exposure_mas=22),
    Scanner(2.5, 2.5, 0.76, kernel="edge", exposure_mas=42),
    Scanner(2.0, 1.8, 0.68, kernel="standard", exposure_mas=25),
    Scanner(2.0, 2.0, 0.72, kernel="sharp", exposure_mas=60),
)
"""Protocols like those of the real scans; their doses were chosen on the seeds from 8001 on."""
SEEDS = (9101, 9102, 9103, 9104, 9105)
"""One patient and protocol each; nothing was chosen by looking at them."""

METRICS: tuple[tuple[str, Callable[[LungDensity], float], float], ...] = (
    ("p5 (HU)", lambda density: density.p5_hu, 1.0),
    ("median (HU)", lambda density: density.median_hu, 1.0),
    ("p95 (HU)", lambda density: density.p95_hu, 1.0),
    ("noise SD (HU)", lambda density: density.noise_sd_hu, 1.0),
    ("vessels (%)", lambda density: 100 * density.vessel_share, 2.0),
)
"""Name, value, and by which factor the range of the real scans is widened."""


def real_scans() -> Iterator[tuple[str, Volume]]:
    """The scans of the test data."""
    for name in REAL:
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(DATA / "ct" / f"{name}.zip") as archive:
                archive.extractall(folder)
            yield name, read_volume(Path(folder))


def print_row(name: str, density: LungDensity, dice: str = "") -> None:
    """One line of the table."""
    values = " | ".join(f"{value(density):.1f}" for _, value, _ in METRICS)
    print(f"| {name} | {density.volume_ml:.0f} | {values} | {dice} |", flush=True)


def measured_phantom(seed: int, scanner: Scanner) -> LungDensity:
    """One phantom, its line printed."""
    scan = scan_patient(make_patient(seed, 1), scanner)
    lungs = segment_lungs(scan.volume)
    both = np.count_nonzero(lungs.mask & (scan.lungs > 0))
    dice = 2 * both / (np.count_nonzero(lungs.mask) + np.count_nonzero(scan.lungs))
    density = lung_density(scan.volume.hu, lungs)
    name = (
        f"phantom {seed}: {scanner.kernel}, {scanner.slice_thickness_mm:g} mm, "
        f"{scanner.exposure_mas:g} mAs"
    )
    print_row(name, density, f"{dice:.3f}")
    return density


def print_ranges(real: Sequence[LungDensity], phantoms: Sequence[LungDensity]) -> None:
    """For each metric whether all phantoms lie within the range of the real scans."""
    print("\n| metric | real scans | phantoms | inside |")
    print("|---|---|---|---|")
    for name, value, factor in METRICS:
        (low, high), (least, most) = (
            (min(map(value, group)), max(map(value, group))) for group in (real, phantoms)
        )
        # factors other than 1 are used for positive metrics only
        is_inside = low / factor <= least and most <= high * factor
        within = "" if factor == 1 else f" (times {factor:g})"
        print(
            f"| {name} | {low:.1f} to {high:.1f}{within} | {least:.1f} to {most:.1f} | "
            f"{'yes' if is_inside else 'no'} |"
        )


def main() -> None:
    """Print a table of lungs, their ranges, and the time of one large phantom."""
    names = " | ".join(name for name, _, _ in METRICS)
    print(f"| scan | lungs (ml) | {names} | Dice |")
    print("|---" * (len(METRICS) + 3) + "|")
    real = []
    for name, volume in real_scans():
        real.append(lung_density(volume.hu, segment_lungs(volume, name)))
        print_row(name, real[-1])
    phantoms = [
        measured_phantom(seed, scanner) for seed, scanner in zip(SEEDS, SCANNERS, strict=True)
    ]
    print_ranges(real, phantoms)
    print_cost()


LARGE_PHANTOM = """
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner
patient = make_patient(1, 1, people="{people}")
assert scan_patient(patient, Scanner(), slices=300).volume.shape == (300, 512, 512)
"""


def print_cost() -> None:
    """CPU seconds and peak memory of a program that makes one large phantom of each kind."""
    for people in get_args(People):
        seconds, megabytes = peak_of_command("-c", LARGE_PHANTOM.format(people=people))
        print(
            f"\nOne {people} phantom of 512 x 512 x 300: {seconds:.1f} s CPU, "
            f"peak {megabytes:.0f} MB"
        )
