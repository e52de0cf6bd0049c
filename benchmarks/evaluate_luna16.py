"""888 scans, 1,000 bootstraps: whole process and kernel against the official program."""

import tempfile

import numpy as np

from benchmarks.measure import DATA, OFFICIAL_CPU_SECONDS, cpu_of_call, cpu_of_command
from nodulebench.core.cohort import labelled_cohort
from nodulebench.core.protocol import load_protocol
from nodulebench.core.results import Estimate
from nodulebench.evaluation.estimates import estimate_froc
from nodulebench.io.marks.luna16 import read_marks, read_reference
from nodulebench.matching import label_marks, targets


def main() -> None:
    """Print CPU seconds and ratios."""
    luna16 = DATA / "luna16"
    marks = luna16 / "submissions" / "deeplung_dpn26_888.csv.gz"
    with tempfile.TemporaryDirectory() as out:
        whole = cpu_of_command(
            *("-m", "nodulebench", "evaluate", str(marks), "--reference", str(luna16)),
            *("--out", out, "--force"),
        )
    reading = cpu_of_command("-c", f"import polars; polars.read_csv({str(marks)!r})")

    protocol = load_protocol("luna16")
    reference = read_reference(luna16)
    submission = read_marks(marks, reference.cases)
    is_target = targets(reference, submission, protocol)

    def kernel() -> None:
        labels = label_marks(reference, submission, protocol, protocol.rules[0])
        reading = estimate_froc(labelled_cohort(reference, submission, labels, is_target), protocol)
        cpm = reading.metrics["cpm"]
        value = cpm.value if isinstance(cpm, Estimate) else None
        if not np.isclose(value or 0, 0.8419657913755723, rtol=0, atol=1e-15):
            raise RuntimeError("the kernel no longer gives the official CPM")

    inner = cpu_of_call(kernel, repeats=7)
    rows = {
        "official program (measured once elsewhere)": OFFICIAL_CPU_SECONDS,
        "`nodulebench evaluate`, whole process": whole,
        "kernel: arrays -> counts, readings, bounds": inner,
        "import polars and read the CSV, nothing else": reading,
    }
    print("| what | CPU s | official / this |")
    print("|---|---|---|")
    for what, seconds in rows.items():
        print(f"| {what} | {seconds:.3f} | {OFFICIAL_CPU_SECONDS / seconds:.0f} |")
    print(f"\nWhole process / merely reading the CSV: {whole / reading:.2f}")
