"""Read and write DICOM segmentations: one segment per mark, nodule or finding."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray, StoredArray
from nodulebench.core.errors import (
    InputError,
    Problem,
    first_line,
    map_collecting_problems,
    raise_problems,
)
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.core.readings import Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import MARK_SLICES, NODULE_SLICES, Reference, Submission
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.imaging.rasters import DrawnOutline, trace_outlines, voxels_of
from nodulebench.io.dicom.codes import KIND_OF_CODE, KINDS, LUNG, NODULE_KEYS, OUTLINES, Concept
from nodulebench.io.dicom.files import (
    item_of,
    items_of,
    lacks_dicom,
    number_of,
    numbers_of,
    objects_of,
    read_object,
    shared_item,
    text_of,
    whole_of,
)
from nodulebench.io.dicom.findings import (
    CaseMatcher,
    Report,
    ReportedFinding,
    drawn_by_owner,
    drawn_by_session,
    match_cases,
    passed_over,
    readings_of_reports,
    reference_of_reports,
    require_native_grid,
    submission_of_reports,
)
from nodulebench.io.dicom.header import uid_from
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.sr_content import Region, code_key
from nodulebench.io.dicom.writing import (
    MAKER,
    coded,
    create_quietly,
    moment,
    person_name,
    save_objects,
    series_of_cases,
    settle,
)
from nodulebench.io.format import Format
from nodulebench.io.marks.boxes import complete_slices

if TYPE_CHECKING:
    from highdicom import AlgorithmIdentificationSequence
    from highdicom.seg import Segmentation, SegmentDescription
    from pydicom import Dataset

SEG_CLASSES = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
"""Segmentation and Label Map Segmentation."""
_OUTLINE = OUTLINES["boundary", False].key


@dataclass(frozen=True, slots=True)
class Segment:
    """One structure of a segmentation."""

    where: str
    number: int
    label: str
    code: str
    """Key of its property type."""
    meaning: str
    regions: tuple[Region, ...]
    """Its outline on each frame; empty if it has no pixels."""
    volume_mm3: float
    """0 if the distance of slices is unknown."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the pixels of a frame are."""

    origin_mm: FloatArray
    across_mm: FloatArray
    """From one column to the next."""
    down_mm: FloatArray
    """From one row to the next."""
    depth_mm: float
    """From one slice to the next; 0 if the header does not say."""
    segment: int
    """The segment that it shows; 0 if pixel values are the segments."""

    def world(self, pixels: FloatArray) -> FloatArray:
        return self.origin_mm + pixels[:, :1] * self.across_mm + pixels[:, 1:] * self.down_mm


def read_segments(file: Path) -> "tuple[Dataset, list[Segment]]":
    """Read header and segments; pixels of fractional segmentations count from one half."""
    data = read_object(file)
    name = file.name
    frames, pixels = _frames(data, name), _pixels(data, name)
    if len(frames) != len(pixels):
        what = f"describes {len(frames)} frames and holds {len(pixels)}."
        raise InputError.at(name, what, "Copy or export it again.")
    described = items_of(data, "SegmentSequence")
    return data, [_segment(segment, frames, pixels, name) for segment in described]


def _frames(data: "Dataset", name: str) -> list[_Frame]:
    shared = item_of(data, "SharedFunctionalGroupsSequence")
    frames = []
    for number, own in enumerate(items_of(data, "PerFrameFunctionalGroupsSequence"), start=1):
        where, group = f"{name} frame {number}", partial(shared_item, own, shared)
        position = _numbers(group("PlanePositionSequence"), "ImagePositionPatient", 3, where)
        cosines = _numbers(group("PlaneOrientationSequence"), "ImageOrientationPatient", 6, where)
        measures = group("PixelMeasuresSequence")
        row_step, column_step = _numbers(measures, "PixelSpacing", 2, where)
        depth = number_of(measures, "SpacingBetweenSlices") or number_of(measures, "SliceThickness")
        shown = whole_of(group("SegmentIdentificationSequence"), "ReferencedSegmentNumber")
        across, down = cosines[:3] * column_step, cosines[3:] * row_step
        frames.append(_Frame(position, across, down, depth or 0.0, shown or 0))
    return frames


