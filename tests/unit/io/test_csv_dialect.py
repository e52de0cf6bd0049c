"""CSV files as people write them become the text that we read, line by line."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nodulebench.io.csv_files import CsvFile, Dialect, plain_csv, simple_name, spelt


@pytest.mark.parametrize(
    ("text", "separator", "has_decimal_comma"),
    [
        ("a,b,c\n1,2,3\n", ",", False),
        ("a;b;c\n1.5;2;3\n", ";", False),
        ("a;b;c\nx;1,5;3\n", ";", True),
        ("a\tb\n1,5\t-0,25\n", "\t", True),
        ("a;b\nLast, First;3\n", ";", False),
        ("single\n1\n", ",", False),
        ("a,b,contour\n1,2,0 0;1 1;2 2\n", ",", False),
    ],
)
def test_the_separator_is_what_the_header_has_most_often(
    text: str, separator: str, has_decimal_comma: bool, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    assert CsvFile(tmp_path / "own.csv").dialect == Dialect(separator, has_decimal_comma)


def test_commas_and_points_take_the_place_of_what_was_there_and_lines_stay() -> None:
    text = 'case;x;note\na;-1,5;"one; two"\n\nb;2,5e-3;Last, First\n'
    assert plain_csv(text, Dialect(";", True), ["seriesuid", "x", "note"]).decode() == (
        'seriesuid,x,note\na,-1.5,one; two\n\nb,2.5e-3,"Last, First"\n'
    )


@given(
    some.lists(some.lists(some.text("ab ,;.\t\"'", max_size=5), min_size=2, max_size=2), max_size=5)
)
def test_cells_come_through_whatever_is_in_them(rows: list[list[str]]) -> None:
    lines = [";".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows]
    text = "\n".join(["x;y", *lines]) + "\n"
    rewritten = plain_csv(text, Dialect(";"), ["x", "y"]).decode()
    assert list(csv.reader(rewritten.splitlines()))[1:] == rows


def test_names_are_known_in_other_spellings() -> None:
    header = ["Series UID", "COORD_X", "coord-y", "other"]
    wanted = ["seriesuid", "coordX", "coordY"]
    assert spelt(header, wanted) == ["seriesuid", "coordX", "coordY", "other"]
    assert simple_name(" Coord_X ") == "coordx"


def test_an_exact_name_is_not_replaced() -> None:
    assert spelt(["coordX", "CoordX"], ["coordX"]) == ["coordX", "CoordX"]
    assert spelt(["CoordX", "COORDX"], ["coordX"]) == ["CoordX", "COORDX"]


def test_only_given_names_count() -> None:
    assert spelt(["px", "coordx"], ["coordX"], {"coordX": "px"}) == ["coordX", "coordx"]


def test_a_column_that_has_the_name_of_anothers_place_is_none_of_ours() -> None:
    assert spelt(["px", "coordX"], ["coordX"], {"coordX": "px"}) == ["coordX", "coordX?"]
