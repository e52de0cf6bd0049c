import polars as pl
import pytest

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotation.consistency import check_consistency
from nodulebench.annotation.readings import DrawnFinding, findings_of
from nodulebench.annotation.release import accept_all, unite
from nodulebench.core.errors import InputError
from nodulebench.imaging.outlines import area_mm2, read_outline
from nodulebench.reference.build import build_reference

CASES = small_cases("a")


def united(*readings, cases=CASES):
    return unite("u", cases, readings, accept_all([check_consistency(readings)]))


def test_the_union_of_boxes_is_their_hull_on_each_slice() -> None:
    merged = united(
        reading("r1", "a", drawn("x", (3, 50, 50, 8), (4, 50, 50, 8))),
        reading("r2", "a", drawn("y", (3, 54, 50, 8))),
    )
    columns = ["slice_index", "z_mm", "center_x_mm", "center_y_mm", "length_mm", "width_mm"]
    assert merged.slices.select(columns).rows() == [
        (3, 3.0, 52.0, 50.0, 12.0, 8.0),
        (4, 4.0, 50.0, 50.0, 8.0, 8.0),
    ]
    row = merged.nodules.row(0, named=True)
    assert (row["nodule_id"], row["agreement"], row["is_ignored"]) == ("nodule-1", 2, False)
    assert (row["x_mm"], row["y_mm"], row["z_mm"]) == (52.0, 50.0, 3.5)
    assert row["diameter_mm"] == 10.0  # (12 + 8)/2 on slice 3
    assert (row["size_definition"], row["findings"]) == ("box_average", "r1:x r2:y")
    assert (row["long_mm"], row["short_mm"]) == (12.0, 8.0)
    assert merged.slices.select("long_mm", "short_mm").rows() == [(12.0, 8.0), (8.0, 8.0)]
    assert "is_boxed" not in merged.nodules.columns


def test_boxes_have_the_axes_of_a_reference_rule() -> None:
    first_reading = reading("r1", "a", drawn("x", (3, 50, 50, 8), (4, 50, 50, 6)))
    built = build_reference(findings_of("u", CASES, [first_reading]), "union")
    axes = ["long_mm", "short_mm", "diameter_mm"]
    assert united(first_reading).nodules.select(axes).rows() == built.nodules.select(axes).rows()


def test_outlines_without_known_pixels_are_not_boxes() -> None:
    bare = CASES.with_columns(pl.lit(None, dtype=pl.Float64).alias("spacing_x_mm"))
    square = "46.5 46.5;50.5 46.5;50.5 50.5;46.5 50.5"
    (slice_,) = outlined("x", square, (3, 48.5, 48.5, 4)).slices
    at_height = slice_.model_copy(update={"z_mm": 3.0})
    finding = DrawnFinding(finding_id="x", slices=(at_height,))
    merged = united(reading("r1", "a", finding), cases=bare)
    row = merged.nodules.row(0, named=True)
    assert (row["long_mm"], row["diameter_mm"], row["size_definition"]) == (None, 4, "box_average")


def outlined(name: str, contour: str, box: tuple[int, float, float, float]):
    (slice_,) = drawn(name, box).slices
    outline = tuple(map(tuple, read_outline(contour, "here").tolist()))
    return DrawnFinding(finding_id=name, slices=(slice_.model_copy(update={"outline": outline}),))


def test_the_union_of_outlines_holds_every_pixel_of_either() -> None:
    # pixels 47..50 of a square and 49..52 of another: together 47..52 by 47..50 and 49..52
    merged = united(
        reading(
            "r1", "a", outlined("x", "46.5 46.5;50.5 46.5;50.5 50.5;46.5 50.5", (3, 48.5, 48.5, 4))
        ),
        reading(
            "r2", "a", outlined("y", "48.5 48.5;52.5 48.5;52.5 52.5;48.5 52.5", (3, 50.5, 50.5, 4))
        ),
    )
    row = merged.slices.row(0, named=True)
    outline = read_outline(row["contour"], "union")
    assert area_mm2(outline) == 4 * 4 + 4 * 4 - 2 * 2
    assert (outline.min(), outline.max()) == (46.5, 52.5)
    assert row["long_mm"] == pytest.approx(6 * 2**0.5)
    assert (row["center_x_mm"], row["length_mm"]) == (49.5, 6.0)
    nodule = merged.nodules.row(0, named=True)
    assert nodule["diameter_mm"] == pytest.approx((row["long_mm"] + row["short_mm"]) / 2)
    assert nodule["size_definition"] == "average"


def test_a_box_with_an_outline_counts_as_its_pixels() -> None:
    merged = united(
        reading(
            "r1", "a", outlined("x", "46.5 46.5;50.5 46.5;50.5 50.5;46.5 50.5", (3, 48.5, 48.5, 4))
        ),
        reading("r2", "a", drawn("y", (3, 48.5, 48.5, 6))),
    )
    assert area_mm2(read_outline(merged.slices["contour"][0], "union")) == 36
    assert merged.slices["contour"].is_not_null().all()


def test_two_clusters_of_a_nodule_on_one_slice_become_one_hull() -> None:
    merged = united(
        reading("r1", "a", drawn("x", (3, 50, 50, 8), (4, 20, 50, 4))),
        reading("r2", "a", drawn("y", (3, 50, 50, 8), (4, 60, 50, 4))),
    )
    assert merged.slices.filter(slice_index=4)["length_mm"].to_list() == [44.0]


def test_nothing_accepted_gives_a_reference_without_nodules() -> None:
    merged = unite("u", CASES, [], [])
    assert (merged.nodules.height, merged.slices.height, merged.cases.height) == (0, 0, 1)


def test_slices_without_a_known_position_are_refused() -> None:
    bare = CASES.with_columns(pl.lit(None, dtype=pl.Float64).alias("spacing_z_mm"))
    with pytest.raises(InputError, match=r"case 'a': the height of its slices is not known"):
        united(reading("r1", "a", drawn("x", (3, 50, 50, 8))), cases=bare)