def _numbers(group: "Dataset | None", keyword: str, count: int, where: str) -> FloatArray:
    values = np.array(numbers_of(group, keyword, count) or (), dtype=np.float64)
    if len(values) != count or not np.all(np.abs(values) < FARTHEST_MM):
        raise InputError.at(
            where, f"has no usable {keyword}.", "It has no position; export it again."
        )
    return values


def _pixels(data: "Dataset", name: str) -> StoredArray:
    """Frames x rows x columns: 0 and 1, or numbers of segments in a label map."""
    try:
        stored = data.pixel_array
    except Exception as error:  # damage may break any part of the decoder
        what = f"its pixels cannot be read: {first_line(error)}."
        raise InputError.at(name, what, "Copy or export it again.") from error
    stack: StoredArray = stored[None] if stored.ndim == 2 else stored
    if text_of(data, "SegmentationType") == "FRACTIONAL":
        return 2 * stack.astype(np.int64) >= (whole_of(data, "MaximumFractionalValue") or 255)
    return stack


def _segment(described: "Dataset", frames: list[_Frame], pixels: StoredArray, name: str) -> Segment:
    number = whole_of(described, "SegmentNumber") or 0
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
    code = code_key(described, "SegmentedPropertyTypeCodeSequence")
    named = item_of(described, "SegmentedPropertyTypeCodeSequence")
    return Segment(
        where=where,
        number=number,
        label=text_of(described, "TrackingID") or text_of(described, "SegmentLabel") or str(number),
        code=code,
        meaning=(text_of(named, "CodeMeaning") or code) if named is not None else "unnamed",
        regions=tuple(regions),
        volume_mm3=volume,
    )


SERIES_NUMBER = 902
MOST_BYTES = 1 << 30
"""Largest stack of overlapping segments that is written into one object."""
_ABNORMAL = Concept("49755003", "SCT", "Morphologically Abnormal Structure")
_WHAT = "a DICOM segmentation"


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one segmentation per case with marks into a folder; a single one may be a .dcm file.

    A mark without outlines is filled as its box, a mark without slices as a box of its diameter.
    """
    with needs("dicom", "writing DICOM segmentations"):
        import highdicom
    family = coded(Concept("123110", "DCM", "Artificial Intelligence"))
    algorithm = highdicom.AlgorithmIdentificationSequence(
        name=submission.name[:64], version="-", family=family
    )
    _write_owners(submission, submission.marks, cases, path, MARK_SLICES, algorithm)


def write_reference(reference: Reference, path: Path) -> None:
    """Write one segmentation per case with nodules; ignored findings are left out."""
    nodules = reference.nodules.filter(~pl.col("is_ignored"))
    _write_owners(reference, nodules, reference.cases, path, NODULE_SLICES, None)


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one segmentation per case and reader with outlined findings; points are left out."""
    sessions = drawn_by_session(readings)
    known = readings.cases if cases is None else cases
    series = series_of_cases(known, list(dict.fromkeys(case for case, _ in sessions)), _WHAT)
    written = moment()
    save_objects(
        path,
        (
            (f"{case}-{reader}", _segmentation(series[case], reader, findings, None, written))
            for (case, reader), findings in sessions.items()
        ),
    )


