"""No small group of nodules follows from the disclosed strata, however they are subtracted."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.report import group_content, typed
from nodulebench.core.notices import Notice
from nodulebench.report.developer_copy import developers_document
from nodulebench.report.disclosure import Divisions, hidden_strata, members_by_name


def division(*sizes: int, rest: int = 0) -> dict[str, np.ndarray]:
    """Strata a, b, c ... of so many nodules."""
    names = "abcdefgh"[: len(sizes)]
    of_nodule = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    return members_by_name(of_nodule, names, sum(sizes) + rest)


@pytest.mark.parametrize(
    ("sizes", "rest", "hidden"),
    [
        ((40, 30, 20), 0, ""),
        ((40, 30, 3), 0, "bc"),  # c is few, and follows from the whole without a and b
        ((40, 30, 6, 6), 0, "cd"),  # twelve together may be disclosed
        ((40, 30, 6, 3), 0, "bcd"),  # nine together may not
        ((40, 30), 4, "b"),  # four nodules of which the type is not known
        ((40, 30), 10, ""),
        ((40, 0, 30), 0, ""),
        ((6,), 0, "a"),
    ],
)
def test_partners_of_few_are_hidden_too(sizes: tuple[int, ...], rest: int, hidden: str) -> None:
    withheld = hidden_strata({"type": division(*sizes, rest=rest)}, 10)
    assert withheld == {("type", name) for name in hidden}


def test_the_difference_of_two_nested_strata_is_withheld() -> None:
    """Below 6 mm by one division and below 6.1 mm by another: one nodule is between."""
    size = np.arange(60)
    coarse = {"<30": size < 30, ">=30": size >= 30}
    other = {"<31": size < 31, ">=31": size >= 31}
    assert hidden_strata({"one": coarse}, 10) == hidden_strata({"other": other}, 10) == set()
    both = {"one": coarse, "other": other}
    hidden = hidden_strata(both, 10)
    assert few_that_follow(both, set(), 10)
    assert few_that_follow(both, hidden, 10) == []
    assert len(hidden) < 4


def few_that_follow(divisions: Divisions, hidden: set[tuple[str, str]], minimum: int) -> list[str]:
    """By ranks: small strata, rests and differences that the disclosed groups determine."""
    every = {
        (name, stratum): held.astype(float)
        for name, strata in divisions.items()
        for stratum, held in strata.items()
    }
    count = len(next(iter(every.values())))
    values = np.array([np.ones(count), *(held for key, held in every.items() if key not in hidden)])
    groups = {str(key): held for key, held in every.items()}
    for (key, first), (other_key, other) in combinations(every.items(), 2):
        groups[f"{key} without {other_key}"] = first * (1 - other)
        groups[f"{other_key} without {key}"] = other * (1 - first)
        groups[f"{key} and {other_key}"] = first * other
    rank = np.linalg.matrix_rank(values)
    return [
        name
        for name, held in groups.items()
        if 0 < held.sum() < minimum and np.linalg.matrix_rank(np.vstack([values, held])) == rank
    ]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=12, max_size=12), min_size=1, max_size=3),
    st.integers(2, 5),
)
def test_nothing_small_follows_from_any_divisions(labels: list[list[int]], minimum: int) -> None:
    divisions = {
        f"d{place}": {str(value): np.array(of_nodule) == value for value in range(3)}
        for place, of_nodule in enumerate(labels)
    }
    hidden = hidden_strata(divisions, minimum)
    assert few_that_follow(divisions, hidden, minimum) == []


def test_a_developers_copy_hides_the_partner_of_a_small_stratum() -> None:
    content = group_content()
    result = content["algorithms"][0]["rules"]["center_hit"]
    few, many = (result["strata"]["type"][name] for name in ("calcified", "solid"))
    whole = result["counts"]["nodules"]
    result["strata"]["vendor"] = {"A": {**few, "nodules": 4}, "B": {**many, "nodules": whole - 4}}
    shown = developers_document(typed(content)).algorithms[0].rules["center_hit"]
    assert [stratum.missed for stratum in shown.strata["vendor"].values()] == [None, None]
    assert shown.strata["vendor"]["B"].miss_rate.reason == Notice("tells_few")
    assert shown.counts["missed"] is not None
