"""DICOM segmentations <-> outlines of marks, nodules or findings: one segment each."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats.dicom_codes import KINDS, NODULE_KEYS, OUTLINES
from nodulebench.formats.dicom_file import holds_dicom, objects_of, read_object
from nodulebench.formats.dicom_seg_writer import write_marks, write_readings, write_reference
from nodulebench.formats.dicom_sr import passed_over
from nodulebench.formats.format import Format
from nodulebench.formats.glimpse import Glimpse
from nodulebench.formats.reported import CasesAtHand, Report, ReportedFinding, cases_at_hand
from nodulebench.formats.reported_tables import (
    readings_of_reports,
    reference_of_reports,
    submission_of_reports,
)
from nodulebench.formats.sr_regions import Region
from nodulebench.formats.sr_tree import code_key
from nodulebench.model.arrays import FloatArray
from nodulebench.model.findings import Readings
from nodulebench.model.geometry import FARTHEST_MM
from nodulebench.model.tables import Reference, Submission
from nodulebench.model.trace import trace_outlines

SEG_CLASSES = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
"""Segmentation and Label Map Segmentation."""
_KIND_OF_CODE = {concept.key: kind for kind, concept in KINDS.items()}
_OUTLINE = OUTLINES["boundary", False].key


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the pixels of a frame are."""

    origin_mm: FloatArray
    across_mm: FloatArray
    """From one column to the next."""
    down_mm: FloatArray
    """From one row to the next."""
    depth_mm: float
    """From one slice to the next, as far as its header says; 0: it does not."""
    segment: int
    """The segment that it shows; 0: pixel values tell."""

    def world(self, pixels: FloatArray) -> FloatArray:
        """Millimetres of columns and rows; pixel centres are whole numbers."""
        moved: FloatArray = (
            self.origin_mm + pixels[:, :1] * self.across_mm + pixels[:, 1:] * self.down_mm
        )
        return moved


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


def _read(path: Path, cases: pl.DataFrame | None) -> tuple[list[Report], CasesAtHand, list[str]]:
    files = [file for file, _ in objects_of(path, *SEG_CLASSES)]
    if not files:
        raise InputError(Problem(str(path), "holds no DICOM segmentation.", "Export one."))
    reports: list[Report] = []
    problems: list[Problem] = []
    for file in files:
        try:
            reports.append(_report(file))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    at_hand = cases_at_hand(path, cases, {report.series_uid for report in reports})
    return reports, at_hand, [told for report in reports for told in report.notices]


def _report(file: Path) -> Report:
    data = read_object(file)
    name = file.name
    series: Any = next(iter(data.get("ReferencedSeriesSequence") or ()), {})
    series_uid = str(series.get("SeriesInstanceUID", ""))
    if not series_uid:
        raise InputError(
            Problem(
                name,
                "refers to no image series.",
                "Without it nobody knows which case it is about; export it anew.",
            )
        )
    frames, pixels = _frames(data, name), _pixels(data, name)
    if len(frames) != len(pixels):
        what = f"describes {len(frames)} frames and holds {len(pixels)}."
        raise InputError(Problem(name, what, "Copy or export it anew."))
    others: Counter[str] = Counter()
    findings = []
    for segment in data.get("SegmentSequence") or ():
        held = segment.get("SegmentedPropertyTypeCodeSequence")
        code = code_key(held)
        if code in NODULE_KEYS or code in _KIND_OF_CODE:
            finding = _finding(segment, _KIND_OF_CODE.get(code, "nodule"), frames, pixels, name)
            findings.extend([] if finding is None else [finding])
        else:
            others[str(held[0].get("CodeMeaning", code)) if held else "unnamed"] += 1
    notices = passed_over(name, others)
    if str(data.get("SegmentationType", "")) == "FRACTIONAL":
        notices = (*notices, f"{name} is fractional: pixels of one half and more were taken.")
    return Report(name, series_uid, _observer(data), tuple(findings), notices)


