"""The comparison of two test sets."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import case, nodule, reference
from nodulebench.curation.composition import compare_sets
from nodulebench.curation.coverage import cover, write_coverage

EASY = reference(
    case("a", nodule(8, type="solid"), nodule(12, (50, 0, 0), type="solid"), vendor="GE"),
    case("b", nodule(7, type="part_solid"), nodule(5, (50, 0, 0), type="solid"), vendor="GE"),
)
HARD = reference(
    case("c", nodule(4, type="pure_ground_glass"), vendor="Canon", sex="F"),
    case("d", nodule(9, type="solid"), vendor="GE", sex="M"),
)


def test_shares_are_compared_and_the_most_different_comes_first() -> None:
    comparison = compare_sets(EASY, HARD)
    by_column = {difference.column: difference for difference in comparison.differences}
    # vendors: all GE against half: half of the cases would have to change
    assert by_column["vendor"].shares == {"GE": (1.0, 0.5), "Canon": (0.0, 0.5)}
    assert by_column["vendor"].distance == pytest.approx(0.5)
    # types: 3/4 solid and 1/4 part-solid against halves of solid and ground-glass
    assert by_column["type"].distance == pytest.approx((0.25 + 0.25 + 0.5) / 2)
    distances = [difference.distance for difference in comparison.differences]
    assert distances == sorted(distances, reverse=True)
    assert comparison.one_sided == ("sex",)
    assert comparison.totals["nodules"] == (4, 2)


def test_difficulty_is_measured_for_both() -> None:
    hard = {
        measure.name: (measure.first, measure.second)
        for measure in compare_sets(EASY, HARD).difficulty
    }
    assert hard["nodules_per_case"] == (2.0, 1.0)
    assert hard["median_diameter_mm"] == (7.5, 6.5)
    assert hard["small_share"] == (0.25, 0.5)
    assert hard["subsolid_share"] == (0.25, 0.5)
    assert hard["near_vessel_share"] == (None, None)


@pytest.mark.slow
@given(st.lists(st.sampled_from(["GE", "Canon", None]), min_size=1, max_size=8))
def test_a_set_does_not_differ_from_itself_and_distances_are_symmetric(vendors) -> None:
    single = reference(*(case(f"c{at}", vendor=name) for at, name in enumerate(vendors)))
    assert all(part.distance == 0 for part in compare_sets(single, single).differences)
    first, second = compare_sets(single, EASY), compare_sets(EASY, single)
    assert {part.column: part.distance for part in first.differences} == pytest.approx(
        {part.column: part.distance for part in second.differences}
    )
    assert all(0 <= part.distance <= 1 + 1e-12 for part in first.differences)


@pytest.mark.parametrize("name", ["en", "zh"])
def test_the_page_shows_both(tmp_path, name) -> None:
    document = cover(EASY, None)
    document["against"] = {"name": "harder", **asdict(compare_sets(EASY, HARD))}
    data, page = write_coverage(document, tmp_path, name)
    text = page.read_text(encoding="utf-8")
    assert "harder" in text
    assert "50.0%" in text
    stored = json.loads(data.read_text())["against"]
    assert stored["totals"]["cases"] == [2, 2]
    assert stored["difficulty"][2] == {"name": "small_share", "first": 0.25, "second": 0.5}
