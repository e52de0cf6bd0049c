"""A folder of our own tables (cases, sessions, findings, finding_slices) <-> Readings."""

from pathlib import Path

import polars as pl

from nodulebench.errors import InputError, Problems, adding_to, refuse_any
from nodulebench.model.findings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.model.schema import TableSchema
from nodulebench.model.tables import CASES
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.table_file import TABLE_SUFFIXES, read_table

_TABLES = {
    "cases": CASES,
    "sessions": SESSIONS,
    "findings": FINDINGS,
    "finding_slices": FINDING_SLICES,
}


def holds_findings(folder: Path) -> bool:
    """Whether a folder has a table of findings."""
    return folder.is_dir() and any((folder / f"findings{end}").is_file() for end in TABLE_SUFFIXES)


def read_findings(folder: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Readings from a folder; with ``cases`` these instead of the folder's own.

    Raises:
        InputError: with every problem of a table: a missing file, a wrong value, a reader who has
            not read the case, a finding or outline of nothing that is listed.
    """
    tables: dict[str, pl.DataFrame] = {}
    problems = Problems()
    for name, schema in _TABLES.items():
        if name == "cases" and cases is not None:
            tables[name] = cases
            continue
        with adding_to(problems):
            tables[name] = _read(folder, name, schema)
    refuse_any(problems)
    readings = Readings(
        name=folder.resolve().name,
        cases=tables["cases"],
        sessions=tables["sessions"],
        findings=tables["findings"],
        slices=tables["finding_slices"],
    )
    _refuse_strays(readings, folder)
    return readings


def write_findings(readings: Readings, folder: Path) -> None:
    """Write readings as four Parquet tables, all or none."""
    with staged_folder(folder, last="findings.parquet") as stage:
        readings.cases.write_parquet(stage / "cases.parquet")
        readings.sessions.write_parquet(stage / "sessions.parquet")
        readings.findings.write_parquet(stage / "findings.parquet")
        readings.slices.write_parquet(stage / "finding_slices.parquet")


def _read(folder: Path, name: str, schema: TableSchema) -> pl.DataFrame:
    for ending in TABLE_SUFFIXES:
        if (folder / f"{name}{ending}").is_file():
            return read_table(folder / f"{name}{ending}", schema)
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
