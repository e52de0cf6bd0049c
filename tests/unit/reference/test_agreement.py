"""Agreement of readers by hand, comparison of references, and references that might have been."""

from typing import Any

import polars as pl
import pytest

from builders.readings import block, point, read, readings
from builders.tables import case, ignored, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.reference.agreement import (
    agreement_levels,
    readers_against_others,
    silent_readers,
)
from nodulebench.reference.compare import compare_references
from nodulebench.reference.panel import measure_findings
from nodulebench.reference.spread import ALTERNATIVES, by_agreement, by_rule, leave_one_reader_out

FOUR = ("1", "2", "3", "4")


def spot(reader: str, x: float) -> Any:
    return point(reader, x, 0.0, 0.0, "nodule", diameter_mm=6.0)


MARKS = (
    *(spot(reader, 0) for reader in FOUR),
    *(spot(reader, 50) for reader in "124"),
    spot("3", 90),
)
CASE_A = read("a", *MARKS, readers=FOUR)
DRAWN = readings(
    read(
        "a",
        *MARKS,
        point("3", 50.0, 2.9, 0.0),  # reader 3 called the second one small
        point("3", 50.0, 2.0, 0.0, "non_nodule"),  # and, nearer, no nodule
        point("4", 90.0, 3.0, 0.0),  # just out of reach of the third
        readers=FOUR,
    ),
    read("b", spot("1", 0), spot("2", 0), readers="12"),
)


def test_levels_count_findings_and_readers() -> None:
    twice = readings(read("a", spot("1", 0), spot("2", 2), spot("2", -2), readers=FOUR))
    assert agreement_levels(measure_findings(twice)).rows() == [(1, 1, 1), (2, 1, 1)]
    assert agreement_levels(measure_findings(DRAWN)).rows() == [
        (1, 4, 4),
        (2, 3, 3),
        (3, 2, 2),
        (4, 1, 1),
    ]
    assert agreement_levels(measure_findings(readings(read("a")))).height == 0


def test_each_reader_is_scored_against_the_others() -> None:
    table = readers_against_others(measure_findings(DRAWN))
    assert table["cases"].to_list() == [1, 1, 1, 1]
    assert table["reference"].to_list() == [2, 2, 2, 2]
    assert table["found"].to_list() == [2, 2, 1, 2]
    assert table["sensitivity"].to_list() == [1.0, 1.0, 0.5, 1.0]
    assert table["lone_marks"].to_list() == [0, 0, 1, 0]
    assert table["lone_per_case"].to_list() == [0.0, 0.0, 1.0, 0.0]


def test_sensitivity_against_nothing_is_undefined() -> None:
    lone = readings(read("a", spot("1", 0), readers=FOUR))
    table = readers_against_others(measure_findings(lone))
    assert table["sensitivity"].to_list() == [None] * 4
    assert table["lone_marks"].to_list() == [1, 0, 0, 0]


def test_silent_readers_are_sorted_by_what_they_marked_nearest() -> None:
    assert silent_readers(measure_findings(DRAWN)).rows() == [
        (1, "none", 3),
        (3, "non_nodule", 1),
    ]


def test_references_are_paired_nearest_first() -> None:
    first = reference(
        case("a", nodule(8, (0, 0, 0)), nodule(8, (3, 0, 0)), ignored(8, (50, 0, 0))),
        case("b", nodule(6, (0, 0, 0))),
        case("c", nodule(6, (0, 0, 0))),
    )
    second = reference(case("a", nodule(9, (2.5, 0, 0))), case("b", nodule(6, (3, 0, 0))))
    comparison = compare_references(first, second)
    assert comparison.cases == 2
    assert comparison.pairs.rows() == [("a", "n1", "n0", 0.5, 1.0)]
    assert comparison.only_first.select("case_id", "nodule_id").rows() == [("a", "n0"), ("b", "n0")]
    assert comparison.only_second.select("case_id", "nodule_id").rows() == [("b", "n0")]


def test_references_without_a_common_case_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="have no case in common"):
        compare_references(reference(case("a")), reference(case("b")))


def nodule_counts(variants: Any) -> dict[str, int]:
    return {
        name: int((~variant.nodules["is_ignored"]).sum()) if variant.nodules.height else 0
        for name, variant in variants
    }


def test_every_threshold_of_agreement_is_tried() -> None:
    assert nodule_counts(by_agreement(measure_findings(DRAWN))) == {
        "agreement >= 1": 4,
        "agreement >= 2": 3,
        "agreement >= 3": 2,
        "agreement >= 4": 1,
    }


def test_each_reader_is_left_out_in_turn() -> None:
    whole = readings(CASE_A)
    assert nodule_counts(leave_one_reader_out(whole)) == {
        f"without reader {reader}": 2 for reader in FOUR
    }
    assert nodule_counts(leave_one_reader_out(whole, minimum_agreement=3)) == {
        "without reader 1": 1,
        "without reader 2": 1,
        "without reader 3": 2,
        "without reader 4": 1,
    }


def test_every_alternative_rule_makes_a_reference_without_outlines() -> None:
    drawn = readings(read("a", *(block(reader, (0, 0), (3, 3)) for reader in FOUR)))
    references = dict(by_rule(measure_findings(drawn)))
    assert list(references) == [name for name, _, _ in ALTERNATIVES]
    for variant in references.values():
        assert variant.slices is None
        assert variant.nodules.filter(~pl.col("is_ignored")).height == 1
