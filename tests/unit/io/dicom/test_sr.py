"""DICOM measurement reports: valid for other programs, and the same when they are read again."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.dicom import (
    CHECKED,
    OUTLINE,
    complaints,
    contour,
    grid_of,
    marks_on,
    world,
)
from builders.reports import written
from nodulebench.core.errors import InputError
from nodulebench.core.readings import (
    CHARACTERISTICS,
    FINDING_SLICES,
    FINDINGS,
    SESSIONS,
    Readings,
)
from nodulebench.core.tables import DENSITIES, MARKS, NODULE_TYPES, Submission
from nodulebench.imaging.rasters import voxels_of
from nodulebench.io.dicom.codes import CHARACTERISTIC_CODES, RATING_CODES
from nodulebench.io.dicom.findings import drawn_by_owner
from nodulebench.io.formats import FORMATS, read_submission
from nodulebench.reference.regions import case_geometries, finding_regions, outlines_of

pydicom = pytest.importorskip("pydicom")
sr = pytest.importorskip("highdicom.sr")

FORM = FORMATS["dicom_sr"]


def test_marks_come_back_with_all_that_was_said(cases: pl.DataFrame, tmp_path: Path) -> None:
    before = marks_on(cases)
    after = read_submission(written(before, cases, tmp_path / "sr"), cases)
    assert after.name == "my 算法"
    columns = [
        "mark_id",
        "score",
        "long_mm",
        "short_mm",
        "type",
        "density",
        "malignancy",
        "category",
    ]
    assert after.marks.select(columns).rows() == before.marks.select(columns).rows()
    assert after.marks["diameter_mm"][0] == 7.25
    places = ["x_mm", "y_mm", "z_mm"]
    change = after.marks.select(places).to_numpy() - before.marks.select(places).to_numpy()
    assert np.abs(change).max() < 1e-4
    assert after.slices["slice_index"].to_list() == [4, 5, 6, 5]
    numbers = ["z_mm", "center_x_mm", "center_y_mm", "length_mm", "width_mm"]
    assert after.slices.select(numbers).to_numpy() == pytest.approx(
        before.slices.select(numbers).to_numpy(), abs=1e-3
    )


def test_outlines_come_back_on_the_same_voxels(cases: pl.DataFrame, tmp_path: Path) -> None:
    before = marks_on(cases)
    after = read_submission(written(before, cases, tmp_path / "sr"), cases)
    grid = grid_of(cases)
    old, new = (drawn_by_owner(part.slices, "mark_id") for part in (before, after))
    assert len(old) == 2
    for key, drawn in old.items():
        assert np.array_equal(voxels_of(new[key], grid), voxels_of(drawn, grid))
        corners = [np.concatenate([part.xy_mm for part in held]) for held in (drawn, new[key])]
        assert np.abs(corners[0] - corners[1]).max() < 1e-3


def test_a_box_stays_a_box(axial: pl.DataFrame, tmp_path: Path) -> None:
    before = marks_on(axial, has_contour=False)
    after = read_submission(written(before, axial, tmp_path / "sr"), axial)
    assert after.slices["contour"].null_count() == 4
    assert after.slices["length_mm"].to_list() == pytest.approx([4.9] * 4, abs=1e-4)


def test_the_volume_is_that_of_the_voxels_outlined(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = written(marks_on(axial), axial, tmp_path / "sr" / "one.dcm")
    numbers = {
        item.ConceptNameCodeSequence[0].CodeMeaning: item.MeasuredValueSequence[0]
        for group in pydicom.dcmread(path).ContentSequence[-1].ContentSequence[:1]
        for item in group.ContentSequence
        if item.ValueType == "NUM"
    }
    # the outline holds 7, 6, 6, 6, 5, 4, 3 and 1 pixel centres of rows 17 to 24, on three slices
    assert numbers["Volume"].FloatingPointValue == pytest.approx(3 * 38 * 0.7 * 0.8 * 1.8)
    assert numbers["Volume"].MeasurementUnitsCodeSequence[0].CodeValue == "mm3"


@CHECKED
@pytest.mark.parametrize("has_contour", [True, False])
def test_other_programs_find_nothing_wrong(
    cases: pl.DataFrame, tmp_path: Path, checker: str, has_contour: bool
) -> None:
    path = written(marks_on(cases, has_contour=has_contour), cases, tmp_path / "one.dcm")
    assert complaints(checker, path) == []


@CHECKED
def test_a_report_without_findings_is_valid_and_says_so(
    axial: pl.DataFrame, tmp_path: Path, checker: str
) -> None:
    path = written(Submission("a", MARKS.empty()), axial, tmp_path / "one.dcm")
    assert complaints(checker, path) == []
    content = pydicom.dcmread(path).ContentSequence[-1].ContentSequence[0]
    assert content.ConceptNameCodeSequence[0].CodeMeaning == "Nodule of lung"
    assert content.ConceptCodeSequence[0].CodeMeaning == "Absent"


def test_a_patient_whose_name_has_one_part_is_no_obstacle(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    for file in (tmp_path / "ct").iterdir():
        data = pydicom.dcmread(file)
        data.PatientName = "LIDC-IDRI-0001"
        del data.StudyTime
        data.save_as(file)
    path = written(marks_on(axial), axial, tmp_path / "one.dcm")
    assert pydicom.dcmread(path).PatientName == "LIDC-IDRI-0001"


@pytest.mark.parametrize("name", ["dicom_sr", "dicom_seg"])
def test_names_in_any_script_next_to_images_in_latin_letters(
    axial: pl.DataFrame, tmp_path: Path, name: str
) -> None:
    for file in (tmp_path / "ct").iterdir():
        data = pydicom.dcmread(file)
        data.SpecificCharacterSet = "ISO_IR 100"
        data.PatientName = "Müller^Jörg"
        data.save_as(file)
    path = tmp_path / "one.dcm"
    FORMATS[name].write_marks(marks_on(axial), path, axial)
    assert read_submission(path, axial).name == "my 算法"
    data = pydicom.dcmread(path)
    assert data.SpecificCharacterSet == "ISO_IR 192"
    assert data.PatientName == "Müller^Jörg"


def test_only_images_with_findings_are_evidence(axial: pl.DataFrame, tmp_path: Path) -> None:
    data = pydicom.dcmread(written(marks_on(axial), axial, tmp_path / "one.dcm"))
    (study,) = data.CurrentRequestedProcedureEvidenceSequence
    (series,) = study.ReferencedSeriesSequence
    assert series.SeriesInstanceUID == axial["case_id"][0]
    assert len(series.ReferencedSOPSequence) == 3


def readings_on(cases: pl.DataFrame) -> Readings:
    """One reader with every kind of finding and outline, one who found nothing."""
    grid, case_id = grid_of(cases), cases["case_id"][0]
    x, y, z = grid.to_world(np.array([[30.0, 30.0, 8.0]]))[0].tolist()
    ratings = [dict(zip(CHARACTERISTICS, (1, 2, 3, 4, 5, 1, 2, 3, 4), strict=True))]
    ratings += [dict.fromkeys(CHARACTERISTICS, 4), dict.fromkeys(CHARACTERISTICS)]
    key = {"case_id": case_id, "reader_id": "Bo^Li"}
    findings = [
        key | {"finding_id": "f1", "kind": "nodule", **ratings[0]},
        key | {"finding_id": "f2", "kind": "nodule", "type": "pleural", **ratings[1]},
        key | {"finding_id": "f3", "kind": "small_nodule", "x_mm": x, "y_mm": y, "z_mm": z},
        key | {"finding_id": "f4", "kind": "non_nodule", "x_mm": x + 3, "y_mm": y, "z_mm": z},
    ]
    rim = [(i, j) for i in range(10, 19) for j in range(10, 19) if {i, j} & {10, 18}]
    hole = [(i, j) for i in range(13, 16) for j in range(13, 16) if (i, j) != (14, 14)]
    inner = ((19.5, 18.5), (21.5, 18.5), (21.5, 20.5), (19.5, 20.5))
    outlines = [
        ("f1", 4, OUTLINE, "boundary", False),
        ("f1", 4, inner, "boundary", True),
        ("f1", 5, OUTLINE, "boundary", False),
        ("f2", 6, rim, "outside_pixels", False),
        ("f2", 6, hole, "outside_pixels", True),
        ("f2", 7, [(30, 30)], "outside_pixels", False),
    ]
    count: dict[tuple[str, int], int] = {}
    slices = []
    for name, k, pixels, convention, is_hole in outlines:
        points = world(grid, pixels, k)
        slices.append(
            {
                "case_id": case_id,
                "finding_id": name,
                "slice_index": k,
                "outline_index": count.setdefault((name, k), 0),
                "z_mm": float((points[:, 2].min() + points[:, 2].max()) / 2),
                "is_hole": is_hole,
                "convention": convention,
                "contour": contour(points),
            }
        )
        count[name, k] += 1
    sessions = [{"case_id": case_id, "reader_id": reader} for reader in ("Bo^Li", "2")]
    return Readings(
        "test",
        cases,
        SESSIONS.conform(pl.DataFrame(sessions), "sessions"),
        FINDINGS.conform(pl.DataFrame(findings, infer_schema_length=None), "findings"),
        FINDING_SLICES.conform(pl.DataFrame(slices), "slices"),
    )


def test_readings_come_back_with_ratings_kinds_and_sessions(
    cases: pl.DataFrame, tmp_path: Path
) -> None:
    before = readings_on(cases)
    FORM.write_readings(before, tmp_path / "sr", cases)
    after = FORM.read_readings(tmp_path / "sr", cases)
    assert sorted(after.sessions["reader_id"]) == ["2", "Bo^Li"]
    columns = ["finding_id", "reader_id", "kind", "type", *CHARACTERISTICS]
    assert after.findings.select(columns).rows() == before.findings.select(columns).rows()
    places = after.findings.select("x_mm", "y_mm", "z_mm")
    old = before.findings.select("x_mm", "y_mm", "z_mm")
    assert places[:2].null_count().row(0) == (2, 2, 2)
    assert np.abs(places[2:].to_numpy() - old[2:].to_numpy()).max() < 1e-4
    keys = ["finding_id", "slice_index", "outline_index"]
    order = [table.sort(*keys[:2], "is_hole") for table in (before.slices, after.slices)]
    for column in ("finding_id", "slice_index", "is_hole", "convention"):
        assert order[1][column].to_list() == order[0][column].to_list()


def test_readings_hold_the_voxels_that_the_reference_counts(
    cases: pl.DataFrame, tmp_path: Path
) -> None:
    before = readings_on(cases)
    FORM.write_readings(before, tmp_path / "sr", cases)
    after = FORM.read_readings(tmp_path / "sr", cases)
    result = []
    for state in (before, after):
        places = case_geometries(state.cases)
        regions = finding_regions(state, outlines_of(state, places), places)
        names = enumerate(state.findings["finding_id"])
        result.append({name: regions.of(row).tolist() for row, name in names})
    assert result[0] == result[1]
    assert len(result[0]["f2"]) == 7 * 7 - 9
    drawn = drawn_by_owner(before.slices, "finding_id")
    grid = grid_of(cases)
    for (_, name), outlines in drawn.items():
        assert sorted(voxels_of(outlines, grid).tolist()) == sorted(result[0][name])


@CHECKED
def test_other_programs_find_nothing_wrong_with_readings(
    axial: pl.DataFrame, tmp_path: Path, checker: str
) -> None:
    FORM.write_readings(readings_on(axial), tmp_path / "sr", axial)
    files = sorted((tmp_path / "sr").iterdir())
    assert [complaints(checker, file) for file in files] == [[], []]


def test_every_rating_has_a_code_of_its_own() -> None:
    assert list(CHARACTERISTIC_CODES) == list(CHARACTERISTICS)
    lengths = {name: len({code.key for code in codes}) for name, codes in RATING_CODES.items()}
    assert lengths == dict.fromkeys(CHARACTERISTICS, 5) | {
        "internal_structure": 4,
        "calcification": 6,
    }


@pytest.mark.parametrize(("column", "values"), [("type", NODULE_TYPES), ("density", DENSITIES)])
def test_every_type_and_density_comes_back(
    axial: pl.DataFrame, tmp_path: Path, column: str, values: tuple[str, ...]
) -> None:
    marks = marks_on(axial).marks[:1]
    many = pl.concat(
        marks.with_columns(mark_id=pl.lit(value), **{column: pl.lit(value)}) for value in values
    )
    after = read_submission(written(Submission("a", many), axial, tmp_path / "sr"), axial)
    assert after.marks[column].to_list() == list(values)


def test_readings_with_outlines_need_the_slices(axial: pl.DataFrame, tmp_path: Path) -> None:
    FORM.write_readings(readings_on(axial), tmp_path / "sr", axial)
    with pytest.raises(InputError, match="has outlines, and the slices of case '2"):
        FORM.read_readings(tmp_path / "sr", None)


def test_a_name_that_dicom_cannot_write_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    readings = readings_on(axial)
    sessions = readings.sessions.with_columns(reader_id=pl.lit("a=b"))[:1]
    with pytest.raises(InputError, match="reader 'a=b': cannot be a person's name in DICOM"):
        FORM.write_readings(
            Readings("x", axial, sessions, FINDINGS.empty(), FINDING_SLICES.empty()),
            tmp_path / "sr",
            axial,
        )
