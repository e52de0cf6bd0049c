import polars as pl
import pytest

from annotation import drawn, reading, small_cases
from nodulebench.annotate.consistency import check_consistency
from nodulebench.errors import InputError
from nodulebench.workflows.unite_readings import accept_all, unite

CASES = small_cases("a")


def united(*readings, cases=CASES):
    return unite("u", cases, readings, accept_all([check_consistency(readings)]))


def test_the_union_of_boxes_is_their_hull_on_each_slice() -> None:
    found = united(
        reading("r1", "a", drawn("x", (3, 50, 50, 8), (4, 50, 50, 8))),
        reading("r2", "a", drawn("y", (3, 54, 50, 8))),
    )
    columns = ["slice_index", "z_mm", "center_x_mm", "center_y_mm", "length_mm", "width_mm"]
    assert found.slices.select(columns).rows() == [
        (3, 3.0, 52.0, 50.0, 12.0, 8.0),
        (4, 4.0, 50.0, 50.0, 8.0, 8.0),
    ]
    row = found.nodules.row(0, named=True)
    assert (row["nodule_id"], row["agreement"], row["is_ignored"]) == ("nodule-1", 2, False)
    assert (row["x_mm"], row["y_mm"], row["z_mm"]) == (52.0, 50.0, 3.5)
    assert row["diameter_mm"] == 10.0  # (12 + 8)/2 on slice 3


def test_two_clusters_of_a_nodule_on_one_slice_become_one_hull() -> None:
    found = united(
        reading("r1", "a", drawn("x", (3, 50, 50, 8), (4, 20, 50, 4))),
        reading("r2", "a", drawn("y", (3, 50, 50, 8), (4, 60, 50, 4))),
    )
    assert found.slices.filter(slice_index=4)["length_mm"].to_list() == [44.0]


def test_nothing_accepted_gives_a_reference_without_nodules() -> None:
    found = unite("u", CASES, [], [])
    assert (found.nodules.height, found.slices.height, found.cases.height) == (0, 0, 1)


def test_slices_that_lie_nobody_knows_where_are_refused() -> None:
    bare = CASES.with_columns(pl.lit(None, dtype=pl.Float64).alias("spacing_z_mm"))
    with pytest.raises(InputError, match=r"case 'a': the height of its slices is not known"):
        united(reading("r1", "a", drawn("x", (3, 50, 50, 8))), cases=bare)
