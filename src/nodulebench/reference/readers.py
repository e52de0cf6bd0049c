"""Readers' files -> each reader as if an algorithm, and what those marked who did not outline."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nodulebench.io.case_lists import read_case_list
from nodulebench.io.csv_files import write_csv
from nodulebench.io.readings import read_readings
from nodulebench.reference.agreement import readers_against_others, silent_readers
from nodulebench.reference.panel import measure_findings


@dataclass(frozen=True, slots=True)
class ReadersOfPanel:
    """How readers stand to each other."""

    against_others: pl.DataFrame
    """One row per reader: reader_id, cases, reference, found, sensitivity, lone marks."""
    silent: pl.DataFrame
    """outlined_by, kind, readers: what readers marked where others outlined a nodule."""


def readers_of_files(
    source: Path,
    *,
    reader_count: int = 4,
    minimum_agreement: int = 2,
    series: Path | None = None,
    cases: Path | None = None,
    out: Path | None = None,
) -> ReadersOfPanel:
    """Score each reader against what enough of the others drew.

    Args:
        source: whatever ``read_readings`` takes.
        reader_count: only cases that exactly so many have read.
        minimum_agreement: how many of the others make a nodule.
        series: list of cases; restricts and orders them.
        cases: table of cases or LIDC scans with their geometry.
        out: CSV for the table of readers.
    """
    listed = None if series is None else read_case_list(series)
    panel = measure_findings(read_readings(source, cases=cases, series=listed))
    found = ReadersOfPanel(
        readers_against_others(
            panel, reader_count=reader_count, minimum_agreement=minimum_agreement
        ),
        silent_readers(panel, reader_count=reader_count),
    )
    if out is not None:
        write_csv(found.against_others, out)
    return found