def _observer(data: Any) -> str:
    """Who made it: the content's creator, else the algorithm of the first segment."""
    segments = data.get("SegmentSequence") or ()
    names = (str(one.get("SegmentAlgorithmName", "")) for one in segments)
    creator = str(data.get("ContentCreatorName", "") or "").rstrip("^ ")
    return creator or next(filter(None, names), "")


def _frames(data: Any, name: str) -> list[_Frame]:
    """The place of each frame: what it does not say itself, all frames share."""
    shared: Any = next(iter(data.get("SharedFunctionalGroupsSequence") or ()), {})
    frames = []
    for number, own in enumerate(data.get("PerFrameFunctionalGroupsSequence") or (), start=1):
        where = f"{name} frame {number}"

        def group(keyword: str, own: Any = own) -> Any:
            held = own.get(keyword) or shared.get(keyword)
            return held[0] if held else {}

        position = _numbers(group("PlanePositionSequence"), "ImagePositionPatient", 3, where)
        cosines = _numbers(group("PlaneOrientationSequence"), "ImageOrientationPatient", 6, where)
        measures = group("PixelMeasuresSequence")
        row_step, column_step = _numbers(measures, "PixelSpacing", 2, where)
        depth = measures.get("SpacingBetweenSlices") or measures.get("SliceThickness") or 0
        shown = group("SegmentIdentificationSequence").get("ReferencedSegmentNumber", 0)
        across, down = cosines[:3] * column_step, cosines[3:] * row_step
        frames.append(_Frame(position, across, down, float(depth), int(shown or 0)))
    return frames


def _numbers(group: Any, keyword: str, count: int, where: str) -> FloatArray:
    values = group.get(keyword)
    found = np.array([] if values is None else [float(one) for one in values], dtype=np.float64)
    if len(found) != count or not np.all(np.abs(found) < FARTHEST_MM):
        raise InputError(
            Problem(where, f"has no usable {keyword}.", "It cannot be placed; export it anew.")
        )
    return found


def _pixels(data: Any, name: str) -> npt.NDArray[Any]:
    """Frames x rows x columns: 0 and 1, or numbers of segments in a label map."""
    try:
        stored = data.pixel_array
    except Exception as error:  # damage may break any part of the decoder
        told = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        raise InputError(
            Problem(name, f"its pixels cannot be read: {told}.", "Copy or export it anew.")
        ) from error
    stack: npt.NDArray[Any] = stored[None] if stored.ndim == 2 else stored
    if str(data.get("SegmentationType", "")) == "FRACTIONAL":
        return 2 * stack.astype(np.int64) >= int(data.get("MaximumFractionalValue", 255))
    return stack


def _finding(
    segment: Any, kind: str, frames: list[_Frame], pixels: npt.NDArray[Any], name: str
) -> ReportedFinding | None:
    """A segment: its outline on each frame, along pixel edges; None: it has no pixels."""
    number = int(segment.get("SegmentNumber", 0))
    where = f"{name} segment {number}"
    regions = []
    volume = 0.0
    for frame, stored in zip(frames, pixels, strict=True):
        if frame.segment not in (0, number):
            continue
        row, column = np.nonzero(stored if frame.segment else stored == number)
        if not len(row):
            continue
        _, corners = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
        regions.append(Region(where, _OUTLINE, frame.world(corners), is_outline=True))
        area = float(np.linalg.norm(np.cross(frame.across_mm, frame.down_mm)))
        volume += len(row) * area * frame.depth_mm
    if not regions:
        return None
    label = str(segment.get("TrackingID", "") or segment.get("SegmentLabel", "") or number)
    numbers = {"volume_mm3": volume} if volume else {}
    return ReportedFinding(where, label, tuple(regions), kind, numbers)


def _refuse(glimpse: Glimpse) -> str:
    return glimpse.is_not("dicom", "folder") or holds_dicom(
        glimpse.path, SEG_CLASSES, "DICOM segmentation"
    )


FORMAT = Format(
    name="dicom_seg",
    meaning="DICOM segmentations on the grid of the images, one segment a nodule",
    suffixes=("/", ".dcm"),
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
