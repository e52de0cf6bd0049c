"""Candidate lists merged, scores averaged, candidates outside the lungs dropped."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.tables import case, mark, submission
from nodulebench.core.errors import InputError
from nodulebench.core.tables import Submission
from nodulebench.imaging.geometry import Geometry
from nodulebench.matching.combine import (
    Combined,
    Linkage,
    average_scores,
    is_near_lungs,
    merge_candidates,
)

Place = tuple[float, float, float]


def candidates(
    name: str, *places: Place, case_id: str = "a", score: float | None = None
) -> Submission:
    return submission(case(case_id, *(mark(score, place) for place in places)), name=name)


def places(combined: Combined) -> list[Place]:
    return sorted(combined.submission.marks.select("x_mm", "y_mm", "z_mm").iter_rows())


def test_candidates_closer_than_5_mm_become_one_at_their_mean() -> None:
    lists = [candidates("p", (0, 0, 0)), candidates("q", (3, 0, 3.9))]
    merged = merge_candidates(lists, place="mean")
    assert places(merged) == [(1.5, 0.0, 1.95)]
    assert merged.submission.name == "p+q"


def test_a_merged_candidate_is_the_best_of_its_parts() -> None:
    lists = [
        submission(case("a", mark(0.3, (0, 0, 0)), mark(0.2, (50, 0, 0))), name="p"),
        submission(case("a", mark(0.9, (4, 0, 0)), mark(0.1, (51, 0, 0))), name="q"),
    ]
    merged = merge_candidates(lists).submission.marks
    assert merged.select("x_mm", "score").rows() == [(4.0, 0.9), (50.0, 0.2)]


def test_agreed_probabilities_are_means_over_all_algorithms_at_the_place_of_the_best() -> None:
    lists = [
        submission(case("a", mark(0.3, (0, 0, 0)), mark(0.2, (50, 0, 0))), name="p"),
        submission(case("a", mark(0.9, (4, 0, 0)), mark(0.5, (3, 0, 0))), name="q"),
        submission(case("b", mark(0.6, (0, 0, 0))), name="r"),
    ]
    merged = merge_candidates(lists, score="agreed").submission.marks
    assert merged.select("case_id", "x_mm").rows() == [("a", 4.0), ("a", 50.0), ("b", 0.0)]
    assert merged["score"].to_list() == pytest.approx([(0.3 + 0.9) / 3, 0.2 / 3, 0.6 / 3])


def test_without_scores_and_of_equals_the_part_nearest_to_the_mean_is_taken() -> None:
    lists = [candidates("p", (0, 0, 0), (1, 0, 0)), candidates("q", (4, 0, 0))]
    assert places(merge_candidates(lists, linkage="single")) == [(1, 0, 0)]
    equal = [candidates("p", (0, 0, 0), (1, 0, 0), score=1), candidates("q", (4, 0, 0), score=1)]
    assert places(merge_candidates(equal, linkage="single")) == [(1, 0, 0)]
    # rounding on another processor must not decide which part is the best
    nearly = candidates("q", (4, 0, 0), score=1 + 1e-15)
    assert places(merge_candidates([equal[0], nearly], linkage="single")) == [(1, 0, 0)]
    # any score goes before none; of two that are as near the first is taken
    half = [candidates("p", (0, 0, 0), (1, 0, 0)), candidates("q", (4, 0, 0), score=0.1)]
    assert places(merge_candidates(half, linkage="single")) == [(4, 0, 0)]
    assert places(merge_candidates([candidates("p", (2, 0, 0)), candidates("q", (1, 0, 0))])) == [
        (2, 0, 0)
    ]


some_scored = st.lists(
    st.tuples(*[st.floats(-9, 9)] * 3, st.sampled_from((None, 0.1, 0.5, 0.9))), max_size=12
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(some_scored, some_scored, st.sampled_from(("nearest", "single", "greedy")), st.data())
def test_a_hit_is_lost_only_to_a_better_part_of_its_group_that_misses(
    left: list[tuple], right: list[tuple], linkage: Linkage, data: st.DataObject
) -> None:
    lists = [
        submission(case("a", *(mark(row[3], row[:3]) for row in rows)), name=name)
        for name, rows in (("p", left), ("q", right))
    ]
    merged = merge_candidates(lists, linkage=linkage)
    center = np.array(data.draw(st.tuples(*[st.floats(-9, 9)] * 3)))
    radius = data.draw(st.floats(1.5, 16))
    parts = {(list_.name, row["mark_id"]): row for list_ in lists for row in list_.marks.to_dicts()}

    def is_hit(row: dict) -> bool:
        away = np.array([row["x_mm"], row["y_mm"], row["z_mm"]]) - center
        return bool(np.linalg.norm(away) < radius)

    score = {row["mark_id"]: row for row in merged.submission.marks.to_dicts()}
    assert merged.sources.height == len(parts)
    for group in merged.sources.partition_by("mark_id"):
        merged_score = score[group["mark_id"][0]]
        members = [parts[key] for key in group.select("algorithm", "source_mark_id").rows()]
        assert any(
            all(merged_score[key] == member[key] for key in ("x_mm", "y_mm", "z_mm", "score"))
            for member in members
        )
        for member in members:
            if is_hit(member) and not is_hit(merged_score):
                assert (merged_score["score"] or 0) >= (member["score"] or 0)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=20), st.floats(1.5, 16))
def test_where_scores_know_the_nodule_merging_never_loses_it(
    points: list[Place], radius: float
) -> None:
    away = [float(np.linalg.norm(point)) for point in points]
    marks = [mark(float(far < radius), point) for far, point in zip(away, points, strict=True)]
    lists = [submission(case("a", *marks), name="p"), candidates("q")]
    for linkage in ("nearest", "single", "greedy"):
        left = np.array(places(merge_candidates(lists, linkage=linkage)))
        assert (np.linalg.norm(left, axis=1) < radius).any() == (min(away) < radius)


def test_candidates_5_mm_apart_stay_two() -> None:
    merged = merge_candidates([candidates("p", (0, 0, 0)), candidates("q", (3, 4, 0))])
    assert places(merged) == [(0, 0, 0), (3, 4, 0)]


def test_candidates_of_one_list_merge_too() -> None:
    lists = [candidates("p", (0, 0, 0), (2, 0, 0)), candidates("q")]
    assert places(merge_candidates(lists, place="mean")) == [(1, 0, 0)]


def test_candidates_of_different_cases_never_merge() -> None:
    merged = merge_candidates([candidates("p", (0, 0, 0)), candidates("q", (0, 0, 0), case_id="b")])
    assert merged.submission.marks["case_id"].to_list() == ["a", "b"]


def test_a_chain_is_one_by_single_linkage_and_two_when_greedy() -> None:
    lists = [candidates("p", (0, 0, 0)), candidates("q", (4, 0, 0)), candidates("r", (8, 0, 0))]

    def merged(lists: list[Submission], linkage: Linkage) -> list[Place]:
        return places(merge_candidates(lists, linkage=linkage, place="mean"))

    assert merged(lists, "single") == [(4, 0, 0)]
    assert merged(lists, "greedy") == [(2, 0, 0), (8, 0, 0)]
    assert merged([lists[1], lists[0], lists[2]], "greedy") == [(4, 0, 0)]


def test_the_nearest_become_one_first_and_a_chain_ends_where_their_mean_is_far() -> None:
    lists = [candidates("p", (0, 0, 0), (20, 0, 0)), candidates("q", (4, 0, 0), (24.5, 0, 0))]
    lists.append(candidates("r", (7, 0, 0), (20, 1, 0)))
    # 4 and 7 are 3 mm apart: their mean 5.5 is too far from 0; 20 and 20 are 1 mm apart: their
    # mean (20, 0.5) is 4.53 mm from 24.5
    merged = merge_candidates(lists, place="mean")
    assert places(merged) == [
        (0, 0, 0),
        (5.5, 0, 0),
        (pytest.approx(64.5 / 3), pytest.approx(1 / 3), 0),
    ]
    # exactly the distance apart stays apart, and cases never merge
    apart = [candidates("p", (0, 0, 0)), candidates("q", (3, 4, 0)), candidates("r", case_id="b")]
    assert merge_candidates(apart).submission.marks.height == 2
    other = [candidates("p", (0, 0, 0)), candidates("q", (0, 0, 0), case_id="b")]
    assert merge_candidates(other).submission.marks.height == 2


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.floats(-12, 12)] * 3), min_size=1, max_size=30))
@settings(max_examples=60)
def test_merged_by_nearness_nothing_is_closer_than_the_distance(points: list[Place]) -> None:
    merged = merge_candidates([candidates("p", *points), candidates("q")], place="mean")
    left = np.array(places(merged))
    apart = np.linalg.norm(left[:, None] - left[None], axis=2)[np.triu_indices(len(left), 1)]
    assert (apart >= 5.0 - 1e-9).all()
    counted = merged.sources.group_by("mark_id").len().join(merged.submission.marks, on="mark_id")
    # the centre of mass of all candidates stays where it was
    weighted = (
        counted.select("x_mm", "y_mm", "z_mm").to_numpy() * counted["len"].to_numpy()[:, None]
    )
    assert np.allclose(weighted.sum(axis=0), np.array(points).sum(axis=0), atol=1e-6)


def test_scores_are_averaged_where_every_part_has_one() -> None:
    scored = [candidates("p", (0, 0, 0), score=0.2), candidates("q", (1, 0, 0), score=0.8)]
    assert merge_candidates(scored, place="mean").submission.marks["score"].to_list() == [0.5]
    half = [candidates("p", (0, 0, 0), score=0.2), candidates("q", (1, 0, 0))]
    assert merge_candidates(half, place="mean").submission.marks["score"].to_list() == [None]


def test_sources_are_preserved() -> None:
    merged = merge_candidates([candidates("p", (0, 0, 0), (90, 0, 0)), candidates("q", (1, 0, 0))])
    assert merged.sources.rows() == [
        ("a", "1", "p", "m0"),
        ("a", "2", "p", "m1"),
        ("a", "1", "q", "m0"),
    ]


coordinate = st.integers(0, 12).map(float)
some_places = st.lists(st.tuples(coordinate, coordinate, st.just(0.0)), max_size=8)


def plain_components(points: list[Place]) -> list[Place]:
    """Union of all that is linked, by repeated passes; the means of the components, sorted."""
    label = list(range(len(points)))
    for _ in points:
        for i, p in enumerate(points):
            for j, q in enumerate(points):
                if sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) < 25:
                    label[i] = label[j] = min(label[i], label[j])
    return sorted(
        tuple(np.mean([p for p, of in zip(points, label, strict=True) if of == group], axis=0))
        for group in set(label)
    )


@pytest.mark.slow
@settings(deadline=None)
@given(some_places, some_places)
def test_merging_is_that_of_plain_loops_in_any_order(left: list[Place], right: list[Place]) -> None:
    here = [candidates("p", *left), candidates("q", *right)]
    there = merge_candidates(here, linkage="single", place="mean")
    turned = [candidates("q", *right[::-1]), candidates("p", *left[::-1])]
    back = merge_candidates(turned, linkage="single", place="mean")
    expected = np.array(plain_components(left + right)).reshape(-1, 3)
    for merged in (there, back):
        values = np.array(places(merged)).reshape(-1, 3)
        np.testing.assert_allclose(values, expected, atol=1e-9)
    assert there.sources.height == len(left) + len(right)


@pytest.mark.slow
@settings(deadline=None)
@given(some_places)
def test_greedy_groups_lie_within_reach_of_their_first_candidate(points: list[Place]) -> None:
    merged = merge_candidates([candidates("p", *points), candidates("q")], linkage="greedy")
    number = {f"m{row}": np.array(point) for row, point in enumerate(points)}
    for group in merged.sources.partition_by("case_id", "mark_id"):
        members = [number[name] for name in group["source_mark_id"]]
        assert all(np.linalg.norm(member - members[0]) < 5 for member in members)
    firsts = merged.sources.group_by("mark_id").agg(pl.col("source_mark_id").first())
    starts = [number[name] for name in firsts["source_mark_id"]]
    assert all(
        np.linalg.norm(start - other) >= 5 for i, start in enumerate(starts) for other in starts[:i]
    )


def scored(name: str, *scores: float, order: tuple[int, ...] = (0, 1, 2)) -> Submission:
    marks = [mark(scores[number], (20.0 * number, 0, 0)) for number in order]
    return submission(case("a", *marks), name=name)


def test_scores_on_a_common_list_are_averaged_in_any_order_of_the_marks() -> None:
    first = scored("p", 0.1, 0.5, 0.9)
    second = scored("q", 0.3, 0.7, 0.2, order=(2, 0, 1))
    mean = average_scores([first, second], first.marks)
    assert mean.marks["score"].to_list() == pytest.approx([0.2, 0.6, 0.55])
    assert mean.marks["x_mm"].to_list() == [0, 20, 40]
    assert mean.name == "p+q"


def test_a_candidate_that_the_list_has_twice_gets_the_mean_of_its_scores_in_order() -> None:
    twice = submission(case("a", mark(0.2, (5, 0, 0)), mark(0.4, (5, 0, 0))), name="p")
    other = submission(case("a", mark(0.6, (5, 0, 0)), mark(0.8, (5, 0, 0))), name="q")
    mean = average_scores([twice, other], twice.marks)
    assert mean.marks["score"].to_list() == pytest.approx([0.4, 0.6])


def test_a_submission_that_leaves_the_list_is_refused_with_every_problem() -> None:
    first = scored("p", 0.1, 0.5, 0.9)
    moved = submission(
        case("a", mark(0.1), mark(0.2, (20, 0, 0)), mark(0.3, (41, 0, 0))), name="moved"
    )
    with pytest.raises(InputError) as refused:
        average_scores([first, moved], first.marks)
    assert [str(problem) for problem in refused.value.problems] == [
        "submission 'moved' mark 'm2' of case 'a': is not a candidate. In this track only the "
        "given candidates are scored; keep their coordinates.",
        "submission 'moved': candidate (40, 0, 0) of case 'a' has no mark. Give every candidate "
        "one score.",
    ]


def test_a_submission_without_scores_cannot_be_averaged() -> None:
    first = scored("p", 0.1, 0.5, 0.9)
    silent = candidates("silent", (0, 0, 0), (20, 0, 0), (40, 0, 0))
    with pytest.raises(InputError, match="submission 'silent': has 3 marks without a score"):
        average_scores([first, silent], first.marks)


def test_two_submissions_of_one_name_and_a_single_one_are_refused() -> None:
    with pytest.raises(InputError, match="submission 'p': has the name of another submission"):
        merge_candidates([candidates("p"), candidates("p")])
    with pytest.raises(InputError, match=r"combination: of 1 submission\. Give two or more"):
        merge_candidates([candidates("p")])


def grid(direction: np.ndarray | None = None) -> Geometry:
    """Voxels of 0.5 x 0.5 x 2 mm that begin at (-10, -20, -30)."""
    return Geometry(
        np.array([0.5, 0.5, 2.0]),
        np.array([-10.0, -20.0, -30.0]),
        np.eye(3) if direction is None else direction,
    )


def test_candidates_within_the_slack_of_the_lungs_remain() -> None:
    mask = np.zeros((40, 200, 200), dtype=np.bool_)
    mask[10, 50, 60] = True  # at (-10 + 30, -20 + 25, -30 + 20) = (20, 5, -10)
    points = np.array([[20, 5, -10], [30, 5, -10], [30.1, 5, -10], [26, 13, -10], [20, 5, 0.1]])
    assert is_near_lungs(points, mask, grid()).tolist() == [True, True, False, True, False]
    assert is_near_lungs(points, mask, grid(), slack_mm=0).tolist() == [True] + [False] * 4


def test_a_candidate_in_a_lung_voxel_is_in_the_lungs_without_slack() -> None:
    mask = np.zeros((40, 200, 200), dtype=np.bool_)
    mask[10, 50, 60] = True
    points = np.array([[20.2, 5.2, -9.1], [20.3, 5, -10]])
    assert is_near_lungs(points, mask, grid(), slack_mm=0).tolist() == [True, False]


def test_candidates_outside_the_image_remain_only_near_its_lungs() -> None:
    mask = np.ones((4, 4, 4), dtype=np.bool_)  # from (-10, -20, -30) to (-8.5, -18.5, -24)
    points = np.array([[-19.0, -20, -30], [-21.0, -20, -30], [500.0, 500, 500]])
    assert is_near_lungs(points, mask, grid()).tolist() == [True, False, False]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000))
def test_nearness_to_the_lungs_is_that_of_all_distances(seed: int) -> None:
    random = np.random.default_rng(seed)
    mask = random.random((6, 9, 8)) < 0.02
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]])
    geometry = grid(turn)
    points = geometry.to_world(random.uniform(-8, 14, (12, 3)))
    voxels = geometry.to_world(np.argwhere(mask)[:, ::-1].astype(np.float64))
    distance = np.linalg.norm(points[:, None] - voxels[None], axis=2).min(axis=1, initial=np.inf)
    is_near = is_near_lungs(points, mask, geometry, slack_mm=3.0)
    decided = np.abs(distance - 3.0) > 1e-9
    assert (is_near == (distance <= 3.0))[decided].all()
