"""Convert 3-D boxes in millimetres, as detectors give them, to and from marks and nodules."""

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import Problem, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.imaging.geometry import Geometry, GeometryProblem, geometries, slices_through

_AREA = pl.col("length_mm") * pl.col("width_mm")
_AVERAGE_DIAMETER = pl.coalesce(
    (pl.col("long_mm") + pl.col("short_mm")) / 2, (pl.col("length_mm") + pl.col("width_mm")) / 2
)


def gather(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Make one row per nodule or mark from its boxes on slices, in the order of the file.

    x, y, z are the middle of the box around all its boxes. The diameter is the largest average
    diameter of a slice: (long + short)/2, or of the box if these are missing. The long and short
    axes are those of the largest slice (box area, then average diameter, then the lowest). The
    score is the highest of a slice. Type, density, malignancy and category come from the slice with
    the highest score, then the largest one, that has a value. ``key`` is "mark_id" or "nodule_id".
    """
    return rows.group_by("case_id", key, maintain_order=True).agg(
        x_mm=_middle(pl.col("center_x_mm"), pl.col("length_mm")),
        y_mm=_middle(pl.col("center_y_mm"), pl.col("width_mm")),
        z_mm=_middle(pl.col("z_mm"), pl.lit(0.0)),
        diameter_mm=_AVERAGE_DIAMETER.max(),
        score=pl.col("score").max(),
        long_mm=_largest_first("long_mm").first(),
        short_mm=_largest_first("short_mm").first(),
        **{
            name: _best_first(name).drop_nulls().first()
            for name in ("type", "density", "malignancy", "category")
        },
    )


def _largest_first(name: str) -> pl.Expr:
    return pl.col(name).sort_by(
        _AREA, _AVERAGE_DIAMETER, "slice_index", descending=[True, True, False]
    )


def _best_first(name: str) -> pl.Expr:
    return pl.col(name).sort_by(
        "score",
        _AREA,
        _AVERAGE_DIAMETER,
        "slice_index",
        descending=[True, True, True, False],
        nulls_last=True,
    )


def _middle(center: pl.Expr, extent: pl.Expr) -> pl.Expr:
    return ((center - extent / 2).min() + (center + extent / 2).max()) / 2


def slices_of_boxes(
    boxes: pl.DataFrame, schema: TableSchema, geometries: dict[str, Geometry]
) -> pl.DataFrame:
    key = schema.key[1]
    parts = [schema.empty()]
    for (case_id,), part in boxes.group_by("case_id", maintain_order=True):
        center = part.select("x_mm", "y_mm", "z_mm").to_numpy()
        extent = part.select("extent_x_mm", "extent_y_mm", "extent_z_mm").to_numpy()
        box, number, on_slice = slices_through(geometries[str(case_id)], center, extent)
        on_slices = pl.DataFrame(
            {
                "case_id": part["case_id"][box],
                key: part[key][box],
                "slice_index": number,
                "z_mm": on_slice[:, 2],
                "center_x_mm": on_slice[:, 0],
                "center_y_mm": on_slice[:, 1],
                "length_mm": extent[box, 0],
                "width_mm": extent[box, 1],
            }
        )
        parts.append(schema.arrange(on_slices))
    return pl.concat(parts)


def boxes_of_slices(slices: pl.DataFrame, key: str) -> pl.DataFrame:
    """The 3-D box around the boxes of each nodule or mark.

    A slice is as thick as the distance between slices. For a nodule or mark on one slice this is
    the median of its case; if that is unknown, the thickness is 0.
    """
    edges = slices.group_by("case_id", key, maintain_order=True).agg(
        extent_x_mm=_span(pl.col("center_x_mm"), pl.col("length_mm")),
        extent_y_mm=_span(pl.col("center_y_mm"), pl.col("width_mm")),
        height=pl.col("z_mm").max() - pl.col("z_mm").min(),
        steps=pl.col("slice_index").max() - pl.col("slice_index").min(),
    )
    spacing = pl.when(pl.col("steps") > 0).then(pl.col("height") / pl.col("steps"))
    thickness = pl.coalesce(spacing, spacing.median().over("case_id"), pl.lit(0.0))
    return edges.select(
        "case_id",
        key,
        "extent_x_mm",
        "extent_y_mm",
        extent_z_mm=(pl.col("height").fill_null(0.0) + thickness),
    )


def _span(center: pl.Expr, extent: pl.Expr) -> pl.Expr:
    return (center + extent / 2).max() - (center - extent / 2).min()


_EXTENTS = ("extent_x_mm", "extent_y_mm", "extent_z_mm")
BOXES = TableSchema(
    "BOXES",
    "One row per 3-D box; a box without extent is a position of unknown size.",
    (
        Column("case_id", pl.String, "the CT series"),
        Column("box_id", pl.String, "unique within the case"),
        Column("x_mm", pl.Float64, "centre, LPS", "mm"),
        Column("y_mm", pl.Float64, "centre, LPS", "mm"),
        Column("z_mm", pl.Float64, "centre, LPS", "mm"),
        *(Column(name, pl.Float64, "size of the box", "mm", minimum=0) for name in _EXTENTS),
        Column("score", pl.Float64, "higher: more likely a nodule", is_required=False),
        Column("type", pl.String, "NIFDC type", is_required=False, allowed=NODULE_TYPES),
        Column("is_ignored", pl.Boolean, "marks on it do not count", is_required=False),
    ),
    key=("case_id", "box_id"),
)
_NO_SLICES = Notice("geometry_unknown")


def submission_of(
    boxes: pl.DataFrame,
    *,
    name: str,
    digest: str,
    cases: pl.DataFrame | None,
    notices: tuple[Notice, ...] = (),
) -> Submission:
    """Make a submission from boxes, cut into slices if the geometry of the cases is known."""
    owned = boxes.rename({"box_id": "mark_id"}).with_columns(diameter_mm=_diameter())
    slices, more = _slices(owned, MARK_SLICES, cases)
    return Submission(
        name=name,
        marks=MARKS.arrange(owned),
        slices=slices,
        digest=digest,
        notices=(*notices, *more),
    )


def reference_of(
    boxes: pl.DataFrame,
    *,
    listed: pl.DataFrame,
    name: str,
    cases: pl.DataFrame | None,
    notices: tuple[Notice, ...] = (),
) -> Reference:
    """Make a reference from the nodules' boxes.

    ``listed`` has the case_id of every case that the file lists, in order; with ``cases`` it may
    list no other case.
    """
    owned = boxes.rename({"box_id": "nodule_id"}).with_columns(
        diameter_mm=_diameter(), is_ignored=pl.col("is_ignored").fill_null(False)
    )
    known = CASES.conform(listed, name) if cases is None else cases
    require_listed(listed["case_id"], known, name)
    slices, more = _slices(owned, NODULE_SLICES, known)
    return Reference(
        name=name,
        cases=known,
        nodules=NODULES.arrange(owned),
        slices=slices,
        notices=(*notices, *more),
    )


def require_listed(case_ids: pl.Series, cases: pl.DataFrame, name: str) -> None:
    unlisted = case_ids.filter(~case_ids.is_in(cases["case_id"].implode())).unique(
        maintain_order=True
    )
    raise_problems(
        Problem(
            name,
            f"case '{case_id}' is not among the {cases.height} given cases.",
            "Add it to the list of cases, or remove it here.",
        )
        for case_id in unlisted
    )


def boxes_of_marks(submission: Submission) -> pl.DataFrame:
    """The box of every mark: around its slices, else as large as its diameter, else of size 0."""
    return _boxes(submission.marks, submission.slices, "mark_id")


def boxes_of_nodules(reference: Reference) -> pl.DataFrame:
    """The box of every nodule: around its slices, else as large as its diameter, else of size 0."""
    return _boxes(reference.nodules, reference.slices, "nodule_id")


def complete_slices(
    owners: pl.DataFrame,
    slices: pl.DataFrame | None,
    schema: TableSchema,
    known: dict[str, Geometry],
    name: str,
) -> pl.DataFrame:
    """The slices of all marks or nodules; those without slices get the slices through their box."""
    key = schema.key[1]
    given = schema.empty() if slices is None else slices
    bare = owners.join(given, on=["case_id", key], how="anti", maintain_order="left")
    unknown = bare.filter(~pl.col("case_id").is_in(list(known)))["case_id"]
    raise_problems(
        Problem(
            name,
            f"case '{case_id}' has {key.removesuffix('_id')}s without slices, and the geometry "
            "of the case is not known.",
            "Give the cases with spacing, origin and size.",
        )
        for case_id in unknown.unique(maintain_order=True)
    )
    boxes = _boxes(bare, None, key).rename({"box_id": key})
    return pl.concat([given, slices_of_boxes(boxes, schema, known)])


def _diameter() -> pl.Expr:
    """The mean of the box's extents in the slice, as NIFDC averages long and short axes."""
    average = (pl.col("extent_x_mm") + pl.col("extent_y_mm")) / 2
    return pl.when(average > 0).then(average)


def _slices(
    owned: pl.DataFrame, schema: TableSchema, cases: pl.DataFrame | None
) -> tuple[pl.DataFrame | None, tuple[Notice, ...]]:
    known = {case: grid for case, grid in geometries(cases).items() if grid.size is not None}
    listed = owned if cases is None else owned.join(cases, on="case_id", how="semi")
    if listed["case_id"].is_in(list(known)).all() and known:
        return slices_of_boxes(
            owned.filter(pl.col("case_id").is_in(list(known))), schema, known
        ), ()
    return None, (_NO_SLICES,) if owned.height else ()


def _boxes(owners: pl.DataFrame, slices: pl.DataFrame | None, key: str) -> pl.DataFrame:
    size = pl.when(pl.col("diameter_mm") > 0).then(pl.col("diameter_mm")).otherwise(0.0)
    boxes = owners.with_columns(size.alias(name) for name in _EXTENTS)
    if slices is not None:
        boxes = boxes.drop(_EXTENTS).join(
            boxes_of_slices(slices, key), on=["case_id", key], how="left", maintain_order="left"
        )
        boxes = boxes.with_columns(pl.col(name).fill_null(size) for name in _EXTENTS)
    return BOXES.arrange(boxes.rename({key: "box_id"}))


_LARGEST_DIFFERENCE = 0.5
"""The allowed difference of slice_index and z_mm, in slices, so that rounded heights pass."""
_LARGEST_DIFFERENCE_MM = 0.5
"""The addition to it where the geometry is not known; the full tolerance on a single slice."""
_MOST_NAMED = 5


def with_positions(boxes: pl.DataFrame, known: dict[str, Geometry], name: str) -> pl.DataFrame:
    """Fill slice_index from z_mm and z_mm from slice_index where one of them is empty.

    ``place`` is the location of a box in the file, for messages. A fractional slice_index stays so.
    """
    number = boxes["slice_index"].cast(pl.Float64).to_numpy(writable=True)
    height = boxes["z_mm"].cast(pl.Float64).to_numpy(writable=True)
    xy_mm = boxes.select("center_x_mm", "center_y_mm").to_numpy()
    groups = boxes.with_row_index("_row").group_by("case_id", maintain_order=True)
    for (case_id,), part in groups:
        if case_id not in known:
            continue
        grid, rows = known[str(case_id)], part["_row"].to_numpy()
        has_number, has_height = ~np.isnan(number[rows]), ~np.isnan(height[rows])
        lost = rows[~has_number & has_height]
        number[lost] = np.round(grid.slice_of(np.column_stack([xy_mm[lost], height[lost]])))
        lost = rows[has_number & ~has_height]
        height[lost] = grid.height_on(number[lost], xy_mm[lost])
    is_unplaced = np.isnan(number) | np.isnan(height)
    is_strange = is_unplaced & ~boxes["case_id"].is_in(list(known)).to_numpy()
    if not known:
        is_strange[:] = False
    unknown = [
        *_box_problems(
            boxes,
            is_strange,
            name,
            f"its case is not among the {len(known)} whose geometry is given, so its slice cannot "
            "be located.",
            "Is it from another set? If not, give its geometry, or both slice_index and z_mm.",
        ),
        *_box_problems(
            boxes,
            is_unplaced & ~is_strange,
            name,
            "slice_index and z_mm are not both known.",
            "Give both, or one of them and the geometry of the case (spacing, origin, size).",
        ),
    ]
    cases = tuple(boxes["case_id"].filter(pl.Series(is_unplaced)).unique(maintain_order=True))
    wanted = [
        GeometryProblem(problem.where, problem.what, problem.remedy, cases) for problem in unknown
    ]
    raise_problems([*wanted, *_contradictions(boxes, known, name)])
    return boxes.with_columns(slice_index=pl.Series(number), z_mm=pl.Series(height))


def require_no_contradictions(slices: pl.DataFrame, known: dict[str, Geometry], name: str) -> None:
    rows = slices.with_row_index("_row", offset=1)
    places = pl.format("{} row {}", pl.lit(name), "_row")
    raise_problems(
        _contradictions(rows.drop("_row").with_columns(rows.select(place=places)), known, name)
    )


def _contradictions(boxes: pl.DataFrame, known: dict[str, Geometry], name: str) -> list[Problem]:
    stated = boxes.with_row_index("_row").drop_nulls(["slice_index", "z_mm"])
    is_off, is_astray = np.zeros((2, boxes.height), dtype=np.bool_)
    for (case_id,), part in stated.group_by("case_id", maintain_order=True):
        rows, number = part["_row"].to_numpy(), part["slice_index"].cast(pl.Float64).to_numpy()
        if case_id in known:
            point = part.select("center_x_mm", "center_y_mm", "z_mm").to_numpy()
            away = known[str(case_id)].slice_of(point) - number
            is_off[rows] = np.abs(away) > _LARGEST_DIFFERENCE
        else:
            is_astray[rows] = _is_astray(number, part["z_mm"].to_numpy())
    remedy = "Count slices from 0 at the feet, and give z_mm in LPS."
    of_grid = "slice_index and z_mm do not agree with the geometry of the case."
    of_others = "slice_index and z_mm do not agree with the other boxes of the case."
    return [
        *_box_problems(boxes, is_off, name, of_grid, remedy),
        *_box_problems(boxes, is_astray, name, of_others, remedy),
    ]


def _is_astray(number: FloatArray, height: FloatArray) -> BoolArray:
    """Whether each box of a case is off the line on which z rises evenly from slice to slice."""
    order = np.argsort(number)
    half = max(1, len(order) // 2)  # distant pairs, so that rounding hardly tilts the line
    run = number[order][half:] - number[order][:-half]
    rise = height[order][half:] - height[order][:-half]
    spacing = _weighted_median(rise[run > 0] / run[run > 0], run[run > 0]) if run.any() else 0.0
    if spacing <= 0 and number.min() < number.max():
        return np.ones(len(number), dtype=np.bool_)
    tolerance = _LARGEST_DIFFERENCE * spacing + _LARGEST_DIFFERENCE_MM
    up = height - spacing * number
    is_far: BoolArray = np.abs(up - np.median(up)) > tolerance
    return is_far


def _weighted_median(value: FloatArray, weight: FloatArray) -> float:
    order = np.argsort(value)
    through = np.cumsum(weight[order])
    return float(value[order][np.searchsorted(through, through[-1] / 2)])


def _box_problems(
    boxes: pl.DataFrame, is_bad: BoolArray, name: str, what: str, remedy: str
) -> list[Problem]:
    bad = boxes.filter(pl.Series(is_bad, dtype=pl.Boolean))
    problems = Problems(Problem(place, what, remedy) for place in bad["place"].head(_MOST_NAMED))
    if bad.height > _MOST_NAMED:
        problems.add(name, f"{bad.height - _MOST_NAMED} more boxes like this.")
    return problems
