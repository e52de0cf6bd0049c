"""Checked readings -> the nodules that are the union of what their readers drew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.annotation.readings.consistency import Box, Candidate, CaseCheck
from nodulebench.annotation.readings.findings import finding_name
from nodulebench.annotation.readings.reading import DrawnSlice, Reading
from nodulebench.core.errors import Problem, refuse_any
from nodulebench.core.tables import NODULE_SLICES, NODULES, Reference
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import outline_texts
from nodulebench.imaging.rasters import voxels_of
from nodulebench.imaging.trace import trace_outlines
from nodulebench.io.marks.slice_boxes import gather
from nodulebench.reference.sizes import slice_sizes

_ORIGIN = {
    "agreement": pl.Int64,
    "findings": pl.String,
    "added_by": pl.String,
    "corrected_by": pl.String,
    "is_boxed": pl.Boolean,
}
_SIZE = (
    pl.when(pl.col("is_boxed") | pl.col("long_mm").is_null())
    .then(pl.lit("box_average"))
    .otherwise(pl.lit("average"))
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A candidate that is a nodule, and its type where it was said."""

    case_id: str
    candidate: Candidate
    type: str | None = None
    added_by: str | None = None
    """The reviewer who drew it because no reader had; None: a reader's."""
    corrected_by: str | None = None
    """Who drew it anew; None: nobody."""
    anew: tuple[DrawnSlice, ...] = ()
    """How; this counts instead of what readers drew."""


def accept_all(checks: Iterable[CaseCheck]) -> list[Accepted]:
    """Every candidate, as the check left it."""
    return [Accepted(check.case_id, one) for check in checks for one in check.candidates]


def unite(
    name: str, cases: pl.DataFrame, readings: Iterable[Reading], accepted: Iterable[Accepted]
) -> Reference:
    """A reference of nodules: on each slice the hull of boxes and the union of outlines.

    Where a reader drew an outline and the pixels are known, the outline is that of all pixels that
    any reader holds, and long and short axis are measured anew on it; what was drawn as boxes
    alone has the sides of its hull as axes. NODULES gets further columns: ``findings``, the names
    of what a nodule was made of, ``added_by``, ``corrected_by``, and ``size_definition``:
    ``average`` of long and short axis, or ``box_average`` of the sides of a box, on the slice where
    it is largest.

    Args:
        name: of the reference.
        cases: CASES, in order.
        readings: what the readers drew.
        accepted: the candidates that are nodules.
    """
    drawn = {
        (reading.case_id, reading.reader_id, finding.finding_id, one.slice_index): one
        for reading in readings
        for finding in reading.findings
        for one in finding.slices
    }
    places = geometries(cases)
    rows = [row for one in accepted for row in _rows(one, drawn, places.get(one.case_id))]
    empty = {column.name: column.dtype for column in NODULE_SLICES.columns}
    more = {"score": pl.Float64, "type": pl.String, **_ORIGIN}
    said = {"density": pl.String, "malignancy": pl.Float64, "category": pl.String}
    table = _with_heights(pl.DataFrame(rows, schema={**empty, **more, **said}), places)
    origin = table.group_by("case_id", "nodule_id", maintain_order=True).agg(
        pl.col(list(_ORIGIN)).first()
    )
    nodules = (
        gather(table, "nodule_id")
        .drop("score")
        .with_columns(origin.select(list(_ORIGIN)), is_ignored=pl.lit(False))
        .with_columns(size_definition=_SIZE)
        .drop("is_boxed")
    )
    return Reference(
        name=name,
        cases=cases,
        nodules=NODULES.arrange(nodules),
        slices=NODULE_SLICES.arrange(table),
        rule="arbitrated",
    )


