"""Measurement reports as other programs write them, damaged ones, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.dicom import (
    as_enhanced,
    grid_of,
    image_headers,
    marks_on,
    world,
    write_series,
)
from builders.reports import messages_of, written
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.tables import MARKS, Submission
from nodulebench.io.dicom.volumes import images_of_cases
from nodulebench.io.formats import FORMATS, fitting, read_cases, read_submission

pydicom = pytest.importorskip("pydicom")
sr = pytest.importorskip("highdicom.sr")

FORM = FORMATS["dicom_sr"]


def changed(path: Path, change: Any) -> Path:
    """The only report of a folder, changed."""
    (file,) = path.iterdir()
    data = pydicom.dcmread(file)
    change(data)
    data.save_as(file)
    return path


def groups_of(data: Any) -> Any:
    return data.ContentSequence[-1].ContentSequence


def regions_of(data: Any) -> list[Any]:
    return [
        item
        for group in groups_of(data)
        for item in group.ContentSequence
        if item.ValueType == "SCOORD3D"
    ]


def foreign(path: Path, cases: pl.DataFrame, *groups: Any) -> Path:
    """A report with groups as another program writes them."""
    (series,) = images_of_cases(cases).values()
    person = sr.PersonObserverIdentifyingAttributes(name="Doe^Jo")
    context = sr.ObserverContext(pydicom.sr.codedict.codes.DCM.Person, person)
    content = sr.MeasurementReport(
        observation_context=sr.ObservationContext(observer_person_context=context),
        procedure_reported=pydicom.sr.codedict.codes.LN.CTUnspecifiedBodyRegion,
        imaging_measurements=groups,
    )
    data = sr.Comprehensive3DSR(
        evidence=series.images,
        content=content[0],
        series_instance_uid="1.2.3",
        series_number=1,
        sop_instance_uid="1.2.3.4",
        instance_number=1,
        manufacturer="Other",
    )
    data.save_as(path, enforce_file_format=True)
    return path


def on_image(cases: pl.DataFrame, k: int) -> Any:
    (series,) = images_of_cases(cases).values()
    return sr.SourceImageForRegion.from_source_image(series.images[k])


def planar(cases: pl.DataFrame, graphic: str, pixels: Any, k: int, name: str, **more: Any) -> Any:
    place = sr.ImageRegion(graphic, np.array(pixels, dtype=np.float64), on_image(cases, k))
    return sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(identifier=name), referenced_region=place, **more
    )


@pytest.mark.parametrize(
    ("graphic", "pixels", "center", "diameter"),
    [
        ("POINT", [[20.5, 10.5]], (20.0, 10.0), None),
        ("POLYLINE", [[18, 9], [23, 9], [23, 12], [18, 12], [18, 9]], (20.0, 10.0), 2.95),
        ("CIRCLE", [[20.5, 10.5], [23.5, 10.5]], (20.0, 10.0), 4.2),
        ("ELLIPSE", [[17.5, 10.5], [23.5, 10.5], [20.5, 8.5], [20.5, 12.5]], (20.0, 10.0), 3.7),
    ],
)
def test_points_on_an_image_count_from_the_corner_of_its_first_pixel(
    cases: pl.DataFrame, tmp_path: Path, graphic: str, pixels: Any, center: Any, diameter: Any
) -> None:
    # pixel centres lie at (0.5, 0.5), so column 20.5 is voxel 20
    path = foreign(tmp_path / "sr.dcm", cases, planar(cases, graphic, pixels, 7, "n"))
    submission = read_submission(path, cases)
    (x, y, z) = submission.marks.select("x_mm", "y_mm", "z_mm").row(0)
    assert (x, y, z) == pytest.approx(world(grid_of(cases), [center], 7)[0], abs=1e-4)
    if diameter is not None and abs(grid_of(cases).direction[0, 0]) == 1:
        assert submission.marks["diameter_mm"][0] == pytest.approx(diameter, abs=0.02)
    assert (submission.slices is None) == (graphic == "POINT")
    if submission.slices is not None:
        assert submission.slices["slice_index"].to_list() == [7]


def test_images_next_to_the_report_are_found(axial: pl.DataFrame, tmp_path: Path) -> None:
    foreign(tmp_path / "ct" / "sr.dcm", axial, planar(axial, "POINT", [[20.5, 10.5]], 7, "n"))
    assert read_submission(tmp_path / "ct").marks.height == 1
    assert fitting(tmp_path / "ct" / "sr.dcm", "marks").name == "dicom_sr"


def test_a_damaged_file_next_to_the_report_is_passed_over(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    foreign(tmp_path / "ct" / "sr.dcm", axial, planar(axial, "POINT", [[20.5, 10.5]], 7, "n"))
    whole = (tmp_path / "ct" / "0001.dcm").read_bytes()
    (tmp_path / "ct" / "other.dcm").write_bytes(whole[:400])
    assert read_submission(tmp_path / "ct" / "sr.dcm").marks.height == 1


def test_rulers_tell_the_place_where_nothing_else_does(axial: pl.DataFrame, tmp_path: Path) -> None:
    codes = pydicom.sr.codedict.codes
    ruler = sr.CoordinatesForMeasurement(
        "POLYLINE", np.array([[10.5, 10.5], [20.5, 10.5]]), on_image(axial, 3)
    )
    length = sr.Measurement(
        codes.SCT.LongAxis, 7.0, codes.UCUM.Millimeter, referenced_coordinates=[ruler]
    )
    group = sr.MeasurementsAndQualitativeEvaluations(
        sr.TrackingIdentifier(identifier="ruler"), measurements=[length]
    )
    submission = read_submission(foreign(tmp_path / "sr.dcm", axial, group), axial)
    assert submission.marks["long_mm"].to_list() == [7.0]
    middle = submission.marks.select("x_mm", "y_mm", "z_mm").row(0)
    assert middle == pytest.approx(world(grid_of(axial), [(15, 10)], 3)[0], abs=1e-4)
    assert submission.slices is None


def test_boxes_of_their_own_on_adjacent_slices_are_linked(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    bounded = pydicom.sr.codedict.codes.SCT.BoundedBy
    square = [[18, 9], [23, 9], [23, 12], [18, 12], [18, 9]]
    far = [[35, 30], [38, 30], [38, 33], [35, 33], [35, 30]]
    groups = [
        planar(axial, "POLYLINE", square, k, str(k), geometric_purpose=bounded) for k in (3, 4, 5)
    ]
    groups.append(planar(axial, "POLYLINE", far, 4, "far", geometric_purpose=bounded))
    submission = read_submission(foreign(tmp_path / "sr.dcm", axial, *groups), axial)
    assert submission.marks["mark_id"].to_list() == ["3", "far"]
    assert submission.slices.group_by("mark_id", maintain_order=True).len()["len"].to_list() == [
        3,
        1,
    ]
    assert sentences(submission.notices) == (
        "sr.dcm: 4 boxes were linked into 2 findings (on adjacent slices, the centre of one box "
        "inside the other, nearest first).",
    )


def test_findings_that_are_not_nodules_are_passed_over(axial: pl.DataFrame, tmp_path: Path) -> None:
    node = pydicom.sr.codedict.codes.SCT.LymphNode
    lesion = pydicom.sr.codedict.codes.SCT.Lesion
    groups = [
        planar(axial, "POINT", [[9, 9]], 1, "a", finding_type=node),
        planar(axial, "POINT", [[9, 9]], 2, "b", finding_type=lesion),
    ]
    submission = read_submission(foreign(tmp_path / "sr.dcm", axial, *groups), axial)
    assert submission.marks["mark_id"].to_list() == ["b"]
    assert sentences(submission.notices) == (
        "sr.dcm: findings other than nodules were skipped: 1 Lymph Node.",
    )


def test_percent_and_centimetres_are_understood(axial: pl.DataFrame, tmp_path: Path) -> None:
    codes = pydicom.sr.codedict.codes
    numbers = [
        sr.Measurement(codes.DCM.CertaintyOfFinding, 85.0, codes.UCUM.Percent),
        sr.Measurement(codes.SCT.Diameter, 1.25, codes.UCUM.Centimeter),
    ]
    group = planar(axial, "POINT", [[9, 9]], 1, "a", measurements=numbers)
    submission = read_submission(foreign(tmp_path / "sr.dcm", axial, group), axial)
    assert submission.marks.select("score", "diameter_mm").row(0) == pytest.approx((0.85, 12.5))


def test_ids_that_stand_twice_in_a_case_are_numbered(axial: pl.DataFrame, tmp_path: Path) -> None:
    for name, k in (("one", 1), ("two", 2)):
        (tmp_path / "sr").mkdir(exist_ok=True)
        foreign(tmp_path / "sr" / f"{name}.dcm", axial, planar(axial, "POINT", [[9, 9]], k, "1"))
    submission = read_submission(tmp_path / "sr", axial)
    assert submission.marks["mark_id"].to_list() == ["Doe^Jo-1", "Doe^Jo-2"]


def test_another_kind_of_object_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "ct" / "0001.dcm"
    assert messages_of(path, axial) == [
        f"{path}: is CT Image Storage, not Comprehensive 3D SR Storage or Comprehensive SR Storage "
        "or Enhanced SR Storage. Is it the right file?"
    ]


def test_a_folder_without_reports_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    assert messages_of(tmp_path / "ct", axial) == [
        f"{tmp_path / 'ct'}: holds no DICOM measurement report (TID 1500). Export one."
    ]


def test_no_dicom_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.dcm"
    path.write_text("hello")
    assert messages_of(path) == [f"{path}: is not a DICOM file. Export it as DICOM Part 10."]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_file_that_ends_early_is_refused(
    axial: pl.DataFrame, tmp_path: Path, share: float
) -> None:
    path = written(marks_on(axial), axial, tmp_path / "one.dcm")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    (problem,) = messages_of(path, axial)
    assert problem == (
        f"{path}: is damaged: the file ends before its content does. Copy or export it again."
    )


def test_a_report_without_content_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def emptied(data: Any) -> None:
        data.ContentSequence = []

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), emptied)
    assert messages_of(path, axial) == [
        f"{axial['case_id'][0]}.dcm: has no content: its tree is empty. Export the report again."
    ]


def test_a_report_that_names_no_series_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def without_evidence(data: Any) -> None:
        del data.CurrentRequestedProcedureEvidenceSequence

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), without_evidence)
    assert messages_of(path, axial) == [
        f"{axial['case_id'][0]}.dcm: refers to no CT series: its evidence lists no CT image. "
        "Without it the case is unknown; export the report again."
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_coordinates_that_are_not_place_are_refused(
    axial: pl.DataFrame, tmp_path: Path, value: float
) -> None:
    def bent(data: Any) -> None:
        regions_of(data)[0].GraphicData = [1.0, value, 3.0]

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), bent)
    (problem,) = messages_of(path, axial)
    assert "item 1.6.1." in problem
    assert f"has coordinates that are not a position: 1, {np.float32(value):g}, 3." in problem


def test_too_few_numbers_are_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def bent(data: Any) -> None:
        regions_of(data)[0].GraphicData = [1.0, 2.0]

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), bent)
    (problem,) = messages_of(path, axial)
    assert "has 2 numbers for a POINT of 3-D points. Export the report again." in problem


def test_coordinates_of_another_frame_of_reference_are_refused(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    def moved(data: Any) -> None:
        for item in regions_of(data):
            item.ReferencedFrameOfReferenceUID = "1.2.3"

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), moved)
    problems = messages_of(path, axial)
    assert len(problems) == 5
    assert "is in the coordinates of frame of reference 1.2.3; the images have 2.25." in problems[0]
    assert problems[0].endswith("Is it a report of another series?")


def test_points_on_images_that_are_not_at_hand_are_refused(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "sr").mkdir()
    path = tmp_path / "sr" / "sr.dcm"
    foreign(path, axial, planar(axial, "POINT", [[9, 9]], 1, "a"))
    other = write_series(tmp_path / "other", "other series")
    (problem,) = messages_of(path, read_cases(tmp_path / "other"))
    assert f"of series {axial['case_id'][0]}, which was not found " in problem
    assert f"(series found: {other})" in problem
    assert "Put the images next to the report, or give their folder as cases." in problem
    (problem,) = messages_of(path)
    assert "(series found: none)" in problem


def test_a_place_on_no_image_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "sr").mkdir()
    foreign(tmp_path / "sr" / "sr.dcm", axial, planar(axial, "POINT", [[9, 9]], 1, "a"))

    def cut(data: Any) -> None:
        del groups_of(data)[0].ContentSequence[-1].ContentSequence

    (problem,) = messages_of(changed(tmp_path / "sr", cut), axial)
    assert "has pixel coordinates, but refers to no image." in problem


def test_an_outline_across_slices_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def tilted(data: Any) -> None:
        item = regions_of(data)[1]
        item.GraphicData = [*list(item.GraphicData)[:5], 704.9, *list(item.GraphicData)[6:]]

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), tilted)
    (problem,) = messages_of(path, axial)
    assert "its corners lie on slices 4.0 to 5.6, not on one." in problem


def test_an_outline_beyond_the_series_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def lifted(data: Any) -> None:
        item = regions_of(data)[1]
        points = np.array(item.GraphicData).reshape(-1, 3) + np.array([0, 0, 100])
        item.GraphicData = points.ravel().tolist()

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), lifted)
    (problem,) = messages_of(path, axial)
    assert "is on slice 60, which the series does not have." in problem


def test_a_finding_without_a_place_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    codes = pydicom.sr.codedict.codes
    number = sr.Measurement(codes.SCT.Diameter, 7.0, codes.UCUM.Millimeter)
    group = sr.MeasurementsAndQualitativeEvaluations(
        sr.TrackingIdentifier(identifier="n"), measurements=[number]
    )
    (problem,) = messages_of(foreign(tmp_path / "sr.dcm", axial, group), axial)
    assert problem.endswith(
        "has no position: neither a point nor an outline. Export measurements with their "
        "coordinates."
    )


def test_a_unit_that_is_not_known_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    codes = pydicom.sr.codedict.codes
    number = sr.Measurement(codes.SCT.Diameter, 7.0, codes.UCUM.Percent)
    group = planar(axial, "POINT", [[9, 9]], 1, "a", measurements=[number])
    (problem,) = messages_of(foreign(tmp_path / "sr.dcm", axial, group), axial)
    assert "diameter_mm is 7 %, which cannot be converted. Known units: mm, cm, um, m." in problem


def test_a_measured_value_without_its_number_is_refused(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    codes = pydicom.sr.codedict.codes
    number = sr.Measurement(codes.SCT.Diameter, 7.0, codes.UCUM.Millimeter)
    group = planar(axial, "POINT", [[9, 9]], 1, "a", measurements=[number])
    path = foreign(tmp_path / "sr.dcm", axial, group)
    data = pydicom.dcmread(path)

    def empty(_: Any, element: Any) -> None:
        if element.keyword in ("NumericValue", "FloatingPointValue"):
            element.value = None

    data.walk(empty)
    data.save_as(path)
    (problem,) = messages_of(path, axial)
    assert "diameter_mm is nan mm, which cannot be converted." in problem


def test_points_on_a_frame_of_an_enhanced_image_are_where_the_frame_lies(tmp_path: Path) -> None:
    write_series(tmp_path / "files")
    folder = as_enhanced(tmp_path / "files", tmp_path / "ct", list(reversed(range(12))))
    cases = read_cases(folder)
    (series,) = images_of_cases(cases).values()
    (image,) = series.images
    source = sr.SourceImageForRegion(image.SOPClassUID, image.SOPInstanceUID, [3])
    group = sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(identifier="a"),
        referenced_region=sr.ImageRegion("POINT", np.array([[9.5, 9.5]]), source),
    )
    path = foreign(tmp_path / "sr.dcm", cases, group)
    marks = read_submission(path, cases, "dicom_sr").marks
    # frame 3 of 12 from the head is slice 9 from the feet
    expected = series.geometry.to_world(np.array([[9.0, 9.0, 9.0]]))
    assert np.allclose(marks.select("x_mm", "y_mm", "z_mm").to_numpy(), expected)
    with pytest.raises(InputError, match="many frames in one file"):
        FORMATS["dicom_sr"].write_marks(
            read_submission(path, cases, "dicom_sr"), tmp_path / "out.dcm", cases
        )


def test_reports_of_two_algorithms_are_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(Submission(name, marks_on(axial).marks), axial, tmp_path / "sr" / f"{name}.dcm")
    assert messages_of(tmp_path / "sr", axial) == [
        f"{tmp_path / 'sr'}: holds reports of 2 observers: one, two. Put the reports of each "
        "algorithm into a separate folder."
    ]


def test_another_report_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    def renamed(data: Any) -> None:
        data.ConceptNameCodeSequence[0].CodeValue = "111036"
        del data.ContentSequence[-1]

    path = changed(written(marks_on(axial), axial, tmp_path / "sr"), renamed)
    (problem,) = messages_of(path, axial)
    assert "is not a measurement report (TID 1500): its title is DCM:111036." in problem


def test_without_geometry_there_are_marks_but_no_slices(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    path = written(marks_on(axial), axial, tmp_path / "sr")
    submission = read_submission(path, None)
    assert submission.marks["case_id"].unique().to_list() == axial["case_id"].to_list()
    assert submission.slices is None
    assert sentences(submission.notices) == (
        "The geometry of 1 case is not known, so its outlines are not assigned to slices. Rules "
        "that work on slices cannot be used. Give the folder of the images as cases.",
    )


@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_written_without_images(
    axial: pl.DataFrame, tmp_path: Path, known: bool
) -> None:
    with pytest.raises(InputError) as caught:
        FORM.write_marks(marks_on(axial), tmp_path / "sr", axial.drop("images") if known else None)
    assert str(caught.value) == (
        f"case '{axial['case_id'][0]}': has no images, but a DICOM report must refer to its "
        "images. Give the folder of the DICOM series as cases, or a table of cases whose column "
        "'images' names the folder of each."
    )
    assert not (tmp_path / "sr").exists()


def test_several_cases_do_not_go_into_one_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_series(tmp_path / "ct" / name, name)
    with pytest.raises(InputError, match="is one file, and there are 2 objects to write"):
        FORM.write_marks(
            Submission("a", MARKS.empty()), tmp_path / "x.dcm", read_cases(tmp_path / "ct")
        )


def test_upright_slices_are_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    upright = axial.with_columns(direction=pl.lit("1 0 0 0 0 -1 0 1 0")).drop("images")
    located = image_headers(upright, tmp_path)
    with pytest.raises(InputError, match="its slices are coronal or sagittal"):
        FORM.write_marks(Submission("a", MARKS.empty()), tmp_path / "sr", located)
