"""Real DICOM: a published report with boxes, and LIDC-IDRI-0001 sent out and read again.

The boxes of NLST-101287 were taken from the report by another program, in pixels and, counting
pixel centres as whole numbers, in millimetres. DICOM counts from the corner of the first pixel
(PS3.3 C.18.6.1.2), so its millimetres lie half a pixel (0.27 mm) lower than that list has them.
"""

import csv
import shutil
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.dicom import CHECKED, complaints, needs
from builders.words import sentences
from conftest import TEST_DATA
from nodulebench.core.readings import CHARACTERISTICS, Readings
from nodulebench.imaging.geometry import geometries
from nodulebench.imaging.rasters import voxels_of
from nodulebench.io.dicom.findings import drawn_by_owner
from nodulebench.io.formats import FORMATS, read_cases, read_submission
from nodulebench.io.readings import read_readings
from nodulebench.reference.build import build_reference

pytest.importorskip("pydicom")
pytest.importorskip("highdicom")

PIXEL_MM = 0.54
LIDC_READING = "tcia-lidc-xml/185/069.xml"


def unpacked(name: str, folder: Path) -> Path:
    archive = TEST_DATA / "ct" / f"{name}.zip"
    if not archive.is_file():
        pytest.skip(f"no CT scans at {archive.parent}; set NODULEBENCH_TEST_DATA")
    shutil.unpack_archive(archive, folder)
    return folder / name


@pytest.fixture(scope="module")
def nlst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("NLST-101287", tmp_path_factory.mktemp("nlst"))


@pytest.fixture(scope="module")
def lidc(tmp_path_factory: pytest.TempPathFactory) -> tuple[Readings, pl.DataFrame]:
    """What four readers drew in LIDC-IDRI-0001, and the case with its images."""
    folder = tmp_path_factory.mktemp("lidc")
    cases = read_cases(unpacked("LIDC-IDRI-0001", folder))
    archive = TEST_DATA / "lidc" / "lidc-idri-xml.tar.xz"
    if not archive.is_file():
        pytest.skip(f"no LIDC-IDRI readings at {archive}; set NODULEBENCH_TEST_DATA")
    with tarfile.open(archive) as held:
        member = next(member for member in held if member.name.endswith(LIDC_READING))
        content = held.extractfile(member)
        assert content is not None
        (folder / "reading.xml").write_bytes(content.read())
    from nodulebench.io.lidc_readings import pixel_readings
    from nodulebench.io.lidc_xml import read_lidc_files

    files = read_lidc_files(folder / "reading.xml")
    return pixel_readings("lidc", files.readings, cases), cases


def test_boxes_of_a_published_report_lie_where_another_program_found_them(nlst: Path) -> None:
    with (TEST_DATA / "ct" / "NLST-101287_boxes.csv").open() as file:
        listed = sorted(csv.DictReader(file), key=lambda row: float(row["Z"]))
    submission = read_submission(nlst)
    assert submission.marks["case_id"].to_list() == [listed[0]["seriesuid"]]
    slices = submission.slices.sort("slice_index")
    assert slices.height == len(listed) == 8
    for row, other in zip(slices.iter_rows(named=True), listed, strict=True):
        half = (row["length_mm"] / 2, row["width_mm"] / 2)
        edges = (
            row["center_x_mm"] - half[0],
            row["center_y_mm"] - half[1],
            row["center_x_mm"] + half[0],
            row["center_y_mm"] + half[1],
        )
        theirs = [float(other[name]) - PIXEL_MM / 2 for name in ("minX", "minY", "maxX", "maxY")]
        assert edges == pytest.approx(theirs, abs=0.0051)
        assert row["z_mm"] == float(other["Z"])
        low, high = (
            [float(other[f"{end}_{axis}"]) for axis in ("col", "row")] for end in ("min", "max")
        )
        size = [high[0] - low[0], high[1] - low[1]]
        assert [2 * part / PIXEL_MM for part in half] == pytest.approx(size, abs=0.011)


def test_boxes_on_neighbouring_slices_are_one_mark(nlst: Path) -> None:
    submission = read_submission(nlst / "SR_bounding_boxes.dcm")
    assert submission.name == "Anonymous^Reader"
    assert submission.marks.height == 1
    assert submission.marks["z_mm"].to_list() == [1181.0]
    assert "8 boxes were linked into 1 findings" in sentences(submission.notices)[0]


