"""Findings of DICOM reports of any kind, and the cases that they belong to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULES,
    Reference,
    Submission,
    without_images,
)
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.linking import link_boxes
from nodulebench.imaging.outlines import box_outline, joined_outline, outline_text, read_outline
from nodulebench.imaging.rasters import DrawnOutline
from nodulebench.io.cases import algorithm_name
from nodulebench.io.dicom.codes import BOX, CENTER, OUTLINES
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.sr_content import Region
from nodulebench.io.dicom.volumes import case_row, images_of_cases, read_image_series
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import require_listed


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding of a report."""

    where: str
    finding_id: str
    regions: tuple[Region, ...]
    kind: str = "nodule"
    numbers: dict[str, float] = field(default_factory=dict)
    """Columns of MARKS, and volume_mm3."""
    labels: dict[str, str | int] = field(default_factory=dict)
    """Columns of MARKS or FINDINGS that are named values or ratings."""

    @property
    def center_mm(self) -> FloatArray | None:
        """The point that the report codes as centre, or its only point."""
        points = [
            region
            for region in self.regions
            if not region.is_outline and len(region.points_mm) == 1
        ]
        meant = [point for point in points if point.purpose == CENTER.key] or points
        return middle_mm(meant) if meant else None

    @property
    def outlines(self) -> list[Region]:
        return [region for region in self.regions if region.is_outline]

    @property
    def series_uid(self) -> str:
        return next((region.series_uid for region in self.regions if region.series_uid), "")


@dataclass(frozen=True, slots=True)
class Report:
    """One report: its observer, series and findings."""

    name: str
    series_uid: str
    observer: str
    findings: tuple[ReportedFinding, ...]
    notices: tuple[Notice, ...] = ()

    def series_of(self, finding: ReportedFinding) -> str:
        return finding.series_uid or self.series_uid


@dataclass(frozen=True, slots=True)
class CaseMatcher:
    """The cases that reports can belong to: their names, images and geometry."""

    table: pl.DataFrame | None
    images: dict[str, Series]
    """By Series Instance UID."""
    case_of_series: dict[str, str]

    def case_id(self, series_uid: str) -> str:
        return self.case_of_series.get(series_uid, series_uid)

    def grids(self) -> dict[str, Geometry]:
        own = {self.case_id(uid): series.geometry for uid, series in self.images.items()}
        return geometries(self.table) | own

    def listed(self, case_ids: Iterable[str]) -> pl.DataFrame:
        rows = {self.case_id(uid): case_row(series) for uid, series in self.images.items()}
        wanted = pl.DataFrame({"case_id": list(dict.fromkeys(case_ids))}, {"case_id": pl.String})
        known = CASES.empty() if self.table is None else without_images(self.table)
        bare = wanted.join(known, on="case_id", how="anti", maintain_order="left")["case_id"]
        new = [{**rows.get(case_id, {}), "case_id": case_id} for case_id in bare]
        made = without_images(CASES.arrange(pl.DataFrame(new))) if new else CASES.empty()
        whole = pl.concat([known, made], how="diagonal")
        return wanted.join(whole, on="case_id", how="left", maintain_order="left")


def match_cases(path: Path, cases: pl.DataFrame | None, series_uids: Iterable[str]) -> CaseMatcher:
    """Find the images of series: in the folders of the cases, else next to the reports."""
    placed = images_of_cases(cases)
    images = {series.uid: series for series in placed.values()}
    names = {series.uid: case_id for case_id, series in placed.items()}
    missing = set(series_uids) - set(images)
    if missing:
        images |= read_image_series(path if path.is_dir() else path.parent, missing)
    return CaseMatcher(cases, images, names)


def middle_mm(regions: Sequence[Region]) -> FloatArray:
    points = np.concatenate([region.points_mm for region in regions])
    middle: FloatArray = (points.min(axis=0) + points.max(axis=0)) / 2
    return middle


