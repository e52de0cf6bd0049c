"""Measurement reports that refer to segments, as the published DICOM version of LIDC-IDRI does."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.dicom import CHECKED, complaints, grid_of, marks_on
from nodulebench.core.errors import InputError
from nodulebench.imaging.rasters import voxels_of
from nodulebench.io.dicom.codes import CHARACTERISTIC_CODES, RATING_CODES, Concept
from nodulebench.io.dicom.findings import drawn_by_owner
from nodulebench.io.dicom.volumes import images_of_cases
from nodulebench.io.formats import FORMATS, read_submission

pydicom = pytest.importorskip("pydicom")
sr = pytest.importorskip("highdicom.sr")


def coded(concept: Concept) -> Any:
    return sr.CodedConcept(concept.value, concept.scheme, concept.meaning)


def write_pair(folder: Path, cases: pl.DataFrame, segment: int = 1) -> Path:
    """A segmentation of two nodules, and beside it a report that rates one of its segments."""
    marks = marks_on(cases)
    FORMATS["dicom_seg"].write_marks(marks, folder / "seg.dcm", cases)
    mask = pydicom.dcmread(folder / "seg.dcm")
    (series,) = images_of_cases(cases).values()
    codes = pydicom.sr.codedict.codes
    place = sr.ReferencedSegment(
        sop_class_uid=mask.SOPClassUID,
        sop_instance_uid=mask.SOPInstanceUID,
        segment_number=segment,
        source_series=sr.SourceSeriesForSegmentation.from_source_image(series.images[0]),
    )
    group = sr.VolumetricROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(uid="1.2.3", identifier="Nodule 1"),
        referenced_segment=place,
        finding_type=codes.SCT.Nodule,
        measurements=[sr.Measurement(codes.SCT.Diameter, 6.5, codes.UCUM.Millimeter)],
        qualitative_evaluations=[
            sr.QualitativeEvaluation(
                coded(CHARACTERISTIC_CODES["texture"]), coded(RATING_CODES["texture"][4])
            )
        ],
    )
    person = sr.PersonObserverIdentifyingAttributes(name="observer^anonymous")
    context = sr.ObserverContext(codes.DCM.Person, person)
    content = sr.MeasurementReport(
        sr.ObservationContext(observer_person_context=context),
        codes.LN.CTUnspecifiedBodyRegion,
        [group],
    )
    report = sr.Comprehensive3DSR(
        evidence=[*series.images, mask],
        content=content[0],
        series_instance_uid="1.2.3",
        series_number=1,
        sop_instance_uid="1.2.3.4",
        instance_number=1,
        manufacturer="Other",
    )
    report.save_as(folder / "sr.dcm", enforce_file_format=True)
    return folder / "sr.dcm"


def test_the_segment_gives_the_outlines(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = write_pair(tmp_path, axial)
    submission = read_submission(path, axial)
    assert submission.marks.select("mark_id", "diameter_mm").rows() == [("Nodule 1", 6.5)]
    assert submission.slices["slice_index"].to_list() == [4, 5, 6]
    old = drawn_by_owner(marks_on(axial).slices, "mark_id")
    new = drawn_by_owner(submission.slices, "mark_id")
    case_id, grid = axial["case_id"][0], grid_of(axial)
    first, second = old[case_id, "whole"], new[case_id, "Nodule 1"]
    assert sorted(voxels_of(first, grid).tolist()) == sorted(voxels_of(second, grid).tolist())


def test_ratings_are_read_as_published(axial: pl.DataFrame, tmp_path: Path) -> None:
    readings = FORMATS["dicom_sr"].read_readings(write_pair(tmp_path, axial), axial)
    assert readings.findings.select("reader_id", "texture", "diameter_mm").rows() == [
        ("observer^anonymous", 5, 6.5)
    ]
    assert readings.slices.height == 3


@CHECKED
def test_the_report_of_these_tests_is_valid(
    axial: pl.DataFrame, tmp_path: Path, checker: str
) -> None:
    assert complaints(checker, write_pair(tmp_path, axial)) == []


def test_a_segmentation_that_is_not_at_hand_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = write_pair(tmp_path, axial)
    (tmp_path / "seg.dcm").unlink()
    with pytest.raises(InputError, match=r"is a segment of segmentation .*, which was not found"):
        read_submission(path, axial)


def test_a_segment_that_does_not_exist_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = write_pair(tmp_path, axial, segment=7)
    with pytest.raises(InputError, match=r"refers to segment 7, which seg\.dcm lacks"):
        read_submission(path, axial)
