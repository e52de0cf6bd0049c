import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.annotation import drawn, reading
from nodulebench.annotation.consistency import ConsistencyRule, check_consistency
from nodulebench.annotation.readings import Box


def three(*findings):
    """The same case read by three readers; each given the findings of that reader."""
    return [
        reading(f"r{number}", "a", *drawn_findings)
        for number, drawn_findings in enumerate(findings, 1)
    ]


def test_a_nodule_that_all_readers_drew_on_the_same_slices_is_consistent() -> None:
    check = check_consistency(
        three(
            [drawn("x", (4, 10, 10, 6), (5, 10, 10, 6))],
            [drawn("y", (4, 12, 10, 6), (5, 10, 12, 6))],
            [drawn("z", (4, 10, 10, 8), (5, 10, 10, 4))],
        )
    )
    assert check.is_consistent
    (candidate,) = check.candidates
    assert candidate.findings == (("r1", "x"), ("r2", "y"), ("r3", "z"))
    # x from 10 - 8/2 to 12 + 6/2; y from 10 - 8/2 to 10 + 8/2
    assert candidate.boxes[0] == Box(4, 10.5, 10.0, 9.0, 8.0)
    assert candidate.boxes[1] == Box(5, 10.0, 11.0, 6.0, 8.0)
    assert not candidate.is_disputed


def test_a_slice_that_one_reader_left_out_is_highlighted() -> None:
    readings = three(
        [drawn("x", (4, 10, 10, 6), (5, 10, 10, 6))],
        [drawn("y", (4, 10, 10, 6), (5, 10, 10, 6))],
        [drawn("z", (4, 10, 10, 6))],
    )
    check = check_consistency(readings)
    assert check.inconsistent_slices == (5,)
    assert check.candidates[0].is_disputed
    lenient = check_consistency(readings, ConsistencyRule(disputes_slices=False))
    assert lenient.inconsistent_slices == (5,)
    assert not lenient.candidates[0].is_disputed


def test_a_nodule_of_only_one_reader_is_disputed() -> None:
    check = check_consistency(three([drawn("x", (4, 10, 10, 6))], [], []))
    assert check.inconsistent_slices == (4,)
    assert check.candidates[0].reader_ids == ("r1",)


def test_nothing_drawn_by_anybody_is_consistent() -> None:
    check = check_consistency(three([], [], []))
    assert check.is_consistent
    assert check.candidates == ()


def test_touching_boxes_are_two_unless_a_centre_is_in_the_other() -> None:
    apart = [
        reading("r1", "a", drawn("x", (4, 10, 10, 4))),
        reading("r2", "a", drawn("y", (4, 14, 10, 4))),
    ]
    assert len(check_consistency(apart).candidates) == 2
    # a point at the edge of a box has its centre in it, though nothing overlaps
    point = [
        reading("r1", "a", drawn("x", (4, 10, 10, 4))),
        reading("r2", "a", drawn("y", (4, 12, 10, 0))),
    ]
    assert len(check_consistency(point).candidates) == 1
    assert len(check_consistency(point, ConsistencyRule(center_in_box=False)).candidates) == 2


def test_the_threshold_of_overlap_is_exceeded_not_reached() -> None:
    # 4 x 4 boxes shifted by 2: shared 8, both 24, IoU 1/3
    pair = [
        reading("r1", "a", drawn("x", (4, 10, 10, 4))),
        reading("r2", "a", drawn("y", (4, 12, 10, 4))),
    ]
    for least, count in ((0.33, 1), (8 / 24, 2)):
        rule = ConsistencyRule(minimum_iou=least, center_in_box=False)
        assert len(check_consistency(pair, rule).candidates) == count


def test_two_findings_of_one_reader_are_not_joined_by_themselves() -> None:
    readings = [reading("r1", "a", drawn("x", (4, 10, 10, 6)), drawn("y", (4, 11, 10, 6)))]
    assert len(check_consistency(readings).candidates) == 2
    bridged = [*readings, reading("r2", "a", drawn("z", (4, 10.5, 10, 6)))]
    assert len(check_consistency(bridged).candidates) == 1


def test_findings_join_over_any_slice_they_share() -> None:
    check = check_consistency(
        [
            reading("r1", "a", drawn("x", (4, 10, 10, 6), (5, 10, 10, 6))),
            reading("r2", "a", drawn("y", (5, 10, 10, 6), (6, 10, 10, 6))),
        ]
    )
    (candidate,) = check.candidates
    assert [box.slice_index for box in candidate.boxes] == [4, 5, 6]
    assert check.inconsistent_slices == (4, 6)


boxes = st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 30), st.integers(0, 12))
findings = st.lists(
    st.lists(boxes, min_size=1, max_size=3, unique_by=lambda box: box[0]), max_size=4
)


@given(st.lists(findings, min_size=1, max_size=4), st.randoms())
def test_every_finding_is_in_one_candidate_in_any_order(drawn_by, shuffle) -> None:
    readings = [
        reading(f"r{number}", "a", *(drawn(f"f{place}", *box) for place, box in enumerate(boxes)))
        for number, boxes in enumerate(drawn_by)
    ]
    check = check_consistency(readings)
    named = [name for candidate in check.candidates for name in candidate.findings]
    assert sorted(named) == sorted(
        (reading.reader_id, finding.finding_id)
        for reading in readings
        for finding in reading.findings
    )
    shuffle.shuffle(readings)
    assert check_consistency(readings) == check


@given(findings)
def test_identical_readings_are_consistent(boxes) -> None:
    marks = [drawn(f"f{place}", *box) for place, box in enumerate(boxes)]
    assert check_consistency(three(marks, marks, marks)).is_consistent


def plainly_linked(a, b) -> bool:
    (ax, ay, asize), (bx, by, bsize) = a, b
    wide = min(ax + asize / 2, bx + bsize / 2) - max(ax - asize / 2, bx - bsize / 2)
    high = min(ay + asize / 2, by + bsize / 2) - max(ay - asize / 2, by - bsize / 2)
    in_a = abs(ax - bx) <= asize / 2 and abs(ay - by) <= asize / 2
    in_b = abs(ax - bx) <= bsize / 2 and abs(ay - by) <= bsize / 2
    return (wide > 0 and high > 0) or in_a or in_b


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 12)),
        min_size=2,
        max_size=2,
    )
)
def test_two_boxes_are_one_candidate_as_a_plain_test_says(pair) -> None:
    readings = [reading(f"r{n}", "a", drawn("f", (1, *box))) for n, box in enumerate(pair)]
    candidates = check_consistency(readings).candidates
    assert (len(candidates) == 1) is plainly_linked(*pair)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_candidates_are_numbered_from_the_feet(order) -> None:
    marks = [drawn("low", (1, 50, 0, 4)), drawn("left", (3, 0, 0, 4)), drawn("right", (3, 9, 0, 4))]
    check = check_consistency([reading("r", "a", *(marks[place] for place in order))])
    assert [candidate.findings[0][1] for candidate in check.candidates] == ["low", "left", "right"]