def passed_over(name: str, others: Mapping[str, int]) -> tuple[Notice, ...]:
    if not others:
        return ()
    listed = [f"{count} {meaning}" for meaning, count in others.items()]
    return (Notice("others_passed_over", {"file": name, "others": listed}),)


LARGEST_SPREAD = 0.5
"""Largest distance of the corners of an outline along the normal, in slices."""
_CONVENTIONS = {concept.key: labels for labels, concept in OUTLINES.items()}


def submission_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CaseMatcher, notices: Iterable[Notice] = ()
) -> Submission:
    observers = list(dict.fromkeys(report.observer for report in reports if report.observer))
    if len(observers) > 1:
        what = f"holds reports of {len(observers)} observers: {', '.join(observers[:5])}."
        raise InputError.at(path, what, "Put the reports of each algorithm into a separate folder.")
    grids = at_hand.grids()
    marks: list[JsonObject] = []
    slices: list[JsonObject] = []
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
    raise_problems(problems)
    more = (Notice("outlines_unplaced", {"count": len(unplaced)}),) if unplaced else ()
    return Submission(
        name=observers[0] if observers else algorithm_name(path),
        marks=MARKS.conform(_table(MARKS, marks), path.name),
        slices=MARK_SLICES.conform(_table(MARK_SLICES, slices), path.name) if slices else None,
        digest=file_digest(path),
        notices=(*dict.fromkeys(notices), *more),
    )


def reference_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CaseMatcher, notices: Iterable[Notice] = ()
) -> Reference:
    labels = submission_of_reports(path, reports, at_hand, notices)
    reported = [at_hand.case_id(report.series_uid) for report in reports]
    cases = at_hand.listed(reported) if at_hand.table is None else at_hand.table
    require_listed(pl.Series(reported, dtype=pl.String), cases, path.name)
    nodules = labels.marks.rename({"mark_id": "nodule_id"}).with_columns(is_ignored=pl.lit(False))
    slices = None if labels.slices is None else labels.slices.rename({"mark_id": "nodule_id"})
    return Reference(
        name=algorithm_name(path),
        cases=cases,
        nodules=NODULES.arrange(nodules.drop("score")),
        slices=slices,
        notices=labels.notices,
    )


def readings_of_reports(
    path: Path, reports: Sequence[Report], at_hand: CaseMatcher, notices: Iterable[Notice] = ()
) -> Readings:
    """Make readings from reports; each case and reader is a session, also without findings."""
    grids = at_hand.grids()
    findings: list[JsonObject] = []
    slices: list[JsonObject] = []
    problems = Problems()
    readers = {id(finding): report for report in reports for finding in report.findings}
    for case_id, finding_id, finding in _named(reports, at_hand):
        key = {"case_id": case_id, "finding_id": finding_id}
        findings.append(key | {"reader_id": _reader(readers[id(finding)])} | _reading(finding))
        if not finding.outlines:
            continue
        if case_id not in grids:
            problems.add(
                finding.where,
                f"has outlines, and the slices of case '{case_id}' are not known.",
                "Put the images next to the report, or give their folder as cases.",
            )
            continue
        slices.extend(key | row for row in _finding_slices(finding, grids[case_id], problems))
    raise_problems(problems)
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


