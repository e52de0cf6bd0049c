"""One scan of 512 x 512 x 300 through the five candidate detectors: time per stage, memory.

``python -m benchmarks.candidate_speed``
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.candidate_findings import FIVE
from nodulebench.detection.marks import measure_marks
from nodulebench.detection.scan import prepare_scan
from nodulebench.detection.systems import System, candidates_in
from nodulebench.io.images.metaimage import read_volume, write_volume
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

SEED = 2024
SLICES = 300
CORES = 2


def detect_all(path: Path) -> dict[str, object]:
    """Read a scan, find its lungs, and run the five as `detect` does."""
    start, cpu = time.perf_counter(), dict[str, float]()

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        before = time.thread_time()
        yield
        cpu[name] = time.thread_time() - before

    with stage("reading"):
        volume = read_volume(path)
    with stage("lungs"):
        chest = prepare_scan(volume)
    candidates, _ = candidates_in(System(FIVE), chest, volume, stage=stage)
    wall_s = time.perf_counter() - start
    with stage("describing"):
        measure_marks(chest, candidates, "case")
    return {
        "wall_s": wall_s,
        "described_s": time.perf_counter() - start,
        "cpu_s": cpu,
        "candidates": len(candidates),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Print time per stage, wall time on two cores and peak memory."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(detect_all(Path(sys.argv[2]))))
        return
    scan = scan_patient(make_patient(SEED, 1), Scanner(), slices=SLICES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scan.mhd"
        write_volume(scan.volume, path)
        cores = ["taskset", "-c", f"0-{CORES - 1}"] if Path("/usr/bin/taskset").exists() else []
        load = os.getloadavg()[0]
        command = [*cores, sys.executable, "-m", "benchmarks.candidate_speed", "--one", str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured = json.loads(output)
    print("| stage | CPU s |")
    print("|---|---|")
    for stage, seconds in measured["cpu_s"].items():
        print(f"| {stage} | {seconds:.1f} |")
    print(f"| together | {sum(measured['cpu_s'].values()):.1f} |")
    print(
        f"\n{' x '.join(map(str, scan.volume.shape[::-1]))} voxels: {measured['candidates']} "
        f"candidates in {measured['wall_s']:.1f} s wall on {CORES} cores, described in "
        f"{measured['described_s']:.1f} s (load of the machine before: {load:.1f}), "
        f"peak {measured['peak_mb']:.0f} MB"
    )


if __name__ == "__main__":
    main()
