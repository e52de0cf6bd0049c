import gzip
import time
from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, ignored, mark, nodule, reference, submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks.luna16 import (
    read_marks,
    read_reference,
    read_series,
    write_marks,
    write_reference,
)

HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


def luna16_folder(folder: Path, *, excluded: bool = True) -> Path:
    (folder / "seriesuids.csv").write_text("b\na\n")
    (folder / "annotations.csv").write_text(
        "seriesuid,coordX,coordY,coordZ,diameter_mm\na,1,2,3,8\nother,x,,\nb,4,5,6,10\n"
    )
    if excluded:
        (folder / "annotations_excluded.csv.gz").write_bytes(
            gzip.compress(b"seriesuid,coordX,coordY,coordZ,diameter_mm\na,7,8,9,-1\n")
        )
    return folder


def test_a_mark_is_a_row_and_its_id_the_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.v2.csv"
    path.write_text(HEADER + "a,1,2,3,0.5\nb,-4.5,5,6,-2\n")
    marks = read_marks(path)
    assert marks.name == "mine.v2"
    assert marks.marks.select("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "score").rows() == [
        ("a", "2", 1.0, 2.0, 3.0, 0.5),
        ("b", "3", -4.5, 5.0, 6.0, -2.0),
    ]
    assert marks.digest.startswith("sha256:")


def test_a_header_only_is_a_submission_without_marks(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(HEADER)
    assert read_marks(tmp_path / "x.csv").marks.height == 0


def test_a_diameter_is_taken_over_unless_it_is_negative(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "seriesuid,coordX,coordY,coordZ,probability,diameter_mm\na,1,2,3,1,6\na,1,2,3,1,-1\na,1,2,3,1,\n"
    )
    assert read_marks(path).marks["diameter_mm"].to_list() == [6.0, None, None]


def test_rows_of_unlisted_series_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(HEADER + "a,1,2,3,0.5\nseriesuid,coordX,coordY,coordZ,probability\nz,1\n")
    listed = CASES.conform(pl.DataFrame({"case_id": ["a"]}), "cases")
    assert read_marks(path, listed).marks["case_id"].to_list() == ["a", "seriesuid", "z"]
    with pytest.raises(InputError, match=r"x\.csv line 3: coordX 'coordX' is not a finite number"):
        read_marks(path)


def test_the_reference_has_the_listed_series_in_their_order(tmp_path: Path) -> None:
    reference = read_reference(luna16_folder(tmp_path))
    assert reference.cases["case_id"].to_list() == ["b", "a"]
    columns = ("case_id", "nodule_id", "x_mm", "diameter_mm", "is_ignored")
    assert reference.nodules.select(columns).rows() == [
        ("a", "nodule-2", 1.0, 8.0, False),
        ("b", "nodule-4", 4.0, 10.0, False),
        ("a", "excluded-2", 7.0, None, True),
    ]
    assert reference.notices == ()


def test_what_was_not_measured_is_minus_one_in_the_files_and_null_in_the_model(
    tmp_path: Path,
) -> None:
    reference = read_reference(luna16_folder(tmp_path))
    assert reference.nodules["diameter_mm"].null_count() == 1
    write_reference(reference, tmp_path / "again")
    lines = (tmp_path / "again" / "annotations_excluded.csv").read_text().splitlines()
    assert lines[1:] == ["a,7.0,8.0,9.0,-1.0"]
    again = read_reference(tmp_path / "again")
    assert again.nodules.equals(reference.nodules.with_columns(again.nodules["nodule_id"]))


def test_a_reference_without_excluded_findings_says_so(tmp_path: Path) -> None:
    reference = read_reference(luna16_folder(tmp_path, excluded=False))
    assert (
        "has no annotations_excluded.csv. Marks on excluded findings therefore count as false"
        in sentences(reference.notices)[0]
    )


def test_cases_add_what_they_know_of_the_series(tmp_path: Path) -> None:
    given = pl.DataFrame({"case_id": ["a", "z"], "patient_id": ["p", "q"], "vendor": ["V", "W"]})
    reference = read_reference(luna16_folder(tmp_path), CASES.conform(given, "cases"))
    assert reference.cases.select("case_id", "patient_id", "vendor").rows() == [
        ("b", None, None),
        ("a", "p", "V"),
    ]


def test_a_folder_without_series_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds neither seriesuids\.csv nor seriesuids\.csv\.gz\."
    ):
        read_reference(tmp_path)


def test_a_series_listed_twice_is_refused(tmp_path: Path) -> None:
    luna16_folder(tmp_path)
    (tmp_path / "seriesuids.csv").write_text("a\nb\na\n")
    with pytest.raises(InputError, match=r"seriesuids\.csv: case 'a' is listed more than once\."):
        read_reference(tmp_path)


def test_a_header_in_the_series_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text("seriesuid\na\n")
    with pytest.raises(InputError, match=r"series\.csv line 1: 'seriesuid' is a header, but"):
        read_series(tmp_path / "series.csv")


def test_series_with_crlf_bom_and_blank_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_bytes(b"\xef\xbb\xbfa\r\n\r\nb,5\r\n")
    assert read_series(tmp_path / "series.csv").to_list() == ["a", "b"]


def test_marks_are_written_as_the_official_program_reads_them(tmp_path: Path) -> None:
    given = submission(case("a", mark(0.25, (1, 2.5, -3))), case("b", mark(-1, (0.1, 0, 0))))
    write_marks(given, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == HEADER + "a,1.0,2.5,-3.0,0.25\nb,0.1,0.0,0.0,-1.0\n"


def test_marks_without_scores_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 1 marks without a score\. LUNA16 files need a prob"):
        write_marks(submission(case("a", mark(None))), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_reference_is_written_as_three_files(tmp_path: Path) -> None:
    truth = reference(case("b", nodule(8, (1, 2, 3))), case("a", ignored(5, (4, 5, 6))), case("c"))
    write_reference(truth, tmp_path / "set")
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    texts = {file.name: file.read_text() for file in (tmp_path / "set").iterdir()}
    assert texts == {
        "annotations.csv": head + "b,1.0,2.0,3.0,8.0\n",
        "annotations_excluded.csv": head + "a,4.0,5.0,6.0,5.0\n",
        "seriesuids.csv": "b\na\nc\n",
    }


def test_the_official_files_are_read_whole(luna16_data: Path) -> None:
    start = time.process_time()
    truth = read_reference(luna16_data)
    marks = read_marks(luna16_data / "submissions" / "deeplung_dpn26_888.csv.gz", truth.cases)
    seconds = time.process_time() - start
    assert truth.cases.height == 888
    assert truth.nodules["is_ignored"].value_counts(sort=True).rows() == [
        (True, 35192),
        (False, 1186),
    ]
    assert marks.marks.height == 55677
    assert seconds < 2  # usually about 0.1: far above that, something reads row by row


def test_a_damaged_series_list_is_reported(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match=r"series\.csv: is not a list of series, one per line\."):
        read_series(tmp_path / "series.csv")


def test_long_tables_hold_the_same_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text(HEADER + "b,1,2,3,0.5\na,1,2,3,0.5\nb,1,2,3,0.5\n")
    listed = CASES.conform(pl.DataFrame({"case_id": ["a", "b"]}), "cases")
    monkeypatch.setattr(luna16_csv, "_MANY_ROWS", 1)
    assert read_marks(path, listed).marks["case_id"].to_list() == ["b", "a", "b"]
    path.write_text(path.read_text() + "z,1,2,3,0.5\n")
    assert read_marks(path, listed).marks["case_id"].to_list() == ["b", "a", "b", "z"]
