"""DICOM measurement reports (TID 1500) <-> marks of an algorithm, or readings of people."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError, Problems, adding_to, made_of_each, refuse_any
from nodulebench.core.notices import Notice
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Submission
from nodulebench.io.dicom import codes
from nodulebench.io.dicom.files import lacks_dicom, objects_of
from nodulebench.io.dicom.findings import (
    CasesAtHand,
    Report,
    ReportedFinding,
    cases_at_hand,
    passed_over,
)
from nodulebench.io.dicom.reported_links import linked
from nodulebench.io.dicom.reported_tables import (
    readings_of_reports,
    submission_of_reports,
)
from nodulebench.io.dicom.seg_segments import SEG_CLASSES, read_segments
from nodulebench.io.dicom.sr_content import (
    Item,
    content_tree,
    descendants,
    referenced_series,
)
from nodulebench.io.dicom.sr_measurements import (
    TYPE_OF_CODE,
    ct_series_of,
    numbers_of,
    observer_of,
    said_of,
    surroundings,
)
from nodulebench.io.dicom.sr_regions import Region, Surroundings, region
from nodulebench.io.dicom.sr_writer import write_marks, write_readings
from nodulebench.io.dicom.values import floats_of, items_of, text_of
from nodulebench.io.format import Format

SR_CLASSES = (
    "1.2.840.10008.5.1.4.1.1.88.34",
    "1.2.840.10008.5.1.4.1.1.88.33",
    "1.2.840.10008.5.1.4.1.1.88.22",
)
"""Comprehensive 3D SR, Comprehensive SR, Enhanced SR."""


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """A submission: a report, or a folder with one or more for each case.

    Groups with the same tracking UID are one mark. Its place is the point called its centre, else
    the middle of what was outlined; outlines and boxes become slices. The score is the Certainty
    of Finding. Points on images (SCOORD) need the images, beside the reports or in the folders
    that the column ``images`` of the cases names; points in the patient (SCOORD3D) do not. The
    case is the series that the report lists as its evidence.
    """
    reports, at_hand, notices = read_reports(path, cases)
    return submission_of_reports(path, reports, at_hand, notices)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Readings: each report is what its observer saw in one case, even if that is nothing."""
    reports, at_hand, notices = read_reports(path, cases)
    return readings_of_reports(path, reports, at_hand, notices)


def read_reports(
    path: Path, cases: pl.DataFrame | None
) -> tuple[list[Report], CasesAtHand, list[Notice]]:
    """Every measurement report in a file or folder, the cases they can be about, and notices.

    Raises:
        InputError: if there is none, or with the problems of all.
    """
    held = list(objects_of(path, *SR_CLASSES))
    if not held:
        raise InputError.at(path, "holds no DICOM measurement report (TID 1500).", "Export one.")
    at_hand = cases_at_hand(path, cases, ct_series_of(data for _, data in held))
    segmentations = _segmentations_beside(path, [data for _, data in held])
    read = made_of_each(held, partial(_report, at_hand=at_hand, segmentations=segmentations))
    reports, notices = linked(read, at_hand)
    return reports, at_hand, [*(told for one in reports for told in one.notices), *notices]


def _segmentations_beside(path: Path, reports: list[Any]) -> dict[str, Path]:
    """Segmentations beside the reports, if any of these lists one as its evidence, by UID."""
    listed = {
        sop_class
        for report in reports
        for images in referenced_series(report).values()
        for sop_class in images.values()
    }
    if not listed & set(SEG_CLASSES):
        return {}
    folder = path if path.is_dir() else path.parent
    held = objects_of(folder, *SEG_CLASSES)
    return {text_of(header, "SOPInstanceUID"): file for file, header in held}


