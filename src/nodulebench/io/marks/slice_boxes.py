"""Boxes on slices -> one row per nodule or mark; 3-D boxes -> boxes on slices."""

import polars as pl

from nodulebench.core.schema import TableSchema
from nodulebench.imaging.geometry import Geometry, slices_through

_AREA = pl.col("length_mm") * pl.col("width_mm")
_AVERAGE_DIAMETER = pl.coalesce(
    (pl.col("long_mm") + pl.col("short_mm")) / 2, (pl.col("length_mm") + pl.col("width_mm")) / 2
)


def gather(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Make one row per nodule or mark of its boxes on slices, in the order of the file.

    x, y, z are the middle of the box around all its boxes. The diameter is the largest average
    diameter of a slice: (long + short)/2, of the box where these are not given. The long and short
    axes are those of the largest slice (box area, then average diameter, then the lowest).
    The score is the highest of a slice. What else is said of it (type, density, malignancy,
    category) comes from the slice with the highest score, then the largest, that says it.

    Args:
        rows: a table with the columns of MARK_SLICES or NODULE_SLICES, and score, type, density,
            malignancy, category.
        key: "mark_id" or "nodule_id".
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
    """The middle between the lowest and the highest edge."""
    return ((center - extent / 2).min() + (center + extent / 2).max()) / 2


def slices_of_boxes(
    boxes: pl.DataFrame, schema: TableSchema, geometries: dict[str, Geometry]
) -> pl.DataFrame:
    """Cut 3-D boxes into the boxes that they are on each slice.

    Args:
        boxes: a table with case_id, mark_id or nodule_id, x_mm, y_mm, z_mm, extent_x_mm,
            extent_y_mm, extent_z_mm.
        schema: MARK_SLICES or NODULE_SLICES.
        geometries: where the voxels of each case are; every case of ``boxes`` has to be there.
    """
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

    A slice is as thick as slices are apart: where a nodule or mark has one slice only, as in the
    rest of its case; where that is unknown, it has no thickness.
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
