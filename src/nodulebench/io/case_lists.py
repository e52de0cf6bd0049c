"""Which cases: a list of series, a table of cases, or a folder that holds one -> case ids."""

from pathlib import Path

import polars as pl

from nodulebench.io.bag import PAYLOAD
from nodulebench.io.csv_files import read_head
from nodulebench.io.marks.luna16 import read_series
from nodulebench.io.table_files import read_cases

CASE_TABLE = "cases.parquet"


def case_table_of(path: Path) -> Path | None:
    """The table of cases that a folder holds; None: none.

    The folder is a curation, a bundle, a bag, or a sealed set, which shows the cases of a run.
    """
    tables = (path / CASE_TABLE, path / PAYLOAD / CASE_TABLE, path / PAYLOAD / "cases.csv")
    return next((table for table in tables if table.is_file()), None) if path.is_dir() else None


def read_case_list(path: Path) -> pl.Series:
    """The cases that are listed, in their order: what every ``--series`` takes.

    Args:
        path: a list without a header, one series a line; a table of cases, as ``draw`` writes it;
            or a folder with such a table, as ``curate`` and ``bundle`` write it.

    Raises:
        InputError: if it is none of these.
    """
    table = case_table_of(path)
    if table is None and path.suffix != ".parquet" and not _is_table(path):
        return read_series(path)
    return read_cases(table or path)["case_id"]


def _is_table(path: Path) -> bool:
    """Whether a file of text begins with the header of a table of cases."""
    cells = read_head(path).replace(";", ",").split(",")
    return "case_id" in {cell.strip().strip('"') for cell in cells}
