import polars as pl

from nodulebench.imaging.linking import link_boxes


def boxes(*rows: tuple[str, int, float, float, float]) -> pl.DataFrame:
    """Square boxes: case, slice, x, y, side."""
    return pl.DataFrame(
        [
            {
                "case_id": case_id,
                "slice_index": number,
                "center_x_mm": float(x),
                "center_y_mm": float(y),
                "length_mm": float(side),
                "width_mm": float(side),
            }
            for case_id, number, x, y, side in rows
        ],
        schema={
            "case_id": pl.String,
            "slice_index": pl.Int64,
            "center_x_mm": pl.Float64,
            "center_y_mm": pl.Float64,
            "length_mm": pl.Float64,
            "width_mm": pl.Float64,
        },
    )


def test_boxes_on_adjacent_slices_are_one_mark() -> None:
    stack = boxes(("a", 10, 0, 0, 6), ("a", 11, 1, 0, 8), ("a", 12, 1, 1, 4))
    assert link_boxes(stack).tolist() == [0, 0, 0]


def test_a_slice_left_out_ends_the_mark() -> None:
    assert link_boxes(boxes(("a", 10, 0, 0, 6), ("a", 12, 0, 0, 6))).tolist() == [0, 1]


def test_a_larger_gap_can_be_bridged_on_demand() -> None:
    stack = boxes(("a", 10, 0, 0, 6), ("a", 12, 0, 0, 6), ("a", 15, 0, 0, 6))
    assert link_boxes(stack, largest_gap=2).tolist() == [0, 0, 1]


def test_boxes_of_different_cases_are_never_linked() -> None:
    assert link_boxes(boxes(("a", 10, 0, 0, 6), ("b", 11, 0, 0, 6))).tolist() == [0, 0]
    assert link_boxes(boxes(("a", 10, 0, 0, 6), ("a", 30, 0, 0, 6))).tolist() == [0, 1]


def test_a_centre_on_the_edge_is_inside() -> None:
    assert link_boxes(boxes(("a", 1, 0, 0, 6), ("a", 2, 3, 0, 2))).tolist() == [0, 0]
    assert link_boxes(boxes(("a", 1, 0, 0, 6), ("a", 2, 3.01, 0, 2))).tolist() == [0, 1]


def test_it_is_enough_that_one_centre_is_in_the_other_box() -> None:
    # the small box's centre lies in the large one, not the other way round
    assert link_boxes(boxes(("a", 1, 0, 0, 2), ("a", 2, 5, 0, 12))).tolist() == [0, 0]


def test_two_boxes_side_by_side_on_a_slice_stay_two_marks() -> None:
    pair = boxes(("a", 1, 0, 0, 10), ("a", 2, -2, 0, 6), ("a", 2, 3, 0, 6))
    # the nearer one continues the mark
    assert link_boxes(pair).tolist() == [0, 0, 1]


def test_touching_nodules_keep_apart_because_nearest_centres_come_first() -> None:
    touching = boxes(
        ("a", 1, 0, 0, 10), ("a", 1, 4, 0, 10), ("a", 2, 0.5, 0, 10), ("a", 2, 4.5, 0, 10)
    )
    assert link_boxes(touching).tolist() == [0, 1, 0, 1]


def test_single_slice_boxes_are_marks_too() -> None:
    assert link_boxes(boxes(("a", 3, 0, 0, 5))).tolist() == [0]


def test_marks_are_numbered_by_their_lowest_slice() -> None:
    upside_down = boxes(("a", 9, 0, 0, 5), ("a", 8, 0, 0, 5), ("a", 2, 50, 0, 5))
    assert link_boxes(upside_down).tolist() == [1, 1, 0]


def test_no_boxes_are_not_marks() -> None:
    assert link_boxes(boxes()).tolist() == []
