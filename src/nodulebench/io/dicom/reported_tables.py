"""Reports -> MARKS, NODULES or FINDINGS and their slices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problems, refuse_any
from nodulebench.core.notices import Notice
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import MARK_SLICES, MARKS, NODULES, Reference, Submission
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outlines import one_outline, outline_text
from nodulebench.io.case_names import algorithm_name
from nodulebench.io.dicom.codes import BOX, OUTLINES
from nodulebench.io.dicom.findings import (
    CasesAtHand,
    Report,
    ReportedFinding,
    middle_mm,
)
from nodulebench.io.dicom.sr_regions import Region
from nodulebench.io.digest import file_digest
from nodulebench.io.marks.boxes import refuse_unlisted

LARGEST_SPREAD = 0.5
"""How much of the way to the next slice the corners of an outline may lie apart."""
_CONVENTIONS = {concept.key: said for said, concept in OUTLINES.items()}


def submission_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CasesAtHand, notices: Iterable[Notice] = ()
) -> Submission:
    """What one algorithm reported.

    Raises:
        InputError: if the reports are of several observers, or outlines lie on no slice.
    """
    observers = list(dict.fromkeys(report.observer for report in reports if report.observer))
    if len(observers) > 1:
        raise InputError.at(
            path,
            f"holds reports of {len(observers)} observers: {', '.join(observers[:5])}.",
            "Put those of each algorithm into a folder of their own.",
        )
    grids = at_hand.grids()
    marks: list[dict[str, Any]] = []
    slices: list[dict[str, Any]] = []
    problems = Problems()
    unplaced: set[str] = set()
    for case_id, mark_id, finding in _named(reports, at_hand):
        key = {"case_id": case_id, "mark_id": mark_id}
        marks.append(key | _mark(finding))
        grid = grids.get(case_id)
        if grid is None and finding.outlines:
            unplaced.add(case_id)
        elif grid is not None:
            slices.extend(key | row for row in slices_of_mark(finding, grid, problems))
    refuse_any(problems)
    more = (Notice("outlines_unplaced", {"count": len(unplaced)}),) if unplaced else ()
    return Submission(
        name=observers[0] if observers else algorithm_name(path),
        marks=MARKS.conform(_table(MARKS, marks), path.name),
        slices=MARK_SLICES.conform(_table(MARK_SLICES, slices), path.name) if slices else None,
        digest=file_digest(path),
        notices=(*dict.fromkeys(notices), *more),
    )


def reference_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CasesAtHand, notices: Iterable[Notice] = ()
) -> Reference:
    """What reports call nodules as a reference; its cases are those given, else those reported."""
    said = submission_of_reports(path, reports, at_hand, notices)
    reported = [at_hand.case_id(report.series_uid) for report in reports]
    cases = at_hand.listed(reported) if at_hand.table is None else at_hand.table
    refuse_unlisted(pl.Series(reported, dtype=pl.String), cases, path.name)
    nodules = said.marks.rename({"mark_id": "nodule_id"}).with_columns(is_ignored=pl.lit(False))
    slices = None if said.slices is None else said.slices.rename({"mark_id": "nodule_id"})
    return Reference(
        name=algorithm_name(path),
        cases=cases,
        nodules=NODULES.arrange(nodules.drop("score")),
        slices=slices,
        notices=said.notices,
    )


def readings_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CasesAtHand, notices: Iterable[Notice] = ()
) -> Readings:
    """What readers reported, each case and reader a session even where nothing was found.

    Raises:
        InputError: if the geometry of a case with outlines is unknown, or outlines lie on no slice.
    """
    grids = at_hand.grids()
    findings: list[dict[str, Any]] = []
    slices: list[dict[str, Any]] = []
    problems = Problems()
    readers = {id(one): report for report in reports for one in report.findings}
    for case_id, finding_id, finding in _named(reports, at_hand):
        key = {"case_id": case_id, "finding_id": finding_id}
        findings.append(key | {"reader_id": _reader(readers[id(finding)])} | _reading(finding))
        if not finding.outlines:
            continue
        if case_id not in grids:
            problems.add(
                finding.where,
                f"has outlines, and the slices of case '{case_id}' are not known.",
                "Put the images beside the report, or give their folder as cases.",
            )
            continue
        slices.extend(key | row for row in _finding_slices(finding, grids[case_id], problems))
    refuse_any(problems)
    seen = {
        (at_hand.case_id(report.series_uid), _reader(report)): report.name for report in reports
    }
    named = ("case_id", "reader_id", "source")
    sessions = [dict(zip(named, (*key, name), strict=True)) for key, name in seen.items()]
    return Readings(
        name=algorithm_name(path),
        cases=at_hand.listed(case_id for case_id, _ in seen),
        sessions=SESSIONS.conform(_table(SESSIONS, sessions), path.name),
        findings=FINDINGS.conform(_table(FINDINGS, findings), path.name),
        slices=FINDING_SLICES.conform(_table(FINDING_SLICES, slices), path.name),
        notices=tuple(dict.fromkeys(notices)),
    )


def _reader(report: Report) -> str:
    return report.observer or "reader"


def _table(schema: TableSchema, rows: list[dict[str, Any]]) -> pl.DataFrame:
    if not rows:
        return schema.empty()
    types = {column.name: column.dtype for column in schema.columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(rows, schema={name: types.get(name, pl.Float64) for name in names})


def _named(
    reports: Sequence[Report], at_hand: CasesAtHand
) -> list[tuple[str, str, ReportedFinding]]:
    """Case, id and finding; ids that stand twice in a case get their reporter and a number."""
    found = [
        (at_hand.case_id(report.series_of(one)), report, one)
        for report in reports
        for one in report.findings
    ]
    counts = Counter((case_id, one.finding_id) for case_id, _, one in found)
    taken: Counter[tuple[str, str]] = Counter()
    named = []
    for case_id, report, one in found:
        name = one.finding_id
        if not name or counts[case_id, name] > 1:
            taken[case_id, report.observer] += 1
            name = f"{_reader(report)}-{taken[case_id, report.observer]}"
        named.append((case_id, name, one))
    return named


def _mark(finding: ReportedFinding) -> dict[str, Any]:
    center = finding.center_mm
    if center is None:
        center = middle_mm(finding.regions)
    x, y, z = (float(value) for value in center)
    names = {column.name for column in MARKS.columns}
    held = {
        name: value for name, value in (finding.numbers | finding.said).items() if name in names
    }
    return {"x_mm": x, "y_mm": y, "z_mm": z, "diameter_mm": _diameter(finding)} | held


def _diameter(finding: ReportedFinding) -> float | None:
    """As reported, else of a circle, of the axes, of the volume, of the largest outline's box."""
    numbers = finding.numbers
    if "diameter_mm" in numbers:
        return numbers["diameter_mm"]
    drawn = [one.diameter_mm for one in finding.regions if one.diameter_mm is not None]
    if drawn:
        return max(drawn)
    if "long_mm" in numbers and "short_mm" in numbers:
        return (numbers["long_mm"] + numbers["short_mm"]) / 2
    if "volume_mm3" in numbers:
        return float(np.cbrt(6 * numbers["volume_mm3"] / np.pi))
    extents = [np.ptp(one.points_mm, axis=0)[:2].mean() for one in finding.outlines]
    return float(max(extents)) if extents else None


