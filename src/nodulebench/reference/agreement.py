"""Panel -> the agreement of its readers: counts by level, and each reader against the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.reference.grouping import GROUPINGS, Findings
from nodulebench.reference.panel import Panel


@dataclass(frozen=True, slots=True)
class MergedNodule:
    """Findings of one case that are one nodule."""

    case: int
    members: IntArray
    diameter_mm: float


def merged_nodules(
    panel: Panel, *, grouping: str = "recursive", same_reader: bool = False
) -> Iterator[MergedNodule]:
    """Every group of findings that is one nodule, even if only one reader drew it."""
    group = GROUPINGS[grouping]
    for case, rows in panel.nodules_by_case():
        for merged_group in group(Findings(panel, case, rows), same_reader).groups:
            yield MergedNodule(case, rows[list(merged_group.members)], merged_group.diameter)


def agreement_levels(
    panel: Panel, *, grouping: str = "recursive", same_reader: bool = False
) -> pl.DataFrame:
    """How many nodules have at least 1, 2, 3, ... findings and readers."""
    merged = list(merged_nodules(panel, grouping=grouping, same_reader=same_reader))
    findings = [len(nodule.members) for nodule in merged]
    readers = [len(np.unique(panel.reader[nodule.members])) for nodule in merged]
    rows = [
        (level, *(sum(count >= level for count in counts) for counts in (findings, readers)))
        for level in range(1, max(readers, default=0) + 1)
    ]
    names = ("level", "nodules_by_findings", "nodules_by_readers")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")


def readers_against_others(
    panel: Panel, *, reader_count: int = 4, minimum_agreement: int = 2
) -> pl.DataFrame:
    """Score each reader like an algorithm against what enough of the others drew.

    Findings of all readers are merged once; only cases count that exactly ``reader_count`` have
    read. For a reader the reference is what at least ``minimum_agreement`` others drew; found is
    what the reader drew of it; lone is what only this reader drew.
    """
    is_full = panel.readers_of_case == reader_count
    drawn_by = [
        set(panel.readings.findings["reader_id"].gather(nodule.members).to_list())
        for nodule in merged_nodules(panel)
        if is_full[nodule.case]
    ]
    sessions = panel.readings.sessions.join(
        panel.readings.cases.filter(pl.Series(is_full)).select("case_id"), on="case_id", how="semi"
    )
    rows = []
    for reader in sorted(sessions["reader_id"].unique()):
        wanted = [readers for readers in drawn_by if len(readers - {reader}) >= minimum_agreement]
        hits = sum(reader in readers for readers in wanted)
        lone = sum(readers == {reader} for readers in drawn_by)
        cases = int((sessions["reader_id"] == reader).sum())
        share = hits / len(wanted) if wanted else None
        rows.append((reader, cases, len(wanted), hits, share, lone, lone / cases))
    return pl.DataFrame(rows, schema=_AGAINST_OTHERS, orient="row")


_AGAINST_OTHERS = {
    "reader_id": pl.String,
    "cases": pl.Int64,
    "reference": pl.Int64,
    "found": pl.Int64,
    "sensitivity": pl.Float64,
    "lone_marks": pl.Int64,
    "lone_per_case": pl.Float64,
}


def silent_readers(panel: Panel, *, reader_count: int = 4) -> pl.DataFrame:
    """What the readers who did not outline a nodule marked at its position.

    Each reader counts by the kind of the nearest single-point finding that is closer to the mean of
    the outlines' positions than half the merged diameter, or as ``none``.
    """
    findings = panel.readings.findings
    points = np.flatnonzero(~panel.is_nodule)
    points = points[np.argsort(panel.case[points], kind="stable")]
    starts = np.searchsorted(panel.case[points], np.arange(len(panel.places) + 1))
    readers = dict(panel.readings.sessions.group_by("case_id").agg("reader_id").iter_rows())
    names = panel.readings.cases["case_id"]
    rows: list[tuple[int, str]] = []
    for nodule in merged_nodules(panel):
        if panel.readers_of_case[nodule.case] != reader_count:
            continue
        outlining = set(findings["reader_id"].gather(nodule.members).to_list())
        center = panel.xyz_mm[nodule.members].mean(axis=0)
        near = points[starts[nodule.case] : starts[nodule.case + 1]]
        apart = np.linalg.norm(panel.xyz_mm[near] - center, axis=1)
        close = near[np.argsort(apart, kind="stable")][: np.sum(apart < nodule.diameter_mm / 2)]
        kind_of: dict[str, str] = {}
        for reader, kind in findings.select("reader_id", "kind")[close].iter_rows():
            kind_of.setdefault(reader, kind)
        rows.extend(
            (len(outlining), kind_of.get(reader, "none"))
            for reader in readers[names[nodule.case]]
            if reader not in outlining
        )
    return (
        pl.DataFrame(rows, schema={"outlined_by": pl.Int64, "kind": pl.String}, orient="row")
        .group_by("outlined_by", "kind")
        .agg(readers=pl.len().cast(pl.Int64))
        .sort("outlined_by", "kind")
    )


@dataclass(frozen=True, slots=True)
class SizeError:
    """How far diameters of one nodule differ between readers; lengths in mm."""

    nodules: int
    readings: int
    """Diameters of these nodules, one of each reader."""
    difference_mm: float
    """Mean absolute difference of two readers."""
    relative_difference: float
    """The same, as a share of the mean of both."""
    reader_sd_mm: float
    """Standard deviation of a single reader's diameter around the nodule's mean."""
    reference_error_mm: float
    """Standard error of the mean of a nodule's readers: the uncertainty of the reference itself."""


def size_error(
    panel: Panel, *, grouping: str = "recursive", same_reader: bool = False
) -> SizeError | None:
    """How far readers differ on the nodules that at least two of them drew; None without any.

    Several findings of one reader count with their mean; variances are pooled over nodules.
    """
    sizes = []
    for nodule in merged_nodules(panel, grouping=grouping, same_reader=same_reader):
        reader = panel.reader[nodule.members]
        diameter = panel.diameter_mm[nodule.members]
        of_reader = [float(diameter[reader == name].mean()) for name in np.unique(reader)]
        if len(of_reader) > 1:
            sizes.append(np.array(of_reader))
    if not sizes:
        return None
    pairs = [
        (abs(first - second), (first + second) / 2)
        for of_reader in sizes
        for first, second in combinations(of_reader.tolist(), 2)
    ]
    freedom = sum(len(siz) - 1 for siz in sizes)
    variance = sum(float(((siz - siz.mean()) ** 2).sum()) for siz in sizes) / freedom
    share_of_mean = float(np.mean([1 / len(siz) for siz in sizes]))
    return SizeError(
        nodules=len(sizes),
        readings=sum(map(len, sizes)),
        difference_mm=float(np.mean([apart for apart, _ in pairs])),
        relative_difference=float(np.mean([apart / mean for apart, mean in pairs])),
        reader_sd_mm=sqrt(variance),
        reference_error_mm=sqrt(variance * share_of_mean),
    )
