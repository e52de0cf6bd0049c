"""Join a table of further facts about nodules to a reference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.schema import TableSchema, optional
from nodulebench.core.tables import IN_CASE, NODULES, PLACE, POSITION, Reference
from nodulebench.io.cases import filled_from
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.table_files import read_table

KEYS = ("case_id", "nodule_id")
UNMEASURED_MM = 10.0
"""The assumed diameter of a nodule that was not measured, as under the luna16 rule."""
GIVEN = TableSchema(
    "nodules",
    "One row per nodule with further facts, named by its id or by its position.",
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


def unread_columns(file: CsvFile, known: tuple[str, ...]) -> tuple[Notice, ...]:
    unread = [name for name in file.header(known) if name not in known]
    values = {"file": file.path.name, "columns": unread}
    return (Notice("nodule_columns_unread", values),) * bool(unread)


def joined_nodules(reference: Reference, path: Path) -> Reference:
    """Add what a table says about the nodules of a reference.

    A row describes the nodule with its ``nodule_id``; without an id, the nodule that contains its
    position. Rows of other cases are skipped with a notice.
    """
    given = read_table(path, GIVEN)
    rows = given.with_row_index("row", offset=1).filter(reference.rows_of(given["case_id"]) >= 0)
    about, problems = _nodule_rows(reference, rows, path.name)
    raise_problems(problems)
    facts = rows.drop("row", *KEYS, *PLACE).with_columns(about=pl.Series(about, dtype=pl.Int64))
    numbers = pl.DataFrame({"about": np.arange(reference.nodules.height)})
    joined = numbers.join(facts, on="about", how="left", maintain_order="left").drop("about")
    nodules = filled_from(reference.nodules, joined, KEYS, "nodules", reference.name)
    others = given.height - rows.height
    notice = Notice("nodules_passed_over", {"count": others, "given": given.height})
    return replace(
        reference, nodules=nodules, notices=(*reference.notices, *((notice,) if others else ()))
    )


def _nodule_rows(
    reference: Reference, given: pl.DataFrame, source: str
) -> tuple[IntArray, Problems]:
    find, problems = _Finder(reference.nodules), Problems()
    nodule_rows = np.full(given.height, -1, dtype=np.int64)
    taken: dict[int, int] = {}
    for at, row in enumerate(given.iter_rows(named=True)):
        nodule = find.named(row) if row["nodule_id"] is not None else find.placed(row)
        if isinstance(nodule, int) and nodule in taken:
            nodule = f"names the same nodule as row {taken[nodule]}."
        if isinstance(nodule, str):
            remedy = "Name each nodule of the reference once: by its id or by a position in it."
            problems.add(f"{source} row {row['row']}", nodule, remedy)
            continue
        nodule_rows[at], taken[nodule] = nodule, row["row"]
    return nodule_rows, problems


class _Finder:
    """Finds the nodule that a row describes: its row in NODULES, or what is wrong."""

    def __init__(self, nodules: pl.DataFrame) -> None:
        self._rows = {key: row for row, key in enumerate(nodules.select(KEYS).iter_rows())}
        self._names = nodules["nodule_id"].to_list()
        self._case = nodules["case_id"].to_numpy()
        self._places = nodules.select(PLACE).to_numpy()
        self._radius = nodules["diameter_mm"].fill_null(UNMEASURED_MM).to_numpy() / 2

    def named(self, row: JsonObject) -> int | str:
        """The nodule with the row's id; the row's position, if it has one, must be inside it."""
        nodule = self._rows.get((row["case_id"], row["nodule_id"]))
        if nodule is None:
            return f"case '{row['case_id']}' has no nodule '{row['nodule_id']}'."
        gap = float(np.linalg.norm(self._places[nodule] - _place(row)))
        if gap > self._radius[nodule]:
            return f"is {gap:.1f} mm from its nodule '{row['nodule_id']}'."
        return nodule

    def placed(self, row: JsonObject) -> int | str:
        """The only nodule of the case that contains the row's position."""
        place = _place(row)
        if np.isnan(place).any():
            return "names its nodule neither by nodule_id nor by x_mm, y_mm and z_mm."
        distance = np.linalg.norm(self._places - place, axis=1)
        inside = np.flatnonzero((self._case == row["case_id"]) & (distance <= self._radius))
        if len(inside) == 1:
            return int(inside[0])
        if not len(inside):
            return f"case '{row['case_id']}' has no nodule at this position."
        return f"is inside several nodules: {', '.join(self._names[nodule] for nodule in inside)}."


def _place(row: JsonObject) -> FloatArray:
    return np.array([row[name] for name in PLACE], dtype=np.float64)
