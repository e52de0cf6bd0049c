"""DICOM segmentations <-> outlines of marks, nodules or findings: one segment each."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError, made_of_each
from nodulebench.core.notices import Notice
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference, Submission
from nodulebench.io.dicom.codes import KIND_OF_CODE, NODULE_KEYS
from nodulebench.io.dicom.files import lacks_dicom, objects_of
from nodulebench.io.dicom.findings import (
    CasesAtHand,
    Report,
    ReportedFinding,
    cases_at_hand,
    passed_over,
)
from nodulebench.io.dicom.reported_tables import (
    readings_of_reports,
    reference_of_reports,
    submission_of_reports,
)
from nodulebench.io.dicom.seg_segments import SEG_CLASSES, read_segments
from nodulebench.io.dicom.seg_writer import (
    write_marks,
    write_readings,
    write_reference,
)
from nodulebench.io.dicom.values import item_of, items_of, text_of
from nodulebench.io.format import Format


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """A submission: a segmentation, or a folder with one or more for each case.

    Each segment that is called a nodule, lesion or mass is a mark; others are passed over. Its
    place is the middle of the box around its voxels, its diameter that of the ball of the same
    volume; it has no score. Pixels of fractional segmentations count from one half on.
    """
    reports, at_hand, notices = _read(path, cases)
    return submission_of_reports(path, reports, at_hand, notices)


def read_reference(path: Path, cases: pl.DataFrame | None = None) -> Reference:
    """A reference: each segment that is called a nodule, lesion or mass is one.

    The cases are those given, else those with a segmentation.
    """
    reports, at_hand, notices = _read(path, cases)
    return reference_of_reports(path, reports, at_hand, notices)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Readings: each segmentation is what its content creator outlined in one case."""
    reports, at_hand, notices = _read(path, cases)
    return readings_of_reports(path, reports, at_hand, notices)


def _read(path: Path, cases: pl.DataFrame | None) -> tuple[list[Report], CasesAtHand, list[Notice]]:
    files = [file for file, _ in objects_of(path, *SEG_CLASSES)]
    if not files:
        raise InputError.at(path, "holds no DICOM segmentation.", "Export one.")
    reports = made_of_each(files, _report)
    at_hand = cases_at_hand(path, cases, {report.series_uid for report in reports})
    return reports, at_hand, [told for report in reports for told in report.notices]


def _report(file: Path) -> Report:
    data, segments = read_segments(file)
    name = file.name
    series_uid = text_of(item_of(data, "ReferencedSeriesSequence"), "SeriesInstanceUID")
    if not series_uid:
        raise InputError.at(
            name,
            "refers to no image series.",
            "Without it nobody knows which case it is about; export it anew.",
        )
    others: Counter[str] = Counter()
    findings = []
    for one in segments:
        if one.code not in NODULE_KEYS and one.code not in KIND_OF_CODE:
            others[one.meaning] += 1
        elif one.regions:
            kind = KIND_OF_CODE.get(one.code, "nodule")
            numbers = {"volume_mm3": one.volume_mm3} if one.volume_mm3 else {}
            findings.append(ReportedFinding(one.where, one.label, one.regions, kind, numbers))
    notices = passed_over(name, others)
    if text_of(data, "SegmentationType") == "FRACTIONAL":
        notices = (*notices, Notice("segmentation_fractional", {"file": name}))
    return Report(name, series_uid, _observer(data), tuple(findings), notices)


def _observer(data: Any) -> str:
    """Who made it: the content's creator, else the algorithm of the first segment."""
    segments = items_of(data, "SegmentSequence")
    names = (text_of(one, "SegmentAlgorithmName") for one in segments)
    creator = text_of(data, "ContentCreatorName").rstrip("^ ")
    return creator or next(filter(None, names), "")


_refuse = partial(lacks_dicom, sop_classes=SEG_CLASSES, words="DICOM segmentation")
FORMAT = Format(
    name="dicom_seg",
    meaning="DICOM segmentations on the grid of the images, one segment a nodule",
    suffixes=("/", ".dcm"),
    example="masks/\n  scan-1.dcm  Segmentation with a segment for each nodule",
    refuse_marks=_refuse,
    refuse_reference=_refuse,
    read_marks=read_marks,
    read_reference=read_reference,
    write_marks=write_marks,
    write_reference=write_reference,
    read_readings=read_readings,
    write_readings=write_readings,
    needs_images=True,
    loses="outlines become voxels; scores, sizes and types have no place, nor cases without any",
)