def _rows(
    accepted: Accepted,
    drawn: Mapping[tuple[str, str, str, int], DrawnSlice],
    place: Geometry | None,
) -> Iterable[dict[str, object]]:
    one = accepted.candidate
    on_slice = _members(accepted, drawn)
    is_boxed = not any(member.contour for members in on_slice.values() for member in members)
    for number, members in on_slice.items():
        boxes = map(_box, accepted.anew) if accepted.anew else one.boxes
        box = _hull([box for box in boxes if box.slice_index == number])
        heights = [member.z_mm for member in members if member.z_mm is not None]
        yield {
            "case_id": accepted.case_id,
            "nodule_id": one.candidate_id.replace("candidate", "nodule"),
            "slice_index": number,
            "z_mm": heights[0] if heights else None,
            "center_x_mm": box.center_x_mm,
            "center_y_mm": box.center_y_mm,
            "length_mm": box.length_mm,
            "width_mm": box.width_mm,
            "type": accepted.type,
            "agreement": 0 if accepted.added_by else len(one.reader_ids),
            "findings": " ".join(finding_name(*finding) for finding in one.findings),
            "added_by": accepted.added_by,
            "corrected_by": accepted.corrected_by,
            "is_boxed": is_boxed,
            **(_sides(box) if is_boxed else _united_outline(members, place)),
        }


def _members(
    accepted: Accepted, drawn: Mapping[tuple[str, str, str, int], DrawnSlice]
) -> dict[int, list[DrawnSlice]]:
    """What a nodule is made of on each slice: what readers drew, or one drew anew."""
    if accepted.anew:
        ordered = sorted(accepted.anew, key=lambda member: member.slice_index)
        return {member.slice_index: [member] for member in ordered}
    one = accepted.candidate
    return {
        number: [
            drawn[accepted.case_id, *finding, number]
            for cluster in one.clusters
            if cluster.box.slice_index == number
            for finding in cluster.findings
        ]
        for number in sorted({box.slice_index for box in one.boxes})
    }


def _box(drawn: DrawnSlice) -> Box:
    center = (drawn.center_x_mm, drawn.center_y_mm)
    return Box(drawn.slice_index, *center, drawn.length_mm, drawn.width_mm)


def _sides(box: Box) -> dict[str, object]:
    """The axes of what was drawn as boxes: their sides, as every reference rule has it."""
    short, long = sorted((box.length_mm, box.width_mm))
    return {"long_mm": long, "short_mm": short}


def _united_outline(members: Sequence[DrawnSlice], place: Geometry | None) -> dict[str, object]:
    """Outline and axes of all pixels that any member holds; nothing where none was outlined."""
    if place is None or not any(member.contour for member in members):
        return {}
    pixels = voxels_of([member.as_drawn for member in members], place)
    if not len(pixels):
        return {}
    one_set = np.zeros(len(pixels), dtype=np.int64)
    outline, corner = trace_outlines(one_set, pixels[:, 0], pixels[:, 1])
    level = np.full(len(corner), float(pixels[0, 2]))
    xyz_mm = place.to_world(np.column_stack([corner, level]))
    sizes = slice_sizes(one_set, pixels, place.spacing_mm[None, :2])
    return {
        "contour": outline_texts(outline, xyz_mm[:, 0], xyz_mm[:, 1])["contour"][0],
        "long_mm": sizes["long_mm"][0],
        "short_mm": sizes["short_mm"][0],
    }


def _hull(boxes: list[Box]) -> Box:
    left = min(box.center_x_mm - box.length_mm / 2 for box in boxes)
    right = max(box.center_x_mm + box.length_mm / 2 for box in boxes)
    front = min(box.center_y_mm - box.width_mm / 2 for box in boxes)
    back = max(box.center_y_mm + box.width_mm / 2 for box in boxes)
    middle = ((left + right) / 2, (front + back) / 2)
    return Box(boxes[0].slice_index, *middle, right - left, back - front)


def _with_heights(table: pl.DataFrame, places: Mapping[str, Geometry]) -> pl.DataFrame:
    """The table with the height of each slice: as drawn, else from the geometry.

    Raises:
        InputError: for each case whose slices lie nobody knows where.
    """
    bare = table.filter(pl.col("z_mm").is_null())["case_id"].unique(maintain_order=True)
    refuse_any(
        Problem(
            f"case '{case_id}'",
            "the height of its slices is not known.",
            "Give z_mm with the slices, or a table of cases with spacing and origin.",
        )
        for case_id in bare
        if case_id not in places
    )
    heights = [
        float(
            places[row["case_id"]].height_on(
                np.array([float(row["slice_index"])]),
                np.array([[row["center_x_mm"], row["center_y_mm"]]]),
            )[0]
        )
        if row["z_mm"] is None
        else row["z_mm"]
        for row in table.iter_rows(named=True)
    ]
    return table.with_columns(pl.Series("z_mm", heights, dtype=pl.Float64))
