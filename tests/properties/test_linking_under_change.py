"""Linking boxes into marks: free of the order of rows, one box per slice, chains of neighbours."""

from collections import defaultdict
from itertools import pairwise

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.imaging.linking import link_boxes

BOX = st.fixed_dictionaries(
    {
        "case_id": st.sampled_from(["a", "b"]),
        "slice_index": st.integers(0, 5),
        "center_x_mm": st.integers(0, 12).map(float),
        "center_y_mm": st.integers(0, 4).map(float),
        "length_mm": st.integers(0, 8).map(float),
        "width_mm": st.integers(0, 8).map(float),
        "score": st.none() | st.integers(0, 3).map(float),
    }
)
SCHEMA = {
    "case_id": pl.String,
    "slice_index": pl.Int64,
    "center_x_mm": pl.Float64,
    "center_y_mm": pl.Float64,
    "length_mm": pl.Float64,
    "width_mm": pl.Float64,
    "score": pl.Float64,
}
BOXES = st.lists(BOX, max_size=25)


def marks_of(rows: list[dict[str, object]]) -> dict[tuple[str, int], list[dict[str, object]]]:
    groups = defaultdict(list)
    for row, number in zip(rows, link_boxes(pl.DataFrame(rows, schema=SCHEMA)), strict=True):
        groups[row["case_id"], int(number)].append(row)
    return groups


def contains(box: dict[str, float], other: dict[str, float]) -> bool:
    return (
        abs(box["center_x_mm"] - other["center_x_mm"]) <= box["length_mm"] / 2
        and abs(box["center_y_mm"] - other["center_y_mm"]) <= box["width_mm"] / 2
    )


@given(BOXES, st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_does_not_matter(rows: list, chance) -> None:
    def as_sets(given: list) -> list:
        marks = marks_of(given).items()
        return sorted((key, sorted(map(str, boxes))) for key, boxes in marks)

    mixed = list(rows)
    chance.shuffle(mixed)
    assert as_sets(mixed) == as_sets(rows)


@given(BOXES)
@settings(max_examples=60, deadline=None)
def test_a_mark_is_a_chain_of_boxes_that_touch_slice_by_slice(rows: list) -> None:
    for boxes in marks_of(rows).values():
        chain = sorted(boxes, key=lambda box: box["slice_index"])
        for low, high in pairwise(chain):
            assert high["slice_index"] == low["slice_index"] + 1
            assert contains(low, high) or contains(high, low)


@given(BOXES)
@settings(max_examples=60, deadline=None)
def test_what_could_still_be_linked_has_a_nearer_partner(rows: list) -> None:
    """No two free ends of marks could be linked: the linking leaves nothing undone."""
    ends = [
        (
            min(boxes, key=lambda box: box["slice_index"]),
            max(boxes, key=lambda box: box["slice_index"]),
        )
        for boxes in marks_of(rows).values()
    ]
    for bottom, _ in ends:
        for _, top in ends:
            is_adjacent = bottom["slice_index"] == top["slice_index"] + 1
            if bottom["case_id"] == top["case_id"] and is_adjacent:
                assert not contains(bottom, top)
                assert not contains(top, bottom)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(0, 20)), max_size=6))
@settings(max_examples=60, deadline=None)
def test_nodules_far_apart_are_found_again(stacks: list) -> None:
    """The oracle: boxes that are 100 mm apart belong to the stack they were drawn for."""
    rows, owner = [], []
    for number, (first, slices, drift) in enumerate(stacks):
        for step in range(slices):
            rows.append(
                {
                    "case_id": "a",
                    "slice_index": first + step,
                    "center_x_mm": 100.0 * number + drift * step / 20,
                    "center_y_mm": 0.0,
                    "length_mm": 8.0,
                    "width_mm": 8.0,
                    "score": None,
                }
            )
            owner.append(number)
    linked = link_boxes(pl.DataFrame(rows, schema=SCHEMA)).tolist()
    assert len(set(zip(owner, linked, strict=True))) == len(stacks) == len(set(linked))
