import polars as pl
import pytest

from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES, PULMONARY_TYPES
from nodulebench.reference.decision import (
    TYPE_OF_TEXTURE,
    density_of_type,
    lidc_type,
    most_frequent,
)


def test_every_type_has_a_density_and_every_density_a_type() -> None:
    assert set(DENSITY_OF_TYPE) == set(NODULE_TYPES)
    assert set(DENSITY_OF_TYPE.values()) == set(DENSITIES)
    assert sorted(DENSITY_OF_TYPE[kind] for kind in PULMONARY_TYPES) == sorted(DENSITIES)
    assert set(TYPE_OF_TEXTURE) == set(range(1, 6))


@pytest.mark.parametrize(
    ("texture", "calcification", "expected"),
    [
        (1, 6, "pure_ground_glass"),
        (2, 6, "pure_ground_glass"),
        (3, 6, "part_solid"),
        (4, 6, "solid"),
        (5, 6, "solid"),
        (5, 3, "calcified"),
        (5, 4, "solid"),
        (5, 1, "solid"),
        (5, None, "solid"),
        (None, 3, "calcified"),
        (None, None, None),
        (0, 0, None),
    ],
)
def test_the_type_of_lidc_ratings(
    texture: int | None, calcification: int | None, expected: str | None
) -> None:
    table = pl.DataFrame(
        {"texture": [texture], "calcification": [calcification]},
        schema={"texture": pl.Int64, "calcification": pl.Int64},
    )
    assert table.select(lidc_type()).item() == expected


def test_densities_of_types() -> None:
    table = pl.DataFrame({"type": [*NODULE_TYPES, None]})
    assert table.select(density_of_type()).to_series().to_list() == [
        "solid",
        "part_solid",
        "ground_glass",
        "calcified",
        "solid",
        "calcified",
        None,
    ]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        (["solid", "solid", "part_solid"], "solid"),
        (["solid", "part_solid"], None),
        (["solid", None, None], "solid"),
        ([None, None], None),
    ],
)
def test_a_type_needs_more_readers_than_any_other(
    votes: list[str | None], expected: str | None
) -> None:
    table = pl.DataFrame({"group": 0, "type": pl.Series(votes, dtype=pl.String)})
    assert table.group_by("group").agg(most_frequent("type").alias("t"))["t"].to_list() == [
        expected
    ]