def test_lidc_readings_come_back_from_reports(
    lidc: tuple[Readings, pl.DataFrame], tmp_path: Path
) -> None:
    before, cases = lidc
    FORMATS["dicom_sr"].write_readings(before, tmp_path / "sr", cases)
    after = read_readings(tmp_path / "sr", cases=_table(cases, tmp_path))
    assert before.findings.height == 26
    columns = ["finding_id", "reader_id", "kind", *CHARACTERISTICS]
    sort = ["reader_id", "finding_id"]
    old, new = (readings.findings.sort(sort) for readings in (before, after))
    assert new.select(columns).rows() == old.select(columns).rows()
    places = [
        findings.select("x_mm", "y_mm", "z_mm").drop_nulls().to_numpy() for findings in (old, new)
    ]
    assert len(places[0]) == 22
    assert np.abs(places[0] - places[1]).max() < 0.01
    keys = ["finding_id", "slice_index", "outline_index"]
    outlines = [readings.slices.sort(keys) for readings in (before, after)]
    assert (
        outlines[1]
        .select(*keys, "is_hole", "convention")
        .equals(outlines[0].select(*keys, "is_hole", "convention"))
    )
    for contours in zip(*(outline["contour"] for outline in outlines), strict=True):
        corners = [
            np.array([corner.split() for corner in text.split(";")], dtype=float)
            for text in contours
        ]
        assert corners[0].shape == corners[1].shape
        assert np.abs(corners[0] - corners[1]).max() < 0.01


def test_lidc_masks_come_back_from_segmentations(
    lidc: tuple[Readings, pl.DataFrame], tmp_path: Path
) -> None:
    before, cases = lidc
    FORMATS["dicom_seg"].write_readings(before, tmp_path / "seg", cases)
    after = FORMATS["dicom_seg"].read_readings(tmp_path / "seg", cases)
    (grid,) = geometries(cases).values()
    old, new = (drawn_by_owner(readings.slices, "finding_id") for readings in (before, after))
    assert len(old) == 4
    for key, drawn in old.items():
        old_voxels, other = (
            set(map(tuple, voxels_of(held, grid).tolist())) for held in (drawn, new[key])
        )
        assert 2 * len(old_voxels & other) / (len(old_voxels) + len(other)) == 1.0
        assert len(old_voxels) > 1000


def test_the_reference_built_from_reports_is_that_of_the_readings(
    lidc: tuple[Readings, pl.DataFrame], tmp_path: Path
) -> None:
    before, cases = lidc
    FORMATS["dicom_sr"].write_readings(before, tmp_path / "sr", cases)
    after = FORMATS["dicom_sr"].read_readings(tmp_path / "sr", cases)
    first, other = (build_reference(held).nodules for held in (before, after))
    assert first["is_ignored"].to_list() == other["is_ignored"].to_list()
    columns = ["x_mm", "y_mm", "z_mm", "diameter_mm"]
    nodule = [table.filter(~pl.col("is_ignored")) for table in (first, other)]
    assert nodule[0].height == 1
    assert nodule[1].select(columns).row(0) == pytest.approx(nodule[0].select(columns).row(0), 1e-6)


@CHECKED
def test_other_programs_find_nothing_wrong_with_reports_on_a_real_scan(
    lidc: tuple[Readings, pl.DataFrame], tmp_path: Path, checker: str
) -> None:
    FORMATS["dicom_sr"].write_readings(lidc[0], tmp_path / "sr", lidc[1])
    assert [complaints(checker, file) for file in sorted((tmp_path / "sr").iterdir())] == [[]] * 4


@needs("dciodvfy")
def test_dciodvfy_finds_nothing_wrong_with_segmentations_of_a_real_scan(
    lidc: tuple[Readings, pl.DataFrame], tmp_path: Path
) -> None:
    FORMATS["dicom_seg"].write_readings(lidc[0], tmp_path / "seg", lidc[1])
    files = sorted((tmp_path / "seg").iterdir())
    assert [complaints("dciodvfy", file) for file in files] == [[]] * 4


def _table(cases: pl.DataFrame, folder: Path) -> Path:
    cases.write_csv(folder / "cases.csv")
    return folder / "cases.csv"
