import numpy as np
import pytest
from statsmodels.stats.contingency_tables import Table

from builders.annotation import drawn, reading
from builders.words import undefined
from nodulebench.annotation.consistency import check_consistency
from nodulebench.annotation.reader_agreement import (
    detections,
    group_agreement,
    pairwise_agreement,
    positive_agreement,
    skills,
)
from nodulebench.annotation.reader_quality import drift, repeat_agreement
from nodulebench.core.errors import InputError


def checked(case_id: str, **places_of: str):
    """A case; for each reader the places, as letters, where something was drawn."""
    return check_consistency(
        [
            reading(name, case_id, *(drawn(place, (1, 20 * ord(place), 0, 8)) for place in places))
            for name, places in places_of.items()
        ]
    )


CASES = [checked("a", r1="uvw", r2="uv", r3="ux"), checked("b", r1="u", r2="u", r3="")]


def test_pairs_agree_by_twice_what_both_drew() -> None:
    first, second, third = pairwise_agreement(CASES)
    assert (first.first, first.second, first.cases) == ("r1", "r2", 2)
    assert (first.both, first.first_only, first.second_only) == (3, 1, 0)  # u v and u; w
    assert first.agreement == 6 / 7
    assert second.agreement == 2 * 1 / (4 + 2)  # r1 drew 4, r3 drew 2, u in common
    assert third.agreement == 2 * 1 / (3 + 2)


def test_the_group_counts_candidates_by_readers() -> None:
    group = group_agreement(CASES)
    # a: u by 3, v by 2, w and x by 1; b: u by 2
    assert (group.candidates, group.by_readers) == (5, (2, 2, 1))
    assert group.unanimous == 1 / 5
    assert group.mean_agreement == pytest.approx((6 / 7 + 1 / 3 + 2 / 5) / 3)


def test_each_reader_is_scored_against_more_than_half_of_the_others() -> None:
    first, second, third = skills(CASES)
    # both others needed: only a's u for r1 and r2; for r3 u v of a and u of b
    assert (first.backed, first.found, first.lone) == (1, 1, 1)
    assert (second.backed, second.found, second.lone) == (1, 1, 0)
    assert (third.backed, third.found, third.lone) == (3, 1, 1)
    assert third.sensitivity == 1 / 3
    assert third.lone_per_case == 0.5
    assert skills(CASES, others_needed=1)[0].backed == 4  # u v x of a, u of b
    assert skills([checked("c", r1="", r2="")])[0].sensitivity is None


def test_detections_have_a_row_for_every_reader_of_a_case() -> None:
    table = detections(CASES)
    assert table.height == 15
    assert table.filter(reader_id="r3")["is_drawn"].sum() == 2


def test_nothing_drawn_is_undefined_not_zero() -> None:
    with undefined(match="neither reader drew anything"):
        positive_agreement(0, 0, 0)
    empty = [checked("c", r1="", r2="")]
    assert pairwise_agreement(empty)[0].agreement is None
    with undefined(match="no reader drew anything"):
        group_agreement(empty)
    with undefined(match="no case has two readers"):
        group_agreement([checked("c", r1="u")])


def test_a_reader_is_compared_with_the_own_repeated_readings() -> None:
    def read(case_id: str, *boxes):
        return reading("r1", case_id, *(drawn(f"f{n}", box) for n, box in enumerate(boxes)))

    first = read("a", (1, 0, 0, 8), (1, 50, 0, 8))
    again = read("a", (1, 1, 0, 8))
    agreement = repeat_agreement([(first, again), (read("b"), read("b", (2, 0, 0, 4)))])
    assert (agreement.cases, agreement.both, agreement.first_only, agreement.second_only) == (
        2,
        1,
        1,
        1,
    )
    assert agreement.agreement == 0.5
    assert repeat_agreement([(read("b"), read("b"))]).agreement is None
    with pytest.raises(InputError, match="does not repeat the reading of 'r1' of case 'a'"):
        repeat_agreement([(first, read("b"))])


def test_drift_is_the_trend_test_of_statsmodels() -> None:
    rates = [(9, 10), (7, 10), (6, 10), (3, 10)]
    periods = [
        [
            checked(f"{period}-{number}", r1="u" if number < hits else "", r2="u", r3="u")
            for number in range(backed)
        ]
        for period, (hits, backed) in enumerate(rates)
    ]
    trend = drift(periods, "r1")
    assert (trend.found, trend.backed) == ((9, 7, 6, 3), (10, 10, 10, 10))
    table = Table(np.array([[backed - hits, hits] for hits, backed in rates]), shift_zeros=False)
    outside = table.test_ordinal_association()
    # statsmodels conditions on the margins: its variance has N - 1 where Cochran-Armitage has N
    assert trend.z == pytest.approx(outside.zscore * np.sqrt(40 / 39), rel=1e-12)
    assert trend.z < -2
    assert trend.p_value == pytest.approx(0.0056, abs=0.001)


def test_no_trend_where_all_was_found() -> None:
    steady = [checked("a", r1="u", r2="u", r3="u")]
    with undefined(match="no trend"):
        drift([steady, steady], "r1")