def _table(schema: TableSchema, rows: list[JsonObject]) -> pl.DataFrame:
    if not rows:
        return schema.empty()
    types = {column.name: column.dtype for column in schema.columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(rows, schema={name: types.get(name, pl.Float64) for name in names})


def _named(
    reports: Sequence[Report], at_hand: CaseMatcher
) -> list[tuple[str, str, ReportedFinding]]:
    reported = [
        (at_hand.case_id(report.series_of(finding)), report, finding)
        for report in reports
        for finding in report.findings
    ]
    counts = Counter((case_id, finding_.finding_id) for case_id, _, finding_ in reported)
    taken: Counter[tuple[str, str]] = Counter()
    named = []
    for case_id, report, finding_ in reported:
        name = finding_.finding_id
        if not name or counts[case_id, name] > 1:
            taken[case_id, report.observer] += 1
            name = f"{_reader(report)}-{taken[case_id, report.observer]}"
        named.append((case_id, name, finding_))
    return named


def _mark(finding: ReportedFinding) -> JsonObject:
    center = finding.center_mm
    if center is None:
        center = middle_mm(finding.regions)
    x, y, z = (float(value) for value in center)
    names = {column.name for column in MARKS.columns}
    held = {
        name: value for name, value in (finding.numbers | finding.labels).items() if name in names
    }
    return {"x_mm": x, "y_mm": y, "z_mm": z, "diameter_mm": _diameter(finding)} | held


def _diameter(finding: ReportedFinding) -> float | None:
    """As reported, else from a circle, the axes, the volume, or the largest outline's box."""
    numbers = finding.numbers
    if "diameter_mm" in numbers:
        return numbers["diameter_mm"]
    drawn = [region.diameter_mm for region in finding.regions if region.diameter_mm is not None]
    if drawn:
        return max(drawn)
    if "long_mm" in numbers and "short_mm" in numbers:
        return (numbers["long_mm"] + numbers["short_mm"]) / 2
    if "volume_mm3" in numbers:
        return float(np.cbrt(6 * numbers["volume_mm3"] / np.pi))
    extents = [np.ptp(outline.points_mm, axis=0)[:2].mean() for outline in finding.outlines]
    return float(max(extents)) if extents else None


def _reading(finding: ReportedFinding) -> JsonObject:
    center = finding.center_mm
    place = {} if center is None else dict(zip(("x_mm", "y_mm", "z_mm"), center, strict=True))
    lengths = ("diameter_mm", "long_mm", "short_mm")
    numbers = {name: finding.numbers[name] for name in lengths if name in finding.numbers}
    names = {column.name for column in FINDINGS.columns}
    labels = {name: value for name, value in finding.labels.items() if name in names}
    return {"kind": finding.kind} | place | numbers | labels


def slices_of_mark(
    finding: ReportedFinding, grid: Geometry, problems: Problems
) -> Iterable[JsonObject]:
    """Yield one row per slice: the box around its outlines, and the outlines joined."""
    by_slice: dict[int, list[Region]] = {}
    for outline in finding.outlines:
        number = _slice_number(outline, grid, problems)
        if number is not None:
            by_slice.setdefault(number, []).append(outline)
    for number, outlines in sorted(by_slice.items()):
        rings = [region.points_mm for region in outlines]
        corners = np.concatenate(rings)
        low, high = corners.min(axis=0), corners.max(axis=0)
        is_box = all(region.purpose == BOX.key for region in outlines)
        yield {
            "slice_index": number,
            "z_mm": float((low[2] + high[2]) / 2),
            "center_x_mm": float((low[0] + high[0]) / 2),
            "center_y_mm": float((low[1] + high[1]) / 2),
            "length_mm": float(high[0] - low[0]),
            "width_mm": float(high[1] - low[1]),
            "contour": None if is_box else contour_text(joined_outline(rings)),
        }


def _finding_slices(
    finding: ReportedFinding, grid: Geometry, problems: Problems
) -> Iterable[JsonObject]:
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
            f"is on slice {number}, which the series does not have.",
            "Is it a report of another series?",
        )
        return None
    return number


def contour_text(points: FloatArray) -> str:
    """Corners as 'x y;x y;...', rounded to a tenth of a micrometre."""
    return outline_text((round(x, 4), round(y, 4)) for x, y in points[:, :2].tolist())