def _write_owners(
    held: Submission | Reference,
    owners: pl.DataFrame,
    cases: pl.DataFrame | None,
    path: Path,
    schema: TableSchema,
    algorithm: "AlgorithmIdentificationSequence | None",
) -> None:
    key = schema.key[1]
    case_ids = list(dict.fromkeys(owners["case_id"]))
    if not case_ids:
        what = "has no segment, and a DICOM segmentation needs at least one."
        remedy = "Write a DICOM report (dicom_sr), which may be without findings."
        raise InputError.at(f"'{held.name}'", what, remedy)
    series = series_of_cases(cases, case_ids, _WHAT)
    grids = {case_id: images.geometry for case_id, images in series.items()}
    given = schema.empty() if held.slices is None else held.slices
    given = given.join(owners, on=["case_id", key], how="semi", maintain_order="left")
    drawn = drawn_by_owner(complete_slices(owners, given, schema, grids, held.name), key)
    written = moment()
    by_case: dict[str, dict[str, list[DrawnOutline]]] = {case_id: {} for case_id in case_ids}
    for case_id, owner in owners.select("case_id", key).iter_rows():
        by_case[case_id][owner] = drawn[case_id, owner]
    save_objects(
        path,
        (
            (case, _segmentation(series[case], held.name, outlines, algorithm, written))
            for case, outlines in by_case.items()
        ),
    )


def _segmentation(
    series: Series,
    maker: str,
    findings: Mapping[str, list[DrawnOutline]],
    algorithm: "AlgorithmIdentificationSequence | None",
    written: datetime,
) -> "Segmentation":
    with needs("dicom", "writing DICOM segmentations"):
        from highdicom import seg
    where = f"series {series.uid}"
    require_native_grid(series.geometry, where)
    voxels = {name: voxels_of(drawn, series.geometry) for name, drawn in findings.items()}
    empty = [name for name, held in voxels.items() if not len(held)]
    raise_problems(
        Problem(
            f"{where} '{name}'",
            "contains no voxel of the image, so it cannot be a segment.",
            "Does it belong to another series? Leave it out.",
        )
        for name in empty
    )
    words = (series.uid, maker, written.isoformat())
    descriptions = [
        _description(number, name, algorithm, words) for number, name in enumerate(voxels, start=1)
    ]
    images, stack = _stack(list(voxels.values()), series, where)
    data = create_quietly(
        seg.Segmentation,
        source_images=[series.images[k] for k in images],
        pixel_array=stack,
        segmentation_type="BINARY",
        segment_descriptions=descriptions,
        series_instance_uid=uid_from("segmentation series", *words),
        series_number=SERIES_NUMBER,
        sop_instance_uid=uid_from("segmentation", *words),
        instance_number=1,
        manufacturer=MAKER,
        manufacturer_model_name=MAKER,
        software_versions=version("nodulebench"),
        device_serial_number="0",
        content_label="NODULES",
        content_description="Nodules, one segment each",
        content_creator_name=person_name(maker) if algorithm is None else None,
        series_description=f"Nodules by {maker}"[:64],
    )
    for name in ("DimensionOrganizationSequence", "DimensionIndexSequence"):
        for item in data.get(name) or ():
            item.DimensionOrganizationUID = uid_from("dimensions", *words)
    settle(data, written)
    return data


def _description(
    number: int,
    name: str,
    algorithm: "AlgorithmIdentificationSequence | None",
    words: tuple[str, ...],
) -> "SegmentDescription":
    with needs("dicom", "writing DICOM segmentations"):
        from highdicom import seg
    return seg.SegmentDescription(
        segment_number=number,
        segment_label=name[:64],
        segmented_property_category=coded(_ABNORMAL),
        segmented_property_type=coded(KINDS["nodule"]),
        algorithm_type="MANUAL" if algorithm is None else "AUTOMATIC",
        algorithm_identification=algorithm,
        tracking_uid=uid_from("segment", *words, name),
        tracking_id=name,
        anatomic_regions=[coded(LUNG)],
    )


