"""What --series takes: a bare list, a table of cases, a folder that holds one."""

from pathlib import Path

import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_case_list, read_cases


def test_a_bare_list_a_table_and_a_folder_name_the_same_cases(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("b\na\n")
    (tmp_path / "drawn.csv").write_text("case_id,vendor\nb,GE\na,Siemens\n")
    table = pl.DataFrame({"case_id": ["b", "a"]})
    for folder in (tmp_path / "curated", tmp_path / "bag" / "data"):
        folder.mkdir(parents=True)
        table.write_parquet(folder / "cases.parquet")
    table.write_parquet(tmp_path / "cases.parquet")
    places = ("bare.csv", "drawn.csv", "cases.parquet", "curated", "bag")
    assert [read_case_list(tmp_path / place).to_list() for place in places] == [["b", "a"]] * 5
    assert read_cases(tmp_path / "curated")["case_id"].to_list() == ["b", "a"]


def test_the_header_of_an_official_list_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("seriesuid\na\n")
    with pytest.raises(InputError, match="'seriesuid' is a header, but a series list has none"):
        read_case_list(tmp_path / "list.csv")


def test_a_list_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        read_case_list(tmp_path / "none.csv")