def linked(reports: Sequence[Report], at_hand: CaseMatcher) -> tuple[list[Report], list[Notice]]:
    """Link boxes on adjacent slices that are separate findings; others write so slice by slice."""
    grids = at_hand.grids()
    made: list[Report] = []
    notices = []
    for report in reports:
        boxes = [
            finding
            for finding in report.findings
            if len(finding.regions) == 1
            and finding.regions[0].purpose == BOX.key
            and finding.outlines
        ]
        grid = grids.get(at_hand.case_id(report.series_uid))
        if len(boxes) < 2 or grid is None:
            made.append(report)
            continue
        rows = [next(iter(slices_of_mark(box, grid, Problems())), None) for box in boxes]
        if None in rows:
            made.append(report)  # their problems are reported when they are placed
            continue
        table = pl.DataFrame([{"case_id": "", **row} for row in rows if row is not None])
        numbers = link_boxes(table).tolist()
        chains = [
            [box for box, chain in zip(boxes, numbers, strict=True) if chain == number]
            for number in dict.fromkeys(numbers)
        ]
        if len(chains) < len(boxes):
            values = {"file": report.name, "boxes": len(boxes), "marks": len(chains)}
            notices.append(Notice("boxes_linked", {**values, "what": "findings"}))
        others = [
            finding for finding in report.findings if not any(finding is box for box in boxes)
        ]
        made.append(replace(report, findings=(*others, *map(_joined, chains))))
    return made, notices


def _joined(chain: list[ReportedFinding]) -> ReportedFinding:
    """Join the boxes of one finding; its ratings are those of the first box that has them."""
    first = chain[0]
    scores = [box.numbers["score"] for box in chain if "score" in box.numbers]
    numbers = {name: value for box in reversed(chain) for name, value in box.numbers.items()}
    labels = {name: value for box in reversed(chain) for name, value in box.labels.items()}
    return replace(
        first,
        regions=tuple(region for box in chain for region in box.regions),
        numbers=numbers | ({"score": max(scores)} if scores else {}),
        labels=labels,
    )


STEEPEST = 0.1
"""Least cosine between slice normal and z axis at which x and y determine a point on a slice."""


def drawn_by_owner(
    slices: pl.DataFrame | None, key: str
) -> dict[tuple[str, str], list[DrawnOutline]]:
    """The outlines by (case, id) of each mark, nodule or finding, as ``key`` names it."""
    outlines: dict[tuple[str, str], list[DrawnOutline]] = {}
    for row in () if slices is None else slices.iter_rows(named=True):
        outlines.setdefault((row["case_id"], row[key]), []).append(_drawn(row, row[key]))
    return outlines


def drawn_by_session(readings: Readings) -> dict[tuple[str, str], dict[str, list[DrawnOutline]]]:
    drawn = drawn_by_owner(readings.slices, "finding_id")
    outlines: dict[tuple[str, str], dict[str, list[DrawnOutline]]] = {}
    columns = readings.findings.select("case_id", "finding_id", "reader_id")
    for case_id, finding_id, reader_id in columns.iter_rows():
        if (case_id, finding_id) in drawn:
            own = outlines.setdefault((case_id, reader_id), {})
            own[finding_id] = drawn[case_id, finding_id]
    return outlines


def _drawn(row: JsonObject, owner: str) -> DrawnOutline:
    where = f"case '{row['case_id']}' '{owner}' slice {row['slice_index']}"
    has_corners = row["contour"] is not None
    is_box = not has_corners or row.get("convention") == "box"
    if not has_corners:
        outline = box_outline(
            row["center_x_mm"], row["center_y_mm"], row["length_mm"], row["width_mm"]
        )
    else:
        outline = read_outline(row["contour"], where)
    return DrawnOutline(
        row["slice_index"],
        outline,
        row["z_mm"],
        row.get("convention", "boundary"),
        row.get("is_hole", False),
        is_box,
    )


def require_native_grid(grid: Geometry, where: str) -> None:
    """Reject slices so steep that x and y do not determine a point on them."""
    if abs(float(grid.direction[2, 2])) < STEEPEST:
        what = "its slices are coronal or sagittal; x and y do not determine a point on them."
        raise InputError.at(where, what, "Give axial images, or resample them.")