def _stack(voxels: list[IntArray], series: Series, where: str) -> tuple[list[int], StoredArray]:
    """The images with any voxel; their segments as a label map, or one by one if they overlap."""
    images = sorted({int(k) for held in voxels for k in np.unique(held[:, 2])})
    number = np.full(len(series.images), -1)
    number[images] = np.arange(len(images))
    columns, rows, _ = series.geometry.size if series.geometry.size is not None else (0, 0, 0)
    labels = np.zeros((len(images), rows, columns), dtype=np.uint16)
    is_overlapping = False
    for segment, held in enumerate(voxels, start=1):
        place = (number[held[:, 2]], held[:, 1], held[:, 0])
        is_overlapping |= bool(labels[place].any())
        labels[place] = segment
    if not is_overlapping:
        return images, labels
    if labels.size * len(voxels) > MOST_BYTES:
        what = f"has {len(voxels)} nodules that overlap, too many for one segmentation."
        remedy = "Leave out marks of low score, or marks that repeat others."
        raise InputError.at(where, what, remedy)
    stack = np.zeros((*labels.shape, len(voxels)), dtype=np.bool_)
    for segment, held in enumerate(voxels):
        stack[number[held[:, 2]], held[:, 1], held[:, 0], segment] = True
    return images, stack


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a submission: a segmentation, or a folder with one or more for each case.

    Each segment that is coded as nodule, lesion or mass is a mark; others are skipped. Its
    position is the middle of the box around its voxels, its diameter that of a ball of the same
    volume; it has no score. Pixels of fractional segmentations count from one half.
    """
    reports, at_hand, notices = _read(path, cases)
    return submission_of_reports(path, reports, at_hand, notices)


def read_reference(path: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a reference: each segment that is coded as nodule, lesion or mass is a nodule.

    The cases are those given, else those with a segmentation.
    """
    reports, at_hand, notices = _read(path, cases)
    return reference_of_reports(path, reports, at_hand, notices)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    reports, at_hand, notices = _read(path, cases)
    return readings_of_reports(path, reports, at_hand, notices)


def _read(path: Path, cases: pl.DataFrame | None) -> tuple[list[Report], CaseMatcher, list[Notice]]:
    files = [file for file, _ in objects_of(path, *SEG_CLASSES)]
    if not files:
        raise InputError.at(path, "holds no DICOM segmentation.", "Export one.")
    reports = map_collecting_problems(files, _report)
    at_hand = match_cases(path, cases, {report.series_uid for report in reports})
    return reports, at_hand, [notice for report in reports for notice in report.notices]


def _report(file: Path) -> Report:
    data, segments = read_segments(file)
    name = file.name
    series_uid = text_of(item_of(data, "ReferencedSeriesSequence"), "SeriesInstanceUID")
    if not series_uid:
        raise InputError.at(
            name, "refers to no image series.", "Without it the case is unknown; export it again."
        )
    others: Counter[str] = Counter()
    findings = []
    for segment in segments:
        if segment.code not in NODULE_KEYS and segment.code not in KIND_OF_CODE:
            others[segment.meaning] += 1
        elif segment.regions:
            kind = KIND_OF_CODE.get(segment.code, "nodule")
            numbers = {"volume_mm3": segment.volume_mm3} if segment.volume_mm3 else {}
            findings.append(
                ReportedFinding(segment.where, segment.label, segment.regions, kind, numbers)
            )
    notices = passed_over(name, others)
    if text_of(data, "SegmentationType") == "FRACTIONAL":
        notices = (*notices, Notice("segmentation_fractional", {"file": name}))
    return Report(name, series_uid, _observer(data), tuple(findings), notices)


def _observer(data: "Dataset") -> str:
    """Who made it: the content creator, else the algorithm of the first segment."""
    segments = items_of(data, "SegmentSequence")
    names = (text_of(segment, "SegmentAlgorithmName") for segment in segments)
    creator = text_of(data, "ContentCreatorName").rstrip("^ ")
    return creator or next(filter(None, names), "")


_refuse = partial(lacks_dicom, sop_classes=SEG_CLASSES, words="DICOM segmentation")
FORMAT = Format(
    name="dicom_seg",
    meaning="DICOM segmentations on the grid of the images, one segment per nodule",
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
    loses="outlines become voxels; scores, sizes, types and cases without segments are lost",
)
