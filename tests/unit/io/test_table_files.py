import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, MARKS, NODULES
from nodulebench.io.table_files import read_cases, read_table, write_table


def test_further_columns_of_cases_are_strata(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(
        "case_id,patient_id,spacing_z_mm,vendor,kilovolt\na,007,1.25,GE,120\nb,,,,100\n"
    )
    cases = read_cases(tmp_path / "cases.csv")
    columns = ("case_id", "patient_id", "spacing_z_mm", "vendor", "kilovolt")
    assert cases.select(columns).rows() == [
        ("a", "007", 1.25, "GE", 120.0),
        ("b", None, None, None, 100.0),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_negative_diameter_is_refused(tmp_path: Path, suffix: str) -> None:
    place = {"x_mm": 1.0, "y_mm": 2.0, "z_mm": 3.0, "is_ignored": True}
    row = {"case_id": "a", "nodule_id": "0", "diameter_mm": -1.0, **place}
    write_table(pl.DataFrame([row]), tmp_path / f"nodules{suffix}")
    with pytest.raises(InputError, match="diameter_mm"):
        read_table(tmp_path / f"nodules{suffix}", NODULES)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_table_comes_back_from_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    rows = {"case_id": ["a", "b"], "patient_id": ["1", None], "origin_z_mm": [0.1, -1 / 3]}
    table = CASES.conform(pl.DataFrame(rows), "cases")
    write_table(table, tmp_path / f"cases{suffix}")
    assert read_table(tmp_path / f"cases{suffix}", CASES).equals(table)


def test_blank_lines_do_not_shift_the_lines_told(tmp_path: Path, messages_of) -> None:
    (tmp_path / "c.csv").write_text("case_id,size_x\na,5\n\n\nb,0\na,7.5\n")
    assert messages_of(read_cases, tmp_path / "c.csv") == [
        "c.csv line 6: size_x '7.5' is not a whole number.",
        "c.csv line 5: size_x '0' is below 1.",
        "c.csv line 6: case_id 'a' was given before. case_id must be unique; remove or renumber "
        "the row.",
    ]


def test_wrong_types_in_a_parquet_file_are_reported(tmp_path: Path, messages_of) -> None:
    table = pl.DataFrame(
        {
            "case_id": ["a"],
            "mark_id": [1],
            "x_mm": ["left"],
            "y_mm": [[1.0]],
            "z_mm": [float("nan")],
        }
    )
    table.write_parquet(tmp_path / "m.parquet")
    assert [
        line.split("'")[0] for line in messages_of(read_table, tmp_path / "m.parquet", MARKS)
    ] == [
        "m.parquet row 1: x_mm ",
        "m.parquet row 1: y_mm ",
        "m.parquet row 1: z_mm ",
    ]


def test_damaged_parquet_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    CASES.conform(pl.DataFrame({"case_id": [f"c{n}" for n in range(500)]}), "c").write_parquet(path)
    whole = path.read_bytes()
    chance = np.random.default_rng(3)
    refused = 0
    for trial in range(60):
        bent = bytearray(whole)
        for place in chance.integers(0, len(bent), size=4):
            bent[place] ^= 0x55
        path.write_bytes(bytes(bent) if trial % 2 else whole[: len(whole) - 1 - trial * 5])
        try:
            read_table(path, CASES)
        except InputError:
            refused += 1
    # damage in the values themselves can pass for other values; anything else is refused
    assert refused > 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"c\.csv: is empty"),
        (b"patient_id\n1\n", r"c\.csv: column 'case_id' is missing\. Needed"),
        (b"case_id,x\na,1,2\n", r"c\.csv: is not comma-separated text: found more fields"),
        (b"case_id\n\xff\n", r"c\.csv: is not comma-separated text: invalid utf-8"),
    ],
)
def test_what_is_not_a_table_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "c.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_cases(tmp_path / "c.csv")


@pytest.mark.skipif(os.name != "posix", reason="sizes of files are not limited there")
def test_a_table_that_the_disk_does_not_take_is_reported_in_the_words_of_the_system(
    tmp_path: Path,
) -> None:
    import resource

    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    table = pl.DataFrame({"case_id": [f"case {number}" for number in range(1000)]})
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, most))
    try:
        with pytest.raises(InputError, match=r"m\.parquet: cannot be written: File too large"):
            write_table(table, tmp_path / "m.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert list(tmp_path.iterdir()) == []
    write_table(table, tmp_path / "m.parquet")
    assert pl.read_parquet(tmp_path / "m.parquet").equals(table)
