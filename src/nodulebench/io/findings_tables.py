"""A folder of our own tables (cases, sessions, findings, finding_slices) <-> Readings."""

from functools import partial
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, made_of_each, refuse_any
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES
from nodulebench.io.atomic import staged_folder
from nodulebench.io.table_files import TABLE_SUFFIXES, read_table, write_parquet

_TABLES = {
    "cases": CASES,
    "sessions": SESSIONS,
    "findings": FINDINGS,
    "finding_slices": FINDING_SLICES,
}
"""In the order in which Readings have them."""


def holds_findings(folder: Path) -> bool:
    """Whether a folder has a table of findings."""
    return folder.is_dir() and any((folder / f"findings{end}").is_file() for end in TABLE_SUFFIXES)


def read_findings(folder: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Readings from a folder; with ``cases`` these instead of the folder's own.

    Raises:
        InputError: with every problem of a table: a missing file, a wrong value, a reader who has
            not read the case, a finding or outline of nothing that is listed.
    """
    needed = [name for name in _TABLES if name != "cases" or cases is None]
    *own, sessions, findings, slices = made_of_each(needed, partial(_read, folder))
    listed = own[0] if cases is None else cases
    readings = Readings(folder.resolve().name, listed, sessions, findings, slices)
    _refuse_strays(readings, folder)
    return readings


def write_findings(readings: Readings, folder: Path) -> None:
    """Write readings as four Parquet tables, all or none."""
    with staged_folder(folder, last="findings.parquet") as stage:
        tables = (readings.cases, readings.sessions, readings.findings, readings.slices)
        for name, table in zip(_TABLES, tables, strict=True):
            write_parquet(table, stage / f"{name}.parquet")


def _read(folder: Path, name: str) -> pl.DataFrame:
    for ending in TABLE_SUFFIXES:
        if (folder / f"{name}{ending}").is_file():
            return read_table(folder / f"{name}{ending}", _TABLES[name])
    raise InputError.at(folder, f"holds no {name} table.", f"Write {name}.parquet or {name}.csv.")


def _refuse_strays(readings: Readings, folder: Path) -> None:
    """Refuse rows that belong to nothing."""
    links = (
        ("a session", readings.sessions, readings.cases, ("case_id",)),
        ("a finding", readings.findings, readings.sessions, ("case_id", "reader_id")),
        ("an outline", readings.slices, readings.findings, ("case_id", "finding_id")),
    )
    problems = Problems()
    for what, table, owners, keys in links:
        strays = table.join(owners, on=list(keys), how="anti").select(keys)
        for row in strays.unique(maintain_order=True).rows():
            named = " ".join(f"{key} '{value}'" for key, value in zip(keys, row, strict=True))
            problems.add(
                folder,
                f"{what} names {named}, which is not listed.",
                f"List it, or remove the {what.split()[1]}.",
            )
    refuse_any(problems)
