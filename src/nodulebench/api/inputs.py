"""Paths, frames and arrays -> Reference and Submissions, checked like files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problem, did_you_mean, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.io.cases import position_notices
from nodulebench.io.formats import read_cases, read_reference, read_submission
from nodulebench.io.manifests import table_digest
from nodulebench.io.marks.boxes import require_listed
from nodulebench.io.marks.luna16 import COLUMNS, null_unmeasured

TABLES = "a polars or pandas frame, a structured array, or a dict of columns"


def reference_of(given: Any, cases: Any = None) -> Reference:
    """A test set from its path or from a table of its nodules, which needs the list of cases.

    Raises:
        InputError: with every problem, by the name of the argument.
    """
    if isinstance(given, Reference):
        if cases is not None:
            what = "were given, but the reference has its own."
            raise InputError.at("cases", what, "Leave out this argument.")
        return given
    if isinstance(given, str | PathLike):
        return read_reference(Path(given), cases=None if cases is None else cases_of(cases))
    if cases is None:
        what = "are needed in addition to a table of nodules: cases without nodules count, too."
        remedy = "Give every case that was tested: a list of case_id, a table or a file."
        raise InputError.at("cases", what, remedy)
    known = cases_of(cases)
    table = table_of(given, "reference")
    if "is_ignored" not in table.columns:
        table = table.with_columns(is_ignored=pl.lit(False))
    nodules = _checked(_numbered(table, "nodule_id"), NODULES, "reference")
    require_listed(nodules["case_id"], known, "reference")
    return Reference("reference", known, nodules, notices=position_notices(nodules, known))


def cases_of(given: Any) -> pl.DataFrame:
    """CASES from a file, a table, or a list of names."""
    if isinstance(given, str | PathLike):
        return read_cases(Path(given))
    is_list = isinstance(given, list | tuple | pl.Series) or (
        isinstance(given, np.ndarray) and given.dtype.names is None
    )
    table = {"case_id": list(given)} if is_list else given
    return _checked(table_of(table, "cases"), CASES, "cases")


def submissions_of(given: Any, cases: pl.DataFrame) -> list[Submission]:
    """The submissions of one algorithm, of several, or of several by name.

    Raises:
        InputError: with every problem, by the name of the argument.
    """
    if isinstance(given, Mapping) and not _is_table(given):
        return [
            replace(submission, name=str(name))
            for name, part in given.items()
            for submission in [_submission(part, cases, f"marks['{name}']")]
        ]
    is_single = _is_table(given) or isinstance(given, str | PathLike | np.ndarray)
    if isinstance(given, Iterable) and not is_single:
        return [_submission(part, cases, f"marks {number}") for number, part in enumerate(given, 1)]
    return [_submission(given, cases, "marks")]


def _submission(given: Any, cases: pl.DataFrame, argument: str) -> Submission:
    if isinstance(given, Submission):
        return given
    if isinstance(given, str | PathLike):
        return read_submission(Path(given), cases)
    marks = _checked(_numbered(table_of(given, argument), "mark_id"), MARKS, argument)
    return Submission(
        argument, marks, digest=table_digest(marks), notices=position_notices(marks, cases)
    )


def table_of(given: Any, argument: str) -> pl.DataFrame:
    """A table of any type as a polars frame; LUNA16 columns get the names of MARKS or NODULES.

    Raises:
        InputError: if it is not a table, or its columns differ in length.
    """
    if not _is_table(given):
        raise InputError.at(argument, f"is {_kind(given)}.", f"Give a path, {TABLES}.")
    try:
        table = given if isinstance(given, pl.DataFrame) else pl.DataFrame(_columns(given))
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError.at(argument, f"is not a table: {reason}.", f"Give {TABLES}.") from error
    if "seriesuid" not in table.columns:
        return table
    return null_unmeasured(table.rename(COLUMNS, strict=False))


def _is_table(given: object) -> bool:
    return (
        isinstance(given, pl.DataFrame)
        or (isinstance(given, Mapping) and bool({"case_id", "seriesuid"} & given.keys()))
        or (isinstance(given, np.ndarray) and given.dtype.names is not None)
        or (type(given).__module__.startswith("pandas") and hasattr(given, "columns"))
    )


def _columns(given: Any) -> JsonObject:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, np.ndarray):
        return {name: given[name] for name in given.dtype.names or ()}
    # missing values of pandas, such as NaN, become null; extension types become plain values
    return {
        str(name): column.astype(object).where(column.notna(), None).to_list()
        for name, column in given.items()
    }


def _kind(given: object) -> str:
    kind = type(given).__name__
    return f"an {kind} without column names" if isinstance(given, np.ndarray) else f"a {kind}"


def _numbered(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows without names are named by their numbers."""
    if name in table.columns:
        return table
    return table.with_row_index(name, offset=1).with_columns(pl.col(name).cast(pl.String))


def _checked(table: pl.DataFrame, schema: TableSchema, argument: str) -> pl.DataFrame:
    raise_problems(_misspelt(table, schema, argument))
    return schema.conform(table, argument)


def _misspelt(table: pl.DataFrame, schema: TableSchema, argument: str) -> Iterator[Problem]:
    """Unknown columns with a name near a known one: their values would be silently ignored."""
    listed = {column.name for column in schema.columns}
    absent = listed - set(table.columns)
    for name in table.columns:
        hint = "" if name in listed else did_you_mean(name, absent)
        if hint:
            yield Problem(argument, f"column '{name}' is not known.{hint}", "Rename it.")
