"""A table of what else is known of nodules -> the same reference with it; columns nobody reads."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.schema import TableSchema, optional
from nodulebench.core.tables import IN_CASE, NODULES, PLACE, POSITION, Reference
from nodulebench.io.cases import filled_from
from nodulebench.io.csv_files import read_header
from nodulebench.io.table_files import read_table

KEYS = ("case_id", "nodule_id")
UNMEASURED_MM = 10.0
"""A nodule that was not measured is taken to be so large, as under the luna16 rule."""
GIVEN = TableSchema(
    "nodules",
    "One row per nodule of which more is known, named by its id or by its place.",
    (
        IN_CASE,
        optional("nodule_id", pl.String, "the nodule"),
        *(replace(column, is_required=False) for column in POSITION),
    ),
    key=(),
    is_open=True,
    further=tuple(
        replace(column, is_required=False)
        for column in (*NODULES.columns, *NODULES.further)
        if column.name not in (*KEYS, *PLACE)
    ),
)
"""What ``--nodules`` takes."""


def unread_columns(path: Path, known: tuple[str, ...]) -> tuple[Notice, ...]:
    """That a file of a reference has columns of which nothing is read."""
    unread = [name for name in read_header(path, known) if name not in known]
    return (Notice("nodule_columns_unread", {"file": path.name, "columns": unread}),) * bool(unread)


def joined_nodules(reference: Reference, path: Path) -> Reference:
    """The reference with what a table says of its nodules besides.

    A row is about the nodule with its ``nodule_id``; without one, about the nodule in which its
    place lies. Rows of other cases are passed over, and told.

    Raises:
        InputError: for each row that is about no nodule or about one that another row is about,
            and for each value that contradicts the reference.
    """
    given = read_table(path, GIVEN)
    rows = given.with_row_index("row", offset=1).filter(reference.rows_of(given["case_id"]) >= 0)
    about, problems = _nodule_rows(reference, rows, path.name)
    raise_problems(problems)
    facts = rows.drop("row", *KEYS, *PLACE).with_columns(about=pl.Series(about, dtype=pl.Int64))
    numbers = pl.DataFrame({"about": np.arange(reference.nodules.height)})
    beside = numbers.join(facts, on="about", how="left", maintain_order="left").drop("about")
    nodules = filled_from(reference.nodules, beside, KEYS, "nodules", reference.name)
    others = given.height - rows.height
    told = Notice("nodules_passed_over", {"count": others, "given": given.height})
    return replace(
        reference, nodules=nodules, notices=(*reference.notices, *((told,) if others else ()))
    )


def _nodule_rows(
    reference: Reference, given: pl.DataFrame, source: str
) -> tuple[IntArray, Problems]:
    """For each row of a table the row of its nodule, and what is wrong with others."""
    find, problems = _Finder(reference.nodules), Problems()
    found = np.full(given.height, -1, dtype=np.int64)
    taken: dict[int, int] = {}
    for at, row in enumerate(given.iter_rows(named=True)):
        nodule = find.named(row) if row["nodule_id"] is not None else find.placed(row)
        if isinstance(nodule, int) and nodule in taken:
            nodule = f"is about the nodule of row {taken[nodule]}."
        if isinstance(nodule, str):
            remedy = "Name each nodule of the reference once: by its id, or by a place within it."
            problems.add(f"{source} row {row['row']}", nodule, remedy)
            continue
        found[at], taken[nodule] = nodule, row["row"]
    return found, problems


class _Finder:
    """Finds the nodule that a row is about: its row in NODULES, or what is wrong."""

    def __init__(self, nodules: pl.DataFrame) -> None:
        self._rows = {key: row for row, key in enumerate(nodules.select(KEYS).iter_rows())}
        self._names = nodules["nodule_id"].to_list()
        self._case = nodules["case_id"].to_numpy()
        self._places = nodules.select(PLACE).to_numpy()
        self._radius = nodules["diameter_mm"].fill_null(UNMEASURED_MM).to_numpy() / 2

    def named(self, row: Mapping[str, Any]) -> int | str:
        """The nodule with the row's id; the row's place, where it has one, must lie in it."""
        found = self._rows.get((row["case_id"], row["nodule_id"]))
        if found is None:
            return f"case '{row['case_id']}' has no nodule '{row['nodule_id']}'."
        gap = float(np.linalg.norm(self._places[found] - _place(row)))
        if gap > self._radius[found]:
            return f"lies {gap:.1f} mm from its nodule '{row['nodule_id']}'."
        return found

    def placed(self, row: Mapping[str, Any]) -> int | str:
        """The one nodule of the case in which the row's place lies."""
        place = _place(row)
        if np.isnan(place).any():
            return "names its nodule neither by nodule_id nor by x_mm, y_mm and z_mm."
        distance = np.linalg.norm(self._places - place, axis=1)
        inside = np.flatnonzero((self._case == row["case_id"]) & (distance <= self._radius))
        if len(inside) == 1:
            return int(inside[0])
        if not len(inside):
            return f"no nodule of case '{row['case_id']}' lies there."
        return f"lies in several nodules: {', '.join(self._names[one] for one in inside)}."


def _place(row: Mapping[str, Any]) -> FloatArray:
    return np.array([row[name] for name in PLACE], dtype=np.float64)
