"""Phantoms beside real scans: density, noise and vessels of the lungs, Dice, time and memory."""

import resource
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import DATA
from nodulebench.algorithms.lung_density import LungDensity, lung_density
from nodulebench.algorithms.lungs import segment_lungs
from nodulebench.formats.dicom_series import read_volume
from nodulebench.model.volume import Volume
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

REAL = ("LIDC-IDRI-0001", "LIDC-IDRI-0003", "LIDC-IDRI-0401", "LIDC-IDRI-0407", "NLST-101287")
SCANNERS = (
    Scanner(2.5, 2.5, 0.703, kernel="standard", exposure_mas=50),
    Scanner(2.5, 2.5, 0.72, kernel="standard", exposure_mas=40),
    Scanner(2.5, 2.5, 0.76, kernel="edge", exposure_mas=30),
    Scanner(2.0, 1.8, 0.68, kernel="standard", exposure_mas=25),
    Scanner(2.0, 2.0, 0.72, kernel="sharp", exposure_mas=60),
)
"""Protocols like those of the real scans."""
SEED = 2024


def real_scans() -> Iterator[tuple[str, Volume]]:
    """The scans of the test data."""
    for name in REAL:
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(DATA / "ct" / f"{name}.zip") as archive:
                archive.extractall(folder)
            yield name, read_volume(Path(folder))


def print_row(name: str, density: LungDensity, more: str = "") -> None:
    """One line of the table."""
    print(
        f"| {name} | {density.volume_ml:.0f} | {density.p5_hu:.0f} | {density.median_hu:.0f} | "
        f"{density.p95_hu:.0f} | {density.noise_sd_hu:.0f} | {100 * density.vessel_share:.1f} | "
        f"{more} |",
        flush=True,
    )


def main() -> None:
    """Print a table of lungs, and the time of one large phantom."""
    print("| scan | lungs (ml) | p5 (HU) | median | p95 | noise SD | vessels (%) | Dice |")
    print("|---|---|---|---|---|---|---|---|")
    for name, volume in real_scans():
        print_row(name, lung_density(volume.hu, segment_lungs(volume, name)))
    for number, scanner in enumerate(SCANNERS, start=1):
        scan = scan_patient(make_patient(SEED, number), scanner)
        lungs = segment_lungs(scan.volume)
        both = np.count_nonzero(lungs.mask & (scan.lungs > 0))
        dice = 2 * both / (np.count_nonzero(lungs.mask) + np.count_nonzero(scan.lungs))
        print_row(f"phantom {number}", lung_density(scan.volume.hu, lungs), f"{dice:.3f}")
    start, cpu = time.perf_counter(), time.process_time()
    scan = scan_patient(make_patient(SEED, 1), Scanner(), slices=300)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nOne phantom of {' x '.join(map(str, scan.volume.shape[::-1]))}: "
        f"{time.process_time() - cpu:.1f} s CPU, {time.perf_counter() - start:.1f} s, "
        f"peak {peak:.0f} MB"
    )
