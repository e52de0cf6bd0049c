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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from benchmarks.candidate_findings import FIVE
from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.chest import see_chest
from nodulebench.algorithms.classify.second_look import looked_at
from nodulebench.algorithms.detectors import proposals_near_lungs, together
from nodulebench.formats.images.metaimage import read_volume, write_volume
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

SEED = 2024
SLICES = 300
CORES = 2

Answer = TypeVar("Answer")


def timed(cpu: dict[str, float], stage: str, work: Callable[[], Answer]) -> Answer:
    """Do some work and keep the CPU seconds of its thread."""
    start = time.thread_time()
    answer = work()
    cpu[stage] = time.thread_time() - start
    return answer


def detect_all(path: Path) -> dict[str, object]:
    """Read a scan, find its lungs, run the five, two at a time, judge and merge."""
    start, cpu = time.perf_counter(), dict[str, float]()
    volume = timed(cpu, "read", lambda: read_volume(path))
    chest = timed(cpu, "lungs", lambda: see_chest(volume))
    timed(cpu, "voxels of 1 mm", lambda: chest.resampled(1.0))

    def run(name: str) -> tuple[str, Candidates]:
        return name, timed(cpu, name, lambda: proposals_near_lungs(name, chest))

    with ThreadPoolExecutor(CORES) as threads:
        found = dict(threads.map(run, FIVE))
    judged = timed(cpu, "second look", lambda: looked_at(found, chest))
    merged = timed(cpu, "merging", lambda: together(judged))
    counted = {**judged, "merging": merged}
    return {
        "wall_s": time.perf_counter() - start,
        "cpu_s": cpu,
        "candidates": {name: len(candidates) for name, candidates in counted.items()},
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
    print("| stage | CPU s | candidates |")
    print("|---|---|---|")
    for stage, seconds in measured["cpu_s"].items():
        print(f"| {stage} | {seconds:.1f} | {measured['candidates'].get(stage, '')} |")
    print(f"| together | {sum(measured['cpu_s'].values()):.1f} | |")
    print(
        f"\n{' x '.join(map(str, scan.volume.shape[::-1]))} voxels: "
        f"{measured['wall_s']:.1f} s wall on {CORES} cores "
        f"(load of the machine before: {load:.1f}), "
        f"peak {measured['peak_mb']:.0f} MB"
    )


if __name__ == "__main__":
    main()
