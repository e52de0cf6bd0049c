"""Admission with all checks and hashes, compared with plain reading of the same files by pydicom.

Both in one run on uncompressed 512 x 512 slices of 16 bits; CPU seconds of all processes.
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pydicom

from benchmarks.measure import DATA

SCANS = ("LIDC-IDRI-0001", "LIDC-IDRI-0003", "LIDC-IDRI-0401", "LIDC-IDRI-0407", "NLST-101287")
PR_SET_CHILD_SUBREAPER = 36
PLAIN = (
    "import sys, pydicom\n"
    "from pathlib import Path\n"
    "for path in sorted(Path(sys.argv[1]).rglob('*.dcm')):\n"
    "    pydicom.dcmread(path).pixel_array\n"
)
LIMIT = 3.0
ROUNDS = 3
"""Both in turn; the least of each counts, because other programs only add."""


def main() -> None:
    """Print CPU seconds of both, per slice, and their ratio."""
    # orphans of the command come back to this process, so that their CPU time is counted
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive"
        count = unpack(archive)
        rounds = [(read_plainly(archive), admit(archive)) for _ in range(ROUNDS)]
        plain = min(seconds for (seconds, _), _ in rounds)
        curated, wall = min(times for _, times in rounds)
        print("| what | slices | CPU s | CPU ms per slice | wall s |")
        print("|---|---|---|---|---|")
        each = 1000 * plain / count
        print(f"| pydicom, headers and pixels | {count} | {plain:.2f} | {each:.2f} | |")
        print(
            f"| nodulebench curate, 2 processes | {count} | {curated:.2f} | "
            f"{1000 * curated / count:.2f} | {wall:.1f} |"
        )
        print(f"\nratio {curated / plain:.2f} (at most {LIMIT:g})")


def read_plainly(archive: Path) -> tuple[float, float]:
    """Headers and pixels by pydicom."""
    return cpu(["-c", PLAIN, str(archive)])


def admit(archive: Path) -> tuple[float, float]:
    """The whole command, into a fresh folder."""
    with tempfile.TemporaryDirectory() as out:
        return cpu(["-m", "nodulebench", "curate", str(archive), "--out", out])


def unpack(archive: Path) -> int:
    """The real scans without compression; returns how many slices."""
    count = 0
    for name in SCANS:
        with zipfile.ZipFile(DATA / "ct" / f"{name}.zip") as packed:
            packed.extractall(archive)
        for path in sorted((archive / name).iterdir()):
            data = pydicom.dcmread(path)
            if "PixelData" not in data:
                path.unlink()
                continue
            data.decompress(generate_instance_uid=False)
            data.save_as(path)
            count += 1
    return count


def cpu(arguments: list[str]) -> tuple[float, float]:
    """CPU and wall seconds of a Python command and of all processes that it leaves."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wall = time.monotonic() - start
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    main()
