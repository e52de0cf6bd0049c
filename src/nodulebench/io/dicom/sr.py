"""Read and write DICOM measurement reports (TID 1500): marks of algorithms, readings of people."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import (
    InputError,
    Problems,
    collect_problems,
    map_collecting_problems,
    raise_problems,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Submission
from nodulebench.imaging.rasters import DrawnOutline, voxels_of
from nodulebench.io.dicom import codes
from nodulebench.io.dicom.codes import Concept
from nodulebench.io.dicom.files import floats_of, items_of, lacks_dicom, objects_of, text_of
from nodulebench.io.dicom.findings import (
    CaseMatcher,
    Report,
    ReportedFinding,
    drawn_by_owner,
    linked,
    match_cases,
    passed_over,
    readings_of_reports,
    require_native_grid,
    submission_of_reports,
)
from nodulebench.io.dicom.header import uid_from
from nodulebench.io.dicom.seg import SEG_CLASSES, read_segments
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.sr_content import (
    Item,
    Region,
    Surroundings,
    content_tree,
    descendants,
    referenced_series,
    region,
)
from nodulebench.io.dicom.sr_measurements import (
    TYPE_OF_CODE,
    ct_series_of,
    numbers_of,
    observer_of,
    stated_type,
    surroundings,
)
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

if TYPE_CHECKING:
    from highdicom import sr
    from highdicom.sr import ObservationContext
    from pydicom import Dataset

    Group = (
        sr.PlanarROIMeasurementsAndQualitativeEvaluations
        | sr.VolumetricROIMeasurementsAndQualitativeEvaluations
    )

SERIES_NUMBER = 901
_CHEST_CT = Concept("24627-2", "LN", "CT Chest")
_WHAT = "a DICOM report"


@dataclass(frozen=True, slots=True)
class _Finding:
    """One finding to write."""

    finding_id: str
    row: JsonObject
    drawn: Sequence[DrawnOutline]

    @property
    def center_mm(self) -> FloatArray | None:
        place = [self.row["x_mm"], self.row["y_mm"], self.row["z_mm"]]
        return None if None in place else np.array([place], dtype=np.float64)


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one report per case into a folder; a single case may go into a .dcm file.

    Cases without marks get a report that says so. The cases must name the folders of their images
    (column ``images``). The algorithm is the device observer; a score is the Certainty of
    Finding, unchanged and without unit.
    """
    listed = submission.marks["case_id"] if cases is None else cases["case_id"]
    case_ids = list(dict.fromkeys([*listed, *submission.marks["case_id"]]))
    series = series_of_cases(cases, case_ids, _WHAT)
    drawn = drawn_by_owner(submission.slices, "mark_id")
    written = moment()
    rows = submission.marks.partition_by("case_id", as_dict=True, maintain_order=True)
    objects = []
    for case_id in case_ids:
        observer = _device(submission.name)
        findings = _findings(rows.get((case_id,)), "mark_id", drawn)
        report = _report_object(series[case_id], submission.name, observer, findings, written)
        objects.append((case_id, report))
    save_objects(path, objects)


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one report per case and reader into a folder, also without findings.

    Outlines keep their convention: for those of LIDC-IDRI, through the first pixels outside,
    the geometric purpose of their group says so.
    """
    keys = readings.sessions.select("case_id", "reader_id").rows()
    known = readings.cases if cases is None else cases
    series = series_of_cases(known, list(dict.fromkeys(case_id for case_id, _ in keys)), _WHAT)
    drawn = drawn_by_owner(readings.slices, "finding_id")
    rows = readings.findings.partition_by("case_id", "reader_id", as_dict=True, maintain_order=True)
    written = moment()
    objects = []
    for case_id, reader_id in keys:
        findings = _findings(rows.get((case_id, reader_id)), "finding_id", drawn)
        report = _report_object(series[case_id], reader_id, _person(reader_id), findings, written)
        objects.append((f"{case_id}-{reader_id}", report))
    save_objects(path, objects)


def _findings(
    rows: pl.DataFrame | None, key: str, drawn: Mapping[tuple[str, str], list[DrawnOutline]]
) -> list[_Finding]:
    return [
        _Finding(row[key], row, drawn.get((row["case_id"], row[key]), ()))
        for row in ([] if rows is None else rows.iter_rows(named=True))
    ]


def _device(name: str) -> "ObservationContext":
    with needs("dicom", "writing DICOM reports"):
        from highdicom import sr
    device = sr.DeviceObserverIdentifyingAttributes(uid=uid_from("algorithm", name), name=name)
    kind = coded(Concept("121007", "DCM", "Device"))
    return sr.ObservationContext(observer_device_context=sr.ObserverContext(kind, device))


def _person(name: str) -> "ObservationContext":
    with needs("dicom", "writing DICOM reports"):
        from highdicom import sr
    person = sr.PersonObserverIdentifyingAttributes(name=person_name(name))
    kind = coded(Concept("121006", "DCM", "Person"))
    return sr.ObservationContext(observer_person_context=sr.ObserverContext(kind, person))


def _report_object(
    series: Series,
    observer_name: str,
    observer: "ObservationContext",
    findings: Sequence[_Finding],
    written: datetime,
) -> "Dataset":
    from highdicom import sr

    require_native_grid(series.geometry, f"series {series.uid}")
    words = (series.uid, observer_name, written.isoformat())
    used: set[int] = set()
    groups = [
        group
        for finding in findings
        for group in _groups(finding, series, (*words, finding.finding_id), used)
    ]
    data = create_quietly(
        sr.Comprehensive3DSR,
        evidence=[series.images[k] for k in sorted(used)] or [series.images[0]],
        content=_content(observer, groups),
        series_instance_uid=uid_from("report series", *words),
        series_number=SERIES_NUMBER,
        sop_instance_uid=uid_from("report", *words),
        instance_number=1,
        manufacturer=MAKER,
        is_complete=True,
        is_final=True,
        series_description=f"Nodules by {observer_name}"[:64],
    )
    settle(data, written)
    return data


def _content(observer: "ObservationContext", groups: "list[Group]") -> "Dataset":
    """The tree of a report (TID 1500); without findings it states that nodules are absent."""
    from highdicom import sr
    from pydicom.sequence import Sequence as Items

    title = coded(Concept("126000", "DCM", "Imaging Measurement Report"))
    if groups:
        return sr.MeasurementReport(observer, coded(_CHEST_CT), groups, title)[0]
    root = sr.ContainerContentItem(name=title, template_id="1500")
    reported = sr.CodeContentItem(
        coded(Concept("121058", "DCM", "Procedure reported")), coded(_CHEST_CT), "HAS CONCEPT MOD"
    )
    evaluations = sr.ContainerContentItem(
        coded(Concept("C0034375", "UMLS", "Qualitative Evaluations")), relationship_type="CONTAINS"
    )
    absent = coded(Concept("2667000", "SCT", "Absent"))
    evaluations.ContentSequence = Items(
        [sr.CodeContentItem(coded(codes.NODULE), absent, "CONTAINS")]
    )
    language = sr.LanguageOfContentItemAndDescendants(
        coded(Concept("en-US", "RFC5646", "English (United States)"))
    )
    root.ContentSequence = Items([*language, *observer, reported, evaluations])
    return root


def _groups(
    finding: _Finding, series: Series, words: tuple[str, ...], used: set[int]
) -> "list[Group]":
    from highdicom import sr

    tracking = {"uid": uid_from("finding", *words), "identifier": finding.finding_id}
    places = [] if finding.center_mm is None else [(codes.CENTER, [finding.center_mm])]
    by_purpose: dict[Concept, list[FloatArray]] = {}
    for outline in finding.drawn:
        purpose = (
            codes.BOX if outline.is_box else codes.OUTLINES[outline.convention, outline.is_hole]
        )
        by_purpose.setdefault(purpose, []).append(outline.corners_mm(series.geometry))
    groups: list[Group] = []
    for purpose, outlines in [*places, *by_purpose.items()]:
        images = [_image_number(points, series) for points in outlines]
        used.update(images)
        facts = {}
        if not groups:
            facts = {
                "measurements": _measurements(finding, series) or None,
                "qualitative_evaluations": _evaluations(finding.row) or None,
            }
        shared = {
            "tracking_identifier": sr.TrackingIdentifier(**tracking),
            "finding_type": coded(codes.KINDS[finding.row.get("kind", "nodule")]),
            "finding_sites": [sr.FindingSite(coded(codes.LUNG))],
            "geometric_purpose": coded(purpose),
            **facts,
        }
        groups.append(_group(purpose, outlines, images, series, shared))
    return groups


def _group(
    purpose: Concept,
    outlines: list[FloatArray],
    images: list[int],
    series: Series,
    shared: JsonObject,
) -> "Group":
    from highdicom import sr

    frame = series.frame_of_reference
    if purpose == codes.CENTER:
        place = sr.ImageRegion3D("POINT", outlines[0], frame)
        return sr.PlanarROIMeasurementsAndQualitativeEvaluations(referenced_region=place, **shared)
    rings = [_closed(points) for points in outlines]
    if len(rings) == 1:
        place = sr.ImageRegion3D("POLYGON", rings[0], frame)
        return sr.PlanarROIMeasurementsAndQualitativeEvaluations(referenced_region=place, **shared)
    sources = [
        sr.SourceImageForSegmentation.from_source_image(series.images[k])
        for k in sorted(set(images))
    ]
    surface = sr.VolumeSurface("POLYGON", rings, frame, source_images=sources)
    return sr.VolumetricROIMeasurementsAndQualitativeEvaluations(
        referenced_volume_surface=surface, **shared
    )


def _closed(points: FloatArray) -> FloatArray:
    """Corners that end with the first one; one or two corners are repeated to make three."""
    padded = np.concatenate([points, np.repeat(points[-1:], max(0, 3 - len(points)), axis=0)])
    return np.concatenate([padded, padded[:1]])


def _image_number(points: FloatArray, series: Series) -> int:
    k = round(float(series.geometry.to_index(points)[:, 2].mean()))
    return min(max(k, 0), len(series.images) - 1)


def _measurements(finding: _Finding, series: Series) -> "list[sr.Measurement]":
    from highdicom import sr

    values = [
        (concept, finding.row.get(name), unit)
        for table, unit in ((codes.LENGTHS, codes.MILLIMETRE), (codes.RATES, codes.NO_UNITS))
        for name, concept in table.items()
    ]
    outlines = [outline for outline in finding.drawn if not outline.is_box]
    if outlines:
        voxel_mm3 = float(np.prod(series.geometry.spacing_mm))
        volume = len(voxels_of(outlines, series.geometry)) * voxel_mm3
        values.append((codes.VOLUME, volume, codes.CUBIC_MILLIMETRE))
    return [
        sr.Measurement(name=coded(concept), value=float(value), unit=coded(unit))
        for concept, value, unit in values
        if value is not None
    ]


def _evaluations(row: JsonObject) -> "list[sr.QualitativeEvaluation]":
    from highdicom import sr

    answers: list[tuple[Concept, Concept]] = []
    if row.get("type") is not None:
        answers.append((codes.TYPE, codes.TYPES[row["type"]]))
    if row.get("density") is not None:
        answers.append((codes.DENSITY, codes.DENSITY_VALUES[row["density"]]))
    if row.get("category") is not None:
        answers.append(
            (codes.CATEGORY, Concept(row["category"][:16], codes.CATEGORY.scheme, row["category"]))
        )
    for name, concept in codes.CHARACTERISTIC_CODES.items():
        rating = row.get(name)
        if rating:  # 0: not rated
            answers.append((concept, codes.RATING_CODES[name][rating - 1]))
    return [sr.QualitativeEvaluation(coded(name), coded(value)) for name, value in answers]


SR_CLASSES = (
    "1.2.840.10008.5.1.4.1.1.88.34",
    "1.2.840.10008.5.1.4.1.1.88.33",
    "1.2.840.10008.5.1.4.1.1.88.22",
)
"""Comprehensive 3D SR, Comprehensive SR, Enhanced SR."""


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a submission: a report, or a folder with one or more for each case.

    Groups with the same tracking UID are one mark. Its position is the point coded as centre, else
    the middle of the outlines; outlines and boxes become slices. The score is the Certainty
    of Finding. Points on images (SCOORD) need the images, next to the reports or in the folders
    that the column ``images`` of the cases names; points in the patient (SCOORD3D) do not. The
    case is the series that the report lists as its evidence.
    """
    reports, at_hand, notices = read_reports(path, cases)
    return submission_of_reports(path, reports, at_hand, notices)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Read readings: each report is a session of its observer with one case."""
    reports, at_hand, notices = read_reports(path, cases)
    return readings_of_reports(path, reports, at_hand, notices)


def read_reports(
    path: Path, cases: pl.DataFrame | None
) -> tuple[list[Report], CaseMatcher, list[Notice]]:
    held = list(objects_of(path, *SR_CLASSES))
    if not held:
        raise InputError.at(path, "holds no DICOM measurement report (TID 1500).", "Export one.")
    at_hand = match_cases(path, cases, ct_series_of(data for _, data in held))
    segmentations = _segmentations_near(path, [data for _, data in held])
    read = map_collecting_problems(
        held, partial(_report, at_hand=at_hand, segmentations=segmentations)
    )
    reports, notices = linked(read, at_hand)
    return (
        reports,
        at_hand,
        [*(notice for report in reports for notice in report.notices), *notices],
    )


def _segmentations_near(path: Path, reports: "list[Dataset]") -> dict[str, Path]:
    """Segmentations next to the reports, by UID, if any report lists one as its evidence."""
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


def _report(
    held: "tuple[Path, Dataset]", at_hand: CaseMatcher, segmentations: dict[str, Path]
) -> Report:
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
            f"is not a measurement report (TID 1500): its title is {tree.name or 'missing'}.",
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
    raise_problems(problems)
    known_findings = tuple(filter(None, findings))
    return Report(name, series_uid, observer_of(tree), known_findings, passed_over(name, others))


def _is_known(code: str) -> bool:
    return code in codes.NODULE_KEYS or code in codes.KIND_OF_CODE or code in TYPE_OF_CODE


def _finding(
    groups: list[Item], around: Surroundings, problems: Problems
) -> ReportedFinding | None:
    regions: list[Region] = []
    numbers: dict[str, float] = {}
    labels: dict[str, str | int] = {}
    kind = "nodule"
    for group in groups:
        with collect_problems(problems):
            regions.extend(_regions(group, around))
            numbers |= numbers_of(group)
        labels |= stated_type(group)
        for item in group.named(codes.FINDING):
            kind = codes.KIND_OF_CODE.get(item.code, kind)
    first = groups[0]
    if not regions:
        if not problems:
            problems.add(
                first.where,
                "has no position: neither a point nor an outline.",
                "Export measurements with their coordinates.",
            )
        return None
    return ReportedFinding(
        first.where, first.text_of(codes.TRACKING_ID), tuple(regions), kind, numbers, labels
    )


def _regions(group: Item, around: Surroundings) -> Iterator[Region]:
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
    regions: list[Region] = []
    for reference in items_of(item.data, "ReferencedSOPSequence"):
        uid = text_of(reference, "ReferencedSOPInstanceUID")
        numbers = floats_of(reference, "ReferencedSegmentNumber") or ()
        if uid not in around.segmentations:
            what = f"is a segment of segmentation {uid}, which was not found."
            raise InputError.at(item.where, what, "Put the segmentation next to the report.")
        _, segments = read_segments(around.segmentations[uid])
        held = [segment for segment in segments if segment.number in numbers]
        if not held:
            file = around.segmentations[uid].name
            listed = ", ".join(f"{number:g}" for number in numbers) or "none"
            raise InputError.at(item.where, f"refers to segment {listed}, which {file} lacks.")
        regions.extend(region for segment in held for region in segment.regions)
    return tuple(regions)


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
