"""Join the tables of a test set with tables given for it, or say where they contradict."""

import math
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.schema import TableSchema, optional
from nodulebench.core.tables import IN_CASE, NODULES, PLACE, POSITION, SCAN_FACTS, Reference
from nodulebench.imaging.geometry import geometries, lps_to_ras
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.table_files import read_table

_MOST_NAMED = 5
_TOLERANCE = 1e-6
"""Relative tolerance: tables round their numbers."""


def joined_cases(
    own: pl.DataFrame, given: pl.DataFrame, source: str
) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """Add what a given table says about the cases of a test set.

    The test set decides which cases exist and their order. Other cases of the given table are
    skipped with a notice.
    """
    joined = own.select("case_id").join(given, on="case_id", how="left", maintain_order="left")
    filled = filled_from(own, joined, ("case_id",), "cases", source)
    others = given.join(own, on="case_id", how="anti").height
    notices = (Notice("cases_passed_over", {"count": others, "given": given.height}),)
    return filled, notices if others else ()


def described_by(own: pl.DataFrame, given: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """Replace the description of the scans by that of their image headers, where they have one.

    Scanner and acquisition decide nothing and are named in many ways. So the images are right, and
    a notice names the columns that differed.
    """
    facts = [name for name in SCAN_FACTS if name in given.columns]
    seen = own.select("case_id").join(given, on="case_id", how="left", maintain_order="left")
    known = [name for name in facts if name in own.columns]
    changed = [
        name
        for name in known
        if any(
            None not in pair and not _is_same(*pair)
            for pair in zip(own[name], seen[name], strict=True)
        )
    ]
    described = own.with_columns(
        seen[name] if name not in own.columns else _first_known(seen[name], own[name])
        for name in facts
    )
    return described, (Notice("scans_described_by_images", {"columns": changed}),) * bool(changed)


def _first_known(first: pl.Series, second: pl.Series) -> pl.Series:
    is_text = first.dtype == pl.String or second.dtype == pl.String
    return (
        first.fill_null(second)
        if not is_text
        else first.cast(pl.String).fill_null(second.cast(pl.String))
    )


def filled_from(
    own: pl.DataFrame, other: pl.DataFrame, keys: tuple[str, ...], what: str, source: str
) -> pl.DataFrame:
    """Fill the gaps of a table row by row from another of as many rows; add its further columns.

    ``what`` ("cases" or "nodules") and ``source``, the name of the test set, are for messages.
    """
    shared = [name for name in own.columns if name in other.columns and name not in keys]
    _require_no_conflicts(own, other, shared, keys, what, source)
    further = [name for name in other.columns if name not in own.columns]
    return own.with_columns(
        *(own[name].fill_null(other[name].cast(own[name].dtype, strict=False)) for name in shared),
        *(other[name] for name in further),
    )


def _require_no_conflicts(
    own: pl.DataFrame,
    other: pl.DataFrame,
    shared: list[str],
    keys: tuple[str, ...],
    what: str,
    source: str,
) -> None:
    problems = [
        Problem(
            f"{what} {' '.join(repr(own[key][row]) for key in keys)}",
            f"{name} is '{other[name][row]}', but '{own[name][row]}' in the test set '{source}'.",
            f"Correct the table of {what}, or leave the column out.",
        )
        for name in shared
        for row in (own[name].cast(pl.String) != other[name].cast(pl.String)).arg_true().to_list()
        if not _is_same(own[name][row], other[name][row])
    ]
    if problems:
        more = len(problems) - _MOST_NAMED
        rest = [Problem(what, f"{more} more values like this.")] if more > 0 else []
        raise InputError([*problems[:_MOST_NAMED], *rest])


def _is_same(own: object, given: object) -> bool:
    try:
        pairs = list(zip(str(own).split(), str(given).split(), strict=True))
        return bool(pairs) and all(
            math.isclose(float(ours), float(theirs), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for ours, theirs in pairs
        )
    except ValueError:
        return own == given


IMAGE_SUFFIXES = (".nii.gz", ".nii", ".mhd", ".mha", ".nrrd", ".dcm")


def algorithm_name(path: Path) -> str:
    if path.is_dir():
        return path.resolve().name
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def case_of_image(image: str) -> str:
    """The case that an image file belongs to: its name without folders and image ending."""
    name = PurePosixPath(image.replace("\\", "/")).name
    for suffix in IMAGE_SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def file_of_case(case_id: str, suffix: str) -> str:
    if not case_id or case_id in (".", "..") or set(case_id) & set("/\\\0"):
        remedy = "Rename the case, or choose a format that stores all cases in one file."
        raise InputError.at(f"case '{case_id}'", "cannot be the name of a file.", remedy)
    return case_id + suffix


def position_notices(places: pl.DataFrame, cases: pl.DataFrame | None) -> tuple[Notice, ...]:
    """How many positions are outside their image, and whether RAS or LPS explains it."""
    known = geometries(cases)
    checked = outside = mirrored_outside = 0
    if known:
        for (case_id,), part in places.group_by("case_id", maintain_order=True):
            grid = known.get(str(case_id))
            if grid is None or grid.size is None:
                continue
            point = part.select("x_mm", "y_mm", "z_mm").to_numpy()
            checked += len(point)
            outside += int(np.count_nonzero(~grid.contains(point)))
            mirrored_outside += int(np.count_nonzero(~grid.contains(lps_to_ras(point))))
    if not outside:
        return ()
    values = {"outside": outside, "checked": checked}
    if mirrored_outside < outside:
        values["mirrored"] = mirrored_outside
    return (Notice("outside_image", values),)


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
