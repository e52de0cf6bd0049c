"""LIDC's characteristics, NIFDC's six types, ITU's four densities: explicit maps between them."""

import polars as pl

from nodulebench.core.tables import DENSITY_OF_TYPE

SOLID_CALCIFICATION = 3
"""LIDC's calcification pattern 'solid'. NIFDC calls a nodule calcified if it is so completely, so
popcorn, laminated, central and non-central calcification do not make one."""

TYPE_OF_TEXTURE = {
    1: "pure_ground_glass",
    2: "pure_ground_glass",
    3: "part_solid",
    4: "solid",
    5: "solid",
}
"""LIDC's texture. Its scale names 1 (ground glass), 3 (part-solid) and 5 (solid); the steps between
go to the nearer pure type, since only 3 says that both parts are seen."""


def lidc_type() -> pl.Expr:
    """The NIFDC type of a finding from its columns ``calcification`` and ``texture``.

    Null where the reader rated neither. LIDC does not say whether a nodule is pleural, so the two
    pleural types never come out.
    """
    calcification = pl.col("calcification")
    by_texture = pl.col("texture").replace_strict(
        TYPE_OF_TEXTURE, default=None, return_dtype=pl.String
    )
    is_calcified = calcification == SOLID_CALCIFICATION
    return pl.when(is_calcified).then(pl.lit("calcified")).otherwise(by_texture)


def density_of_type(type_column: str = "type") -> pl.Expr:
    """The ITU density of a column of NIFDC types: pleural is solid, pleural calcified calcified."""
    return pl.col(type_column).replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)


def most_frequent(column: str) -> pl.Expr:
    """Within a group the value that most readers gave; null where two are equally frequent."""
    counted = pl.col(column).drop_nulls().value_counts(sort=True)
    first, second = (counted.get(place, null_on_oob=True) for place in (0, 1))
    leads = first.struct.field("count") > second.struct.field("count").fill_null(0)
    return pl.when(leads).then(first.struct.field(column))
