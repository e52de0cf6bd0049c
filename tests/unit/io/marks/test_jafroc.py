from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from openpyxl import load_workbook

from builders.tables import case, cohort, false_mark, ignored, mark, nodule
from nodulebench.core.errors import InputError
from nodulebench.io.marks.jafroc import write_cohorts

FAR = (500.0, 0.0, 0.0)
CASES = (
    case("normal", false_mark(0.3)),
    case("two", nodule(10), nodule(10, FAR), mark(0.9, FAR), false_mark(0.2), false_mark(0.1)),
    case("one", nodule(10), ignored(10, FAR), mark(0.8), mark(0.7), mark(0.6, FAR)),
)


def sheets(path: Path) -> dict[str, list[tuple]]:
    book = load_workbook(path)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def test_the_sheets_are_those_that_rjafroc_reads(tmp_path: Path) -> None:
    """Layout: RJafroc's ReadJAFROCNewFormat and checkTruthTable (newExcelFileFormat = TRUE)."""
    write_cohorts({("algorithm", "1"): cohort(*CASES)}, tmp_path / "x.xlsx")
    written = sheets(tmp_path / "x.xlsx")
    assert sorted(name.upper() for name in written) == ["FP", "TP", "TRUTH"]
    assert written["Truth"] == [
        ("CaseID", "LesionID", "Weight", "ReaderID", "ModalityID", "Paradigm"),
        (1, 0, 0, "1", "1", "FROC"),
        (2, 1, 0, "1", "1", "FCTRL"),
        (2, 2, 0, "1", "1", None),
        (3, 1, 0, "1", "1", None),
    ]
    assert written["TP"] == [
        ("ReaderID", "ModalityID", "CaseID", "LesionID", "TP_Rating"),
        ("1", "1", 2, 2, 0.9),
        ("1", "1", 3, 1, 0.8),
    ]
    assert written["FP"][0] == ("ReaderID", "ModalityID", "CaseID", "FP_Rating")
    assert sorted(written["FP"][1:]) == [("1", "1", 1, 0.3), ("1", "1", 2, 0.1), ("1", "1", 2, 0.2)]


def test_lesions_of_a_case_follow_one_another(tmp_path: Path) -> None:
    """RJafroc refuses a Truth sheet whose lesion numbers jump."""
    write_cohorts({("algorithm", "1"): cohort(*CASES)}, tmp_path / "x.xlsx")
    numbers = [row[1] for row in sheets(tmp_path / "x.xlsx")["Truth"][1:]]
    for before, number in zip([None, *numbers], numbers, strict=False):
        assert number in (0, 1) or number == before + 1


def test_algorithms_are_modalities_of_one_reader(tmp_path: Path) -> None:
    write_cohorts({("a", "1"): cohort(*CASES), ("b", "1"): cohort(*CASES)}, tmp_path / "x.xlsx")
    written = sheets(tmp_path / "x.xlsx")
    assert {row[4] for row in written["Truth"][1:]} == {"1,2"}
    assert [row[1] for row in written["TP"][1:]] == ["1", "1", "2", "2"]


def test_readers_are_crossed_with_treatments(tmp_path: Path) -> None:
    ways = [(way, reader) for way in ("alone", "with CAD") for reader in ("ann", "ben", "cem")]
    write_cohorts({cell: cohort(*CASES) for cell in ways}, tmp_path / "x.xlsx")
    written = sheets(tmp_path / "x.xlsx")
    assert {row[3:5] for row in written["Truth"][1:]} == {("1,2,3", "1,2")}
    order = [("1", "1"), ("2", "1"), ("3", "1"), ("1", "2"), ("2", "2"), ("3", "2")]
    assert [row[:2] for row in written["TP"][1::2]] == order
    assert pl.read_csv(tmp_path / "x.key.csv").rows()[:5] == [
        ("modality", 1, None, "alone"),
        ("modality", 2, None, "with CAD"),
        ("reader", 1, None, "ann"),
        ("reader", 2, None, "ben"),
        ("reader", 3, None, "cem"),
    ]


def test_false_positives_of_a_case_follow_one_another(tmp_path: Path) -> None:
    """RJafroc takes the second mark of a case from the row after the first, whatever it is of."""
    mixed = cohort(*CASES)
    turned = replace(mixed, false_case=np.array([1, 0, 1]), false_score=np.array([0.2, 0.3, 0.1]))
    write_cohorts({("a", "1"): turned}, tmp_path / "x.xlsx")
    rows = sheets(tmp_path / "x.xlsx")["FP"][1:]
    assert [row[2:] for row in rows] == [(1, 0.3), (2, 0.2), (2, 0.1)]


def test_a_key_says_which_number_is_which(tmp_path: Path) -> None:
    write_cohorts({("algorithm", "1"): cohort(*CASES)}, tmp_path / "x.xlsx")
    assert pl.read_csv(tmp_path / "x.key.csv").rows() == [
        ("modality", 1, None, "algorithm"),
        ("reader", 1, None, "1"),
        ("case", 1, None, "normal"),
        ("case", 2, None, "two"),
        ("case", 3, None, "one"),
        ("lesion", 2, 1, "n0"),
        ("lesion", 2, 2, "n1"),
        ("lesion", 3, 1, "n0"),
    ]


def test_unfit_cohorts_are_reported(tmp_path: Path) -> None:
    unscored = cohort(case("a", nodule(5), mark(None)), case("b"))
    with pytest.raises(InputError) as caught:
        write_cohorts({("a", "1"): cohort(*CASES), ("b", "2"): unscored}, tmp_path / "x.xlsx")
    assert [str(problem) for problem in caught.value.problems] == [
        "submission 'algorithm': has marks without a score. JAFROC analyses ratings; give every "
        "mark a score.",
        "submission 'algorithm': was not tested on the same cases and nodules as the first. Write "
        "a separate workbook for it.",
        "reader '2': did not read under 'a'. Every reader has to read under every treatment.",
        "reader '1': did not read under 'b'. Every reader has to read under every treatment.",
    ]
    with pytest.raises(InputError, match="jafroc_xlsx: needs at least one algorithm"):
        write_cohorts({}, tmp_path / "x.xlsx")
    with pytest.raises(InputError, match="needs at least two cases or nodules"):
        write_cohorts({("a", "1"): cohort(case("a"))}, tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []
