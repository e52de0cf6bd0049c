"""Small readings for tests: readings(read("a", block("1", (2, 2), (4, 4)), readers="123"))."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES

Pixel = tuple[int, int]


@dataclass(frozen=True)
class Drawing:
    """What one reader drew: outlines as pixels (column, row) by slice, or a point."""

    reader: str
    kind: str = "nodule"
    point: tuple[float, float, float] | None = None
    outlines: tuple[tuple[int, tuple[tuple[float, float], ...], bool], ...] = ()
    convention: str = "outside_pixels"
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadCase:
    """A case and what was drawn in it."""

    name: str
    drawings: tuple[Drawing, ...]
    readers: tuple[str, ...]
    spacing: tuple[float, float, float]
    more: dict[str, Any]


def rim(low: Pixel, high: Pixel) -> tuple[tuple[int, int], ...]:
    """The pixels around the block of pixels low..high, in order."""
    (i0, j0), (i1, j1) = (low[0] - 1, low[1] - 1), (high[0] + 1, high[1] + 1)
    return (
        *((i, j0) for i in range(i0, i1)),
        *((i1, j) for j in range(j0, j1)),
        *((i, j1) for i in range(i1, i0, -1)),
        *((i0, j) for j in range(j1, j0, -1)),
    )


def block(
    reader: str,
    low: Pixel,
    high: Pixel,
    slices: Iterable[int] = (0,),
    hole: tuple[Pixel, Pixel] | None = None,
    **more: Any,
) -> Drawing:
    """A nodule of the pixels low..high on each slice, outlined as LIDC does."""
    outlines = [(number, rim(low, high), False) for number in slices]
    if hole is not None:
        outlines += [(number, rim(*hole), True) for number in slices]
    return Drawing(reader, outlines=tuple(outlines), more=more)


def polygon(reader: str, *corners: tuple[float, float], at: int = 0, **more: Any) -> Drawing:
    """A nodule inside a polygon of image coordinates."""
    return Drawing(reader, outlines=((at, corners, False),), convention="boundary", more=more)


def point(
    reader: str, x: float, y: float, z: float, kind: str = "small_nodule", **more: Any
) -> Drawing:
    """A single point in mm."""
    return Drawing(reader, kind, (x, y, z), more=more)


def read(
    name: str,
    *drawings: Drawing,
    readers: Iterable[str] = (),
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0),
    **more: Any,
) -> ReadCase:
    """A case that these readers (at least those who drew) have read."""
    everyone = (*readers, *(drawing.reader for drawing in drawings))
    return ReadCase(name, drawings, tuple(dict.fromkeys(everyone)), spacing, more)


def readings(*cases: ReadCase, name: str = "test") -> Readings:
    """The readings of these cases; pixel (0, 0) of slice 0 is at the origin."""
    sessions, findings, slices = [], [], []
    for case in cases:
        sessions += [{"case_id": case.name, "reader_id": reader} for reader in case.readers]
        for number, drawing in enumerate(case.drawings):
            key = {"case_id": case.name, "finding_id": f"f{number}"}
            place = dict(zip(("x_mm", "y_mm", "z_mm"), drawing.point or (None,) * 3, strict=True))
            row = {"reader_id": drawing.reader, "kind": drawing.kind, **place, **drawing.more}
            findings.append(key | row)
            for order, (at, points, is_hole) in enumerate(drawing.outlines):
                text = ";".join(f"{i * case.spacing[0]} {j * case.spacing[1]}" for i, j in points)
                slices.append(
                    key
                    | {
                        "slice_index": at,
                        "outline_index": order,
                        "z_mm": at * case.spacing[2],
                        "is_hole": is_hole,
                        "convention": drawing.convention,
                        "contour": text,
                    }
                )
    return Readings(
        name=name,
        cases=CASES.conform(pl.DataFrame([_case_row(case) for case in cases]), "CASES"),
        sessions=_table(SESSIONS, sessions),
        findings=_table(FINDINGS, findings),
        slices=_table(FINDING_SLICES, slices),
    )


def _case_row(case: ReadCase) -> dict[str, Any]:
    spacing = {f"spacing_{axis}_mm": case.spacing[at] for at, axis in enumerate("xyz")}
    origin = dict.fromkeys(("origin_x_mm", "origin_y_mm", "origin_z_mm"), 0.0)
    return {"case_id": case.name, **spacing, **origin, **case.more}


def _table(schema: Any, rows: list[dict[str, Any]]) -> pl.DataFrame:
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else schema.empty()
    return schema.conform(table, schema.name)
