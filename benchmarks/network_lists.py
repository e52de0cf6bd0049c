"""Stored findings of detectors -> lists of candidates, as ``examples`` takes them.

``python -m benchmarks.network_lists OUT STORED...`` takes folders that ``candidate_blocks --keep``,
``candidate_scans --keep`` and the like wrote, and writes OUT/judged.csv, the merged list of all
detectors, and OUT/others.csv, what each of them found.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from benchmarks.candidate_findings import FIVE, PLACE, Findings
from benchmarks.candidate_scans import series_by_name
from benchmarks.proposals import findings_of, read_proposals
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.detectors import merge_detectors
from nodulebench.detection.scan import Candidates
from nodulebench.io.csv_files import write_csv


def findings_in(folder: Path) -> Iterator[Findings]:
    """The findings in a folder, or in the folders below it."""
    for done in sorted(folder.rglob("done")):
        yield findings_of(read_proposals(done.parent), NAMES)


def of_case(marks: pl.DataFrame) -> Candidates:
    """The candidates of a detector in one case, best first."""
    best = marks.sort("score", descending=True, maintain_order=True)
    columns = (best["score"].to_numpy(), best["diameter_mm"].to_numpy())
    return Candidates(best.select(PLACE).to_numpy().reshape(-1, 3), *columns)


def as_list(case_id: str, candidates: Candidates, series: Mapping[str, str]) -> pl.DataFrame:
    """Candidates as LUNA16 lists them."""
    return pl.DataFrame(
        {
            "seriesuid": [series.get(case_id, case_id)] * len(candidates),
            "coordX": candidates.center_mm[:, 0],
            "coordY": candidates.center_mm[:, 1],
            "coordZ": candidates.center_mm[:, 2],
            "probability": candidates.score,
        },
        schema_overrides={"seriesuid": pl.String},
    )


def main() -> None:
    """Write both lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("stored", type=Path, nargs="+")
    parser.add_argument("--detectors", default=",".join(FIVE), help="merged into one list")
    given = parser.parse_args()
    series = series_by_name()
    scored, others = [], []
    for folder in given.stored:
        for findings in findings_in(folder):
            for case_id in findings.reference.cases["case_id"]:
                each = {
                    name: of_case(submission.marks.filter(case_id=case_id))
                    for name, submission in findings.submissions.items()
                }
                chosen = {name: each[name] for name in given.detectors.split(",")}
                scored.append(as_list(case_id, merge_detectors(chosen), series))
                others += [as_list(case_id, candidates, series) for candidates in each.values()]
    given.out.mkdir(parents=True, exist_ok=True)
    for name, parts in (("judged", scored), ("others", others)):
        write_csv(pl.concat(parts), given.out / f"{name}.csv")
        print(f"{name}.csv: {sum(part.height for part in parts)} candidates")


if __name__ == "__main__":
    main()
