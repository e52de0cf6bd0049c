"""LIDC-IDRI: each session against the others, and what a score owes to how readers are heard."""

import time

from benchmarks.measure import DATA
from nodulebench.core.protocol import load_protocol
from nodulebench.evaluation.service import with_options
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.readings import read_readings
from nodulebench.reference.agreement import readers_against_others, silent_readers
from nodulebench.reference.panel import Panel, measure_findings
from nodulebench.reference.spread import reference_variants, score_under


def main() -> None:
    """Print four tables: times, sessions, silent readers, CPM under each reference."""
    luna16 = DATA / "luna16"
    start = time.process_time()
    readings = read_readings(
        DATA / "lidc" / "lidc-idri-xml.tar.xz",
        series=luna16_csv.read_series(luna16 / "seriesuids.csv"),
    )
    read = time.process_time()
    panel = measure_findings(readings)
    measured = time.process_time()
    print("| what | CPU s |")
    print("|---|---|")
    print(
        f"| read 1,318 files, {readings.findings.height:,} findings of 888 | {read - start:.1f} |"
    )
    print(f"| measure them | {measured - read:.1f} |")
    _print_sessions(panel)
    _print_silent(panel)

    marks = luna16 / "submissions" / "deeplung_dpn26_888.csv.gz"
    submission = luna16_csv.read_marks(marks, readings.cases)
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    print("\n| reference | nodules | hit | CPM |")
    print("|---|---|---|---|")
    for row in score_under(reference_variants(readings), submission, protocol).iter_rows(
        named=True
    ):
        print(f"| {row['reference']} | {row['nodules']:,} | {row['hit']:,} | {row['value']:.4f} |")


def _print_sessions(panel: Panel) -> None:
    print("\nEach session as if an algorithm, against what two of the other three drew:\n")
    print("| session | scans | reference | found | sensitivity | lone marks | per scan |")
    print("|---|---|---|---|---|---|---|")
    for row in readers_against_others(panel).iter_rows(named=True):
        print(
            f"| {row['reader_id']} | {row['cases']} | {row['reference']:,} | {row['found']:,} | "
            f"{row['sensitivity']:.3f} | {row['lone_marks']} | {row['lone_per_case']:.3f} |"
        )


def _print_silent(panel: Panel) -> None:
    print("\nWhat the others marked where a nodule was outlined by only some:\n")
    print("| outlined by | small nodule | non-nodule | nothing |")
    print("|---|---|---|---|")
    counts = {(level, kind): count for level, kind, count in silent_readers(panel).rows()}
    for level in (1, 2, 3):
        cells = (counts.get((level, kind), 0) for kind in ("small_nodule", "non_nodule", "none"))
        print(f"| {level} | " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
