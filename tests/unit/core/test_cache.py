import gc
import weakref
from dataclasses import dataclass

import polars as pl
import pytest

from builders.tables import Slice, case, cohort, mark, nodule, reference, submission
from nodulebench.core.cache import cached_on_owner
from nodulebench.metrics.score_order import score_order
from nodulebench.metrics.segmentation import overlap_table
from nodulebench.statistics.permutation import side_by_side


@dataclass(frozen=True, eq=False)
class Set:
    number: int


def test_a_result_is_made_once_for_the_same_arguments() -> None:
    made: list[int] = []

    @cached_on_owner
    def product(first: Set, second: Set, *, is_halved: bool = False) -> int:
        made.append(first.number)
        return first.number * second.number // (2 if is_halved else 1)

    two, three = Set(2), Set(3)
    assert [product(two, three), product(two, three), product(three, two)] == [6, 6, 6]
    assert made == [2, 3]
    assert [product(two, three, is_halved=True)] * 2 == [3, 3]
    assert product(two, three) == 6  # only the last result is kept
    assert made == [2, 3, 2, 2]
    assert product(two, Set(3)) == 6
    assert made == [2, 3, 2, 2, 2]


def test_an_error_is_not_kept() -> None:
    @cached_on_owner
    def refuse(set_: Set) -> int:
        raise ValueError(set_.number)

    entry = Set(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="1"):
            refuse(entry)


@pytest.mark.slow
def test_nothing_outlives_the_test_set_it_was_made_of() -> None:
    box = Slice(0, 0, 0, 8, 8, contour="-4 -4;4 -4;4 4;-4 4")
    drawn = [nodule(8, (0, 0, 0), box), mark(0.5, (0, 0, 0), box)]
    labelled = [cohort(case("a", *drawn), rule="center_hit") for _ in range(2)]
    score_order(labelled[0])
    overlap_table(labelled[0])
    side_by_side(labelled[0], labelled[1], is_on_common_scale=True)
    held = [
        weakref.ref(part)
        for labels in labelled
        for part in (labels, labels.reference, labels.submission)
    ]
    del labelled
    gc.collect()
    assert [labels() for labels in held] == [None] * 6


def test_the_rows_of_marks_follow_the_reference_asked_for() -> None:
    given = submission(case("a", mark(0.5)), case("b", mark(0.4)))
    both = reference(case("b"), case("a"))
    assert given.rows_in(both).tolist() == [1, 0]
    assert given.rows_in(both) is given.rows_in(both)
    assert given.rows_in(both.restricted(pl.Series(["a"]), "fold")).tolist() == [0, -1]
