"""A built reference has the axes of its nodules; boxes keep their sides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.annotation import drawn, reading, small_cases
from builders.readings import block, read, readings
from builders.tables import Slice, case, mark, protocol, submission
from nodulebench.annotation.readings import findings_of
from nodulebench.core.cohort import HIT
from nodulebench.matching import label_marks
from nodulebench.reference.build import build_reference
from nodulebench.reference.rules import RULES

CASES = small_cases("a")
RULES_OF_READERS = [name for name in RULES if name != "arbitrated"]


def panel(*boxes, readers="123"):
    """Every reader draws the same boxes: slice, x, y and side."""
    return findings_of(
        "panel", CASES, [reading(reader, "a", drawn("f", *boxes)) for reader in readers]
    )


@pytest.mark.parametrize("rule", RULES_OF_READERS)
def test_a_box_of_8_mm_is_8_mm_under_every_rule(rule: str) -> None:
    built = build_reference(panel((3, 50, 50, 8)), rule)
    (nodule,) = built.nodules.filter(~built.nodules["is_ignored"]).iter_rows(named=True)
    assert (nodule["diameter_mm"], nodule["long_mm"], nodule["short_mm"]) == (8.0, 8.0, 8.0)
    assert built.slices is not None
    (row,) = built.slices.filter(built.slices["nodule_id"] == nodule["nodule_id"]).iter_rows(
        named=True
    )
    sides = ("center_x_mm", "center_y_mm", "length_mm", "width_mm", "long_mm", "short_mm")
    assert [row[name] for name in sides] == [50.0, 50.0, 8.0, 8.0, 8.0, 8.0]
    assert row["contour"] is None


def test_readers_boxes_are_averaged_on_each_slice_and_the_largest_gives_the_axes() -> None:
    tables = findings_of(
        "panel",
        CASES,
        [
            reading("1", "a", drawn("f", (3, 50, 50, 8), (4, 50, 50, 6))),
            reading("2", "a", drawn("f", (3, 52, 50, 12), (4, 50, 50, 6))),
        ],
    )
    built = build_reference(tables, "majority")
    assert built.slices is not None
    assert built.slices.select("slice_index", "center_x_mm", "length_mm", "long_mm").rows() == [
        (3, 51.0, 10.0, 10.0),
        (4, 50.0, 6.0, 6.0),
    ]
    nodule = built.nodules.row(0, named=True)
    assert (nodule["long_mm"], nodule["short_mm"], nodule["diameter_mm"]) == (10.0, 10.0, 10.0)
    assert nodule["size_definition"] == "mean of readers' boxes"


def test_a_mark_outside_a_box_stays_a_miss() -> None:
    """5 mm from the middle of an 8 mm box: outside its radius of 4, inside that of its diagonal."""
    built = build_reference(panel((3, 50, 50, 8)), "majority")
    plan = protocol("center_distance")
    for away, hits in ((3.9, 1), (5.0, 0)):
        outside = mark(0.5, (50 + away, 50.0, 3.0), Slice(3, 50 + away, 50, 2, 2))
        labels = label_marks(built, submission(case("a", outside)), plan, plan.rules[0])
        assert labels.count(HIT) == hits


@pytest.mark.slow
@given(st.floats(2, 30), st.floats(20, 70))
def test_any_box_keeps_its_side(side: float, place: float) -> None:
    built = build_reference(panel((3, place, 50, side)), "majority")
    nodule = built.nodules.row(0, named=True)
    assert nodule["long_mm"] == pytest.approx(side)
    assert nodule["diameter_mm"] == pytest.approx(side)


def test_outlined_nodules_have_the_axes_of_their_largest_slice() -> None:
    # blocks of 3 x 4 pixels of 1 mm on slice 0 and 6 x 8 on slice 1, each drawn by three readers
    drawings = [
        drawing for reader in "123" for drawing in [block(reader, (10, 10), (15, 17), (1,))]
    ]
    built = build_reference(readings(read("a", *drawings, readers="123")), "majority")
    nodule = built.nodules.row(0, named=True)
    assert nodule["long_mm"] == pytest.approx(math.hypot(6, 8))
    assert built.slices is not None
    assert nodule["long_mm"] == built.slices["long_mm"].max()
    assert nodule["short_mm"] == built.slices["short_mm"][0]


def test_ignored_findings_and_nodules_without_slices_have_no_axes() -> None:
    drawn = readings(read("a", block("1", (10, 10), (15, 17)), readers="123"))
    built = build_reference(drawn, "majority")
    assert built.nodules.select("is_ignored", "long_mm").rows() == [(True, None)]
    bare = build_reference(drawn, "union", has_slices=False)
    assert bare.nodules["long_mm"].to_list() == [None]