def _reading(finding: ReportedFinding) -> dict[str, Any]:
    center = finding.center_mm
    place = {} if center is None else dict(zip(("x_mm", "y_mm", "z_mm"), center, strict=True))
    kept = ("diameter_mm", "long_mm", "short_mm")
    numbers = {name: finding.numbers[name] for name in kept if name in finding.numbers}
    names = {column.name for column in FINDINGS.columns}
    said = {name: value for name, value in finding.said.items() if name in names}
    return {"kind": finding.kind} | place | numbers | said


def slices_of_mark(
    finding: ReportedFinding, grid: Geometry, problems: Problems
) -> Iterable[dict[str, Any]]:
    """One row per slice: the box around its outlines, and the outlines as one."""
    by_slice: dict[int, list[Region]] = {}
    for outline in finding.outlines:
        number = _slice_number(outline, grid, problems)
        if number is not None:
            by_slice.setdefault(number, []).append(outline)
    for number, outlines in sorted(by_slice.items()):
        rings = [one.points_mm for one in outlines]
        corners = np.concatenate(rings)
        low, high = corners.min(axis=0), corners.max(axis=0)
        is_box = all(one.purpose == BOX.key for one in outlines)
        yield {
            "slice_index": number,
            "z_mm": float((low[2] + high[2]) / 2),
            "center_x_mm": float((low[0] + high[0]) / 2),
            "center_y_mm": float((low[1] + high[1]) / 2),
            "length_mm": float(high[0] - low[0]),
            "width_mm": float(high[1] - low[1]),
            "contour": None if is_box else contour_text(one_outline(rings)),
        }


def _finding_slices(
    finding: ReportedFinding, grid: Geometry, problems: Problems
) -> Iterable[dict[str, Any]]:
    count: Counter[int] = Counter()
    for outline in finding.outlines:
        number = _slice_number(outline, grid, problems)
        if number is None:
            continue
        plain = "box" if outline.purpose == BOX.key else "boundary"
        convention, is_hole = _CONVENTIONS.get(outline.purpose, (plain, False))
        yield {
            "slice_index": number,
            "outline_index": count[number],
            "z_mm": float(outline.center_mm[2]),
            "is_hole": is_hole,
            "convention": convention,
            "contour": contour_text(outline.points_mm),
        }
        count[number] += 1


def _slice_number(outline: Region, grid: Geometry, problems: Problems) -> int | None:
    """The slice that an outline lies on, counted from the feet."""
    at = grid.slice_of(outline.points_mm)
    if np.ptp(at) > LARGEST_SPREAD:
        problems.add(
            outline.where,
            f"its corners lie on slices {at.min():.1f} to {at.max():.1f}, not on one.",
            "Outlines must be drawn on the slices of the series.",
        )
        return None
    number = round(float(at.mean()))
    if number < 0 or (grid.size is not None and number >= grid.size[2]):
        problems.add(
            outline.where,
            f"lies on slice {number}, which the series does not have.",
            "Is it a report of another series?",
        )
        return None
    return number


def contour_text(points: FloatArray) -> str:
    """Corners as 'x y;x y;...' to a tenth of a micrometre."""
    return outline_text((round(x, 4), round(y, 4)) for x, y in points[:, :2].tolist())
