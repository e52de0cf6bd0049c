"""What names a case goes; everything else stays as it was, to the byte where it can."""

import io
import json

import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.custody.withdrawal import without_cases

GONE = ("1.2.840.99.7", "scan1", "=scan")


def parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def test_rows_of_a_table_go() -> None:
    table = pl.DataFrame({"case_id": ["scan0", "scan1", None], "x": [1.0, 2.0, 3.0]})
    rest = without_cases("nodules.parquet", parquet(table), GONE)
    assert rest is not None
    assert pl.read_parquet(io.BytesIO(rest)).rows() == [("scan0", 1.0), (None, 3.0)]
    same = parquet(table.filter(pl.col("case_id") == "scan0"))
    assert without_cases("nodules.parquet", same, GONE) is same
    numbers = parquet(pl.DataFrame({"x": [1]}))
    assert without_cases("n.parquet", numbers, GONE) is numbers
    with pytest.raises(InputError, match="cannot be read as a table"):
        without_cases("n.parquet", b"scan1", GONE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("case_id,x\nscan0,1\nscan1,2\n", "case_id,x\nscan0,1\n"),
        ("x;uid\r\n1;1.2.840.99.7\r\n2;1.2.840.99.71\r\n", "x;uid\n2;1.2.840.99.71\n"),
        ("a\tb\n'=scan\tx\nscan0\ty\n", "a\tb\nscan0\ty\n"),
        ("a,b\n1,see scan1 too\n", None),
        ("a,b\n1.2.840.99.7.1,x\n", "a,b\n1.2.840.99.7.1,x\n"),
        ('a,b\n"scan1","two\nlines"\nscan10,z\n', "a,b\nscan10,z\n"),
    ],
)
def test_lines_of_csv_go(before: str, after: str | None) -> None:
    rest = without_cases("readings.csv", before.encode(), GONE)
    assert (None if rest is None else rest.decode()) == after


def test_entries_of_json_go() -> None:
    before = {
        "scan1": 1,
        "cases": ["scan0", "scan1"],
        "rows": [{"case": "scan1", "x": 1}, {"case": "scan0", "x": 2}],
        "more": {"scan1": {}, "n": 3},
    }
    rest = without_cases("provenance.json", json.dumps(before).encode(), GONE)
    assert rest is not None
    assert json.loads(rest) == {
        "cases": ["scan0"],
        "rows": [{"case": "scan0", "x": 2}],
        "more": {"n": 3},
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", b"about scan1"),
        ("reading.xml", b"<uid>1.2.840.99.7</uid>"),
        ("broken.json", b'{"scan1"'),
        ("latin.csv", b"scan1,\xe9\n"),
        ("path.json", b'{"file": "images/1.2.840.99.7/0001.dcm"}'),
    ],
)
def test_what_cannot_be_taken_apart_goes_as_a_whole(name: str, content: bytes) -> None:
    assert without_cases(name, content, GONE) is None
    assert without_cases(name, b"about scan0", GONE) == b"about scan0"


def test_the_head_says_what_divides_the_columns() -> None:
    before = "case_id;note\nscan1;a, b, c, d\nscan0;x, y\n"
    rest = without_cases("readings.csv", before.encode(), GONE)
    assert rest is not None
    assert rest.decode() == "case_id;note\nscan0;x, y\n"


def test_json_keeps_its_letters() -> None:
    before = '{"cases": ["scan1", "北京"]}'
    rest = without_cases("provenance.json", before.encode(), GONE)
    assert rest is not None
    assert rest.decode() == '{\n "cases": [\n  "北京"\n ]\n}\n'
