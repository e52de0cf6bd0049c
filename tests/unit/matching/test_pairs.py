import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.matching import pairs
from nodulebench.matching.pairs import nearest_in_case, pairs_within

coordinate = st.one_of(
    st.integers(-9, 9).map(float), st.floats(-1e300, 1e300), st.floats(-1e6, 1e6)
)
rows = st.lists(
    st.tuples(st.integers(0, 4), coordinate, coordinate, coordinate, st.floats(0, 30)), max_size=12
)


def plain_pairs(marks: list, nodules: list) -> list[tuple[int, int]]:
    """Every mark tested on every nodule."""
    with np.errstate(over="ignore"):
        return [
            (number, other)
            for other, nodule in enumerate(nodules)
            for number, mark in enumerate(marks)
            if mark[0] == nodule[0]
            and sum((np.float64(mark[axis]) - nodule[axis]) ** 2 for axis in (1, 2, 3))
            < nodule[4] ** 2
        ]


def found_pairs(marks: list, nodules: list) -> list[tuple[int, int]]:
    mark, nodule = (np.array(part, dtype=float).reshape(-1, 5) for part in (marks, nodules))
    with np.errstate(over="ignore"):
        near = pairs_within(
            mark[:, 0].astype(int),
            mark[:, 1:4],
            nodule[:, 0].astype(int),
            nodule[:, 1:4],
            nodule[:, 4],
        )
    return list(zip(*(part.tolist() for part in near), strict=True))


@given(rows, rows)
def test_pairs_are_those_of_testing_every_mark_on_every_nodule(marks: list, nodules: list) -> None:
    assert found_pairs(marks, nodules) == plain_pairs(marks, nodules)


@given(rows, rows)
def test_large_sets_are_matched_in_parts_with_the_same_result(marks: list, nodules: list) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_PART", 3)
        assert found_pairs(marks, nodules) == plain_pairs(marks, nodules)


def test_a_mark_on_the_rim_is_outside() -> None:
    assert found_pairs([(0, 5.0, 0, 0, 0)], [(0, 0.0, 0, 0, 5.0)]) == []
    assert found_pairs([(0, np.nextafter(5.0, 0), 0, 0, 0)], [(0, 0.0, 0, 0, 5.0)]) == [(0, 0)]


@pytest.mark.parametrize("cases", [5, 70_000])
def test_nearest_in_case_is_that_of_plain_loops(cases: int) -> None:
    random = np.random.default_rng(cases)
    case, other_case = random.integers(0, 5, 40), random.integers(0, 4, 60)
    other_case[:2] += cases - 4
    xyz, other_xyz = random.integers(0, 9, (40, 3)) * 1.0, random.integers(0, 9, (60, 3)) * 1.0
    nearest, distance = nearest_in_case(case, xyz, other_case, other_xyz)
    for place in range(40):
        same = np.flatnonzero(other_case == case[place])
        if not len(same):
            assert nearest[place] is None
            assert np.isnan(distance[place])
            continue
        far = np.linalg.norm(other_xyz[same] - xyz[place], axis=1)
        assert nearest[place] == same[np.argmin(far)]
        assert distance[place] == pytest.approx(far.min())


def test_nearest_of_nothing() -> None:
    nothing, nowhere = np.empty(0, dtype=np.int64), np.empty((0, 3))
    assert len(nearest_in_case(nothing, nowhere, nothing, nowhere)[0]) == 0
    assert nearest_in_case(np.array([0]), np.zeros((1, 3)), nothing, nowhere)[0].to_list() == [None]


@pytest.mark.parametrize(("low", "high"), [(0, 65_536), (1, 65_537), (0, 65_535)])
def test_more_cases_than_fit_into_two_bytes_stay_separate(low, high):
    place = np.zeros((2, 3))
    row, distance = nearest_in_case(
        np.array([low, high]), place, np.array([high, low]), np.diag([1.0, 2.0, 0.0])[:2]
    )
    assert row.to_list() == [1, 0]
    assert distance.tolist() == [2, 1]


def test_all_three_axes_count():
    nodule = np.zeros((1, 3))
    for axis in range(3):
        near, far = np.zeros(3), np.zeros(3)
        near[axis], far[axis] = 4.9, 5.1
        near = pairs_within(
            np.zeros(2, int), np.array([near, far]), np.zeros(1, int), nodule, np.array([5.0])
        )
        assert [side.tolist() for side in near] == [[0], [0]]


@pytest.mark.parametrize("part", [7, 40, 500_000])
def test_crowded_cases_are_matched_as_by_plain_loops(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_PART", part)
    random = np.random.default_rng(part)
    marks = [(case, *random.uniform(-40, 40, 3), 0) for case in random.integers(0, 6, 150)]
    nodules = [
        (case, *random.uniform(-40, 40, 3), random.uniform(5, 40))
        for case in random.integers(1, 7, 40)
    ]
    expected = plain_pairs(marks, nodules)
    assert len(expected) > 50
    assert found_pairs(marks, nodules) == expected


def test_rounding_leaves_no_mark_out_at_either_rim() -> None:
    inside = float(np.nextafter(5.0, 0))
    marks = [(0, -inside, 0, 0, 0), (0, inside, 0, 0, 0), (0, 8.0, 0, 0, 0)]
    assert found_pairs(marks, [(0, 0.0, 0, 0, 5.0)]) == [(0, 0), (1, 0)]