def _report(held: tuple[Path, Any], at_hand: CasesAtHand, segmentations: dict[str, Path]) -> Report:
    name, data = held[0].name, held[1]
    tree = content_tree(data, name)
    groups = [
        group
        for container in descendants(tree)
        if container.name == codes.MEASUREMENTS.key
        for group in container.named(codes.MEASUREMENT_GROUP)
    ]
    if not groups and not tree.name == "DCM:126000":
        raise InputError.at(
            name,
            f"is no measurement report (TID 1500): its title is {tree.name or 'missing'}.",
            "A Chest CAD report is another format: chest_cad_sr.",
        )
    series_uid, around = surroundings(name, data, at_hand)
    around = replace(around, segmentations=segmentations)
    gathered: dict[str, list[Item]] = {}
    others: Counter[str] = Counter()
    for group in groups:
        called = [item for item in group.named(codes.FINDING) if not _is_known(item.code)]
        if called:
            others[called[0].meaning or called[0].code] += 1
            continue
        key = group.text_of(codes.TRACKING_UID) or group.text_of(codes.TRACKING_ID) or group.where
        gathered.setdefault(key, []).append(group)
    problems = Problems()
    findings = [_finding(same, around, problems) for same in gathered.values()]
    refuse_any(problems)
    found = tuple(filter(None, findings))
    return Report(name, series_uid, observer_of(tree), found, passed_over(name, others))


def _is_known(code: str) -> bool:
    return code in codes.NODULE_KEYS or code in codes.KIND_OF_CODE or code in TYPE_OF_CODE


def _finding(
    groups: list[Item], around: Surroundings, problems: Problems
) -> ReportedFinding | None:
    """The groups about one finding as one."""
    regions: list[Region] = []
    numbers: dict[str, float] = {}
    said: dict[str, str | int] = {}
    kind = "nodule"
    for group in groups:
        with adding_to(problems):
            regions.extend(_regions(group, around))
            numbers |= numbers_of(group)
        said |= said_of(group)
        for item in group.named(codes.FINDING):
            kind = codes.KIND_OF_CODE.get(item.code, kind)
    first = groups[0]
    if not regions:
        if not problems:
            problems.add(
                first.where,
                "has no place: neither a point nor an outline.",
                "Export measurements with their coordinates.",
            )
        return None
    return ReportedFinding(
        first.where, first.text_of(codes.TRACKING_ID), tuple(regions), kind, numbers, said
    )


def _regions(group: Item, around: Surroundings) -> Iterator[Region]:
    """Where a group is; the ends of its rulers, if nothing else says so."""
    purpose = next((item.code for item in group.named(codes.PURPOSE)), "")
    segments = [item for concept in codes.SEGMENT_NAMES for item in group.named(concept)]
    for item in segments:
        yield from _segment_regions(item, around)
    if segments:
        return
    drawn = group.of_kind("SCOORD", "SCOORD3D")
    if not drawn:
        rulers = [number.of_kind("SCOORD", "SCOORD3D") for number in group.of_kind("NUM")]
        drawn = [place for places in rulers for place in places]
    for item in drawn:
        yield region(item, purpose, around)


def _segment_regions(item: Item, around: Surroundings) -> tuple[Region, ...]:
    """The outlines of the segments that an item refers to."""
    found: list[Region] = []
    for reference in items_of(item.data, "ReferencedSOPSequence"):
        uid = text_of(reference, "ReferencedSOPInstanceUID")
        numbers = floats_of(reference, "ReferencedSegmentNumber") or ()
        if uid not in around.segmentations:
            raise InputError.at(
                item.where,
                f"is a segment of segmentation {uid}, which is not at hand.",
                "Put the segmentation beside the report.",
            )
        _, segments = read_segments(around.segmentations[uid])
        held = [one for one in segments if one.number in numbers]
        if not held:
            file = around.segmentations[uid].name
            told = ", ".join(f"{number:g}" for number in numbers) or "none"
            raise InputError.at(item.where, f"refers to segment {told}, which {file} lacks.")
        found.extend(region for one in held for region in one.regions)
    return tuple(found)


FORMAT = Format(
    name="dicom_sr",
    meaning="DICOM structured reports of measurements (TID 1500), one or more for each case",
    suffixes=("/", ".dcm"),
    example="reports/\n  scan-1.dcm  Comprehensive 3D SR with a measurement group for each nodule",
    refuse_marks=partial(lacks_dicom, sop_classes=SR_CLASSES, words="DICOM measurement report"),
    read_marks=read_marks,
    write_marks=write_marks,
    read_readings=read_readings,
    write_readings=write_readings,
    needs_images=True,
    precision_mm=1e-4,
)
