"""What each reference rule accepts and ignores, by hand."""

import math
from typing import Any

import polars as pl
import pytest

from builders.readings import block, point, read, readings
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.core.readings import Readings
from nodulebench.core.tables import NODULE_SLICES, NODULES, Reference
from nodulebench.reference.build import build_reference

FOUR = ("1", "2", "3", "4")
SIX_MM = 6.0


def spot(reader: str, x: float, diameter: float = SIX_MM) -> Any:
    return point(reader, x, 0.0, 0.0, "nodule", diameter_mm=diameter)


def built(drawn: Readings, rule: str, **parameters: Any) -> Reference:
    reference = build_reference(drawn, rule, parameters)
    NODULES.conform(reference.nodules, "NODULES")
    if reference.slices is not None:
        NODULE_SLICES.conform(reference.slices, "NODULE_SLICES")
    return reference


def accepted(reference: Reference) -> list[str]:
    return reference.nodules.filter(~pl.col("is_ignored"))["findings"].to_list()


def ignored(reference: Reference) -> list[str]:
    return reference.nodules.filter("is_ignored")["findings"].to_list()


DRAWN_BY_3_2_1 = readings(
    read(
        "a",
        spot("1", 0),
        spot("2", 0),
        spot("3", 0),
        spot("1", 50),
        spot("2", 50),
        spot("4", 90),
        point("4", 7.0, 8.0, 9.0),
        point("3", 1.0, 1.0, 1.0, "non_nodule"),
        readers=FOUR,
    )
)


def test_luna16_accepts_three_of_four_and_ignores_every_other_finding() -> None:
    reference = built(DRAWN_BY_3_2_1, "luna16")
    assert accepted(reference) == ["f0 f1 f2"]
    # not f0, the first finding of the accepted nodule; all others in the order of reading
    assert ignored(reference) == ["f1", "f2", "f3", "f4", "f5", "f6", "f7"]
    row = reference.nodules.row(0, named=True)
    assert (row["agreement"], row["finding_count"], row["kind"]) == (3, 3, "nodule")
    assert row["size_definition"] == "recursive mean of readers' diameters"


def test_luna16_measures_no_single_points() -> None:
    table = built(DRAWN_BY_3_2_1, "luna16").nodules
    points = table.filter(pl.col("kind") != "nodule")
    assert points["diameter_mm"].to_list() == [None, None]
    assert points.select("x_mm", "y_mm", "z_mm").rows() == [(7.0, 8.0, 9.0), (1.0, 1.0, 1.0)]


def test_luna16_leaves_places_as_the_merge_left_them() -> None:
    drawn = readings(read("a", spot("1", 0, 8), spot("2", 2, 4), spot("3", 4, 4), readers=FOUR))
    table = built(drawn, "luna16").nodules
    assert table["x_mm"].to_list() == [1.5, 3.0, 4.0]
    assert table["diameter_mm"].to_list() == [6.0, 4.0, 4.0]
    mean = built(drawn, "luna16", average="mean").nodules
    assert mean["x_mm"].to_list() == pytest.approx([2.0, 2.0, 4.0])
    assert mean["diameter_mm"].to_list() == pytest.approx([16 / 3, 4.0, 4.0])
    assert mean["size_definition"][0] == "mean of readers' diameters"


def test_luna16_counts_findings_by_default() -> None:
    # reader 2 has two findings within reach of reader 1's; a merge with each makes three findings
    drawn = readings(read("a", spot("1", 0, 10), spot("2", 6, 10), spot("2", -2, 10), readers=FOUR))
    assert accepted(built(drawn, "luna16")) == ["f0 f2 f1"]
    assert accepted(built(drawn, "luna16", counts="readers")) == []
    assert accepted(built(drawn, "luna16", counts="readers", minimum_agreement=2)) == ["f0 f2 f1"]


@pytest.mark.parametrize(("level", "count"), [(1, 3), (2, 2), (3, 1), (4, 0)])
def test_the_threshold_of_agreement_can_be_chosen(level: int, count: int) -> None:
    for rule in ("luna16", "majority", "staple"):
        assert len(accepted(built(DRAWN_BY_3_2_1, rule, minimum_agreement=level))) == count


def test_majority_is_more_than_half_of_those_who_read_the_case() -> None:
    assert accepted(built(DRAWN_BY_3_2_1, "majority")) == ["f0 f1 f2"]
    assert ignored(built(DRAWN_BY_3_2_1, "majority")) == ["f3 f4", "f5", "f6", "f7"]
    three_readers = readings(read("a", spot("1", 0), spot("2", 0), readers="123"))
    assert accepted(built(three_readers, "majority")) == ["f0 f1"]


def test_union_accepts_what_anyone_drew() -> None:
    reference = built(DRAWN_BY_3_2_1, "union", grouping="recursive")
    assert accepted(reference) == ["f0 f1 f2", "f3 f4", "f5"]
    assert ignored(reference) == ["f6", "f7"]


def test_unanimous_needs_everyone_who_read_the_case() -> None:
    assert accepted(built(DRAWN_BY_3_2_1, "unanimous")) == []
    everyone = readings(read("a", spot("1", 0), spot("2", 0), spot("3", 50), readers="12"))
    assert accepted(built(everyone, "unanimous")) == []
    both = readings(read("a", spot("1", 0), spot("2", 0)), read("b", spot("1", 0), spot("2", 40)))
    assert accepted(built(both, "unanimous")) == ["f0 f1"]


def test_the_arbitrator_decides_what_the_others_dispute() -> None:
    drawn = readings(
        read(
            "a",
            spot("1", 0),
            spot("2", 0),  # both readers agree
            spot("1", 50),
            spot("referee", 50),  # disputed, and the arbitrator drew it too
            spot("2", 100),  # disputed, and the arbitrator did not
            spot("referee", 150),  # no one else
            readers=("1", "2", "referee"),
        )
    )
    reference = built(drawn, "arbitrated", arbitrator="referee")
    assert accepted(reference) == ["f0 f1", "f2 f3"]
    assert ignored(reference) == ["f4", "f5"]
    adding = built(drawn, "arbitrated", arbitrator="referee", arbitrator_adds=True)
    assert accepted(adding) == ["f0 f1", "f2 f3", "f5"]
    any_reader = built(drawn, "arbitrated", arbitrator="referee", minimum_agreement=1)
    assert accepted(any_reader) == ["f0 f1", "f2 f3", "f4"]


def test_an_unknown_arbitrator_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        built(DRAWN_BY_3_2_1, "arbitrated", arbitrator="referee")
    assert str(caught.value) == (
        "arbitrator 'referee': has read no case of 'test'. Readers: 1, 2, 3, 4."
    )


OVERLAPPING = readings(
    read(
        "a",
        block("1", (0, 0), (3, 3)),
        block("2", (1, 0), (4, 3)),
        block("3", (2, 0), (5, 3)),
        spacing=(0.5, 0.5, 2.0),
    )
)


def test_the_union_outline_holds_all_and_is_measured() -> None:
    reference = built(OVERLAPPING, "union")
    (row,) = reference.nodules.rows(named=True)
    assert row["diameter_mm"] == pytest.approx((6 * 24 * 0.5 / math.pi) ** (1 / 3))
    assert (row["x_mm"], row["y_mm"], row["z_mm"]) == pytest.approx((1.25, 0.75, 0.0))
    assert row["size_definition"] == "volume_equivalent"
    assert reference.slices is not None
    (box,) = reference.slices.rows(named=True)
    # columns 0..5 and rows 0..3 of 0.5 mm: from -0.25 to 2.75 and 1.75 mm
    assert (box["center_x_mm"], box["center_y_mm"]) == (1.25, 0.75)
    assert (box["length_mm"], box["width_mm"]) == (3.0, 2.0)
    assert box["long_mm"] == pytest.approx(math.hypot(3, 2))
    assert sorted(box["contour"].split(";")) == [
        "-0.25 -0.25",
        "-0.25 1.75",
        "2.75 -0.25",
        "2.75 1.75",
    ]


def test_the_majority_outline_holds_what_half_of_the_readers_share() -> None:
    reference = built(OVERLAPPING, "majority", outline_share=0.5)
    assert reference.slices is not None
    # columns 1..4 belong to at least two of three readers
    assert reference.slices["length_mm"].to_list() == [2.0]
    every = built(OVERLAPPING, "majority", outline_share=1.0)
    assert every.slices is not None
    assert every.slices["length_mm"].to_list() == [1.0]


def test_where_no_voxel_has_enough_readers_the_most_shared_ones_count() -> None:
    apart = readings(
        read(
            "a",
            block("1", (0, 0), (5, 5)),
            block("2", (6, 0), (11, 5)),
            block("3", (3, 0), (8, 5)),
        )
    )
    reference = built(apart, "majority", outline_share=1.0, grouping="linkage")
    assert reference.slices is not None
    # no pixel is shared by all; columns 3..8 are shared by two
    assert reference.slices["length_mm"].to_list() == [6.0]


def test_staple_outlines_where_nodule_is_likely() -> None:
    reference = built(OVERLAPPING, "staple")
    assert reference.slices is not None
    # the readers are alike but for a shift, and the one in the middle is found to be right
    assert reference.slices.select("center_x_mm", "length_mm").rows() == [(1.25, 2.0)]
    single_reader = readings(read("a", block("1", (0, 0), (3, 3)), readers="1"))
    single = built(single_reader, "staple").slices
    assert single is not None
    assert single["length_mm"].to_list() == [4.0]


def test_ignored_findings_keep_box_and_outline() -> None:
    drawn_alike = readings(read("a", block("1", (0, 0), (3, 3)), readers=FOUR))
    for rule in ("luna16", "majority"):
        reference = built(drawn_alike, rule)
        assert reference.slices is not None
        (row,) = reference.slices.rows(named=True)
        assert (row["nodule_id"], row["length_mm"], row["long_mm"]) == ("ignored-1", 4.0, None)
        assert row["contour"].count(";") == 3


def test_the_definition_of_size_goes_through_to_the_nodules() -> None:
    from nodulebench.reference.panel import measure_findings

    panel = measure_findings(OVERLAPPING, size="long_axis")
    (row,) = build_reference(panel, "union").nodules.rows(named=True)
    assert row["diameter_mm"] == pytest.approx(math.hypot(3, 2))
    assert row["size_definition"] == "long_axis"
    extent = measure_findings(OVERLAPPING, size="outline_extent")
    (row,) = build_reference(extent, "union").nodules.rows(named=True)
    assert row["size_definition"] == "volume_equivalent"


def test_types_and_ratings_come_from_the_readers() -> None:
    drawn = readings(
        read(
            "a",
            block("1", (0, 0), (3, 3), texture=5, calcification=6, malignancy_rating=2),
            block("2", (0, 0), (3, 3), texture=4, calcification=6, malignancy_rating=5),
            block("3", (0, 0), (3, 3), texture=1, calcification=6, malignancy_rating=0),
        )
    )
    row = built(drawn, "luna16").nodules.row(0, named=True)
    assert (row["type"], row["density"]) == ("solid", "solid")
    assert row["malignancy_rating"] == 3.5
    assert row["texture"] == pytest.approx(10 / 3)
    assert row["malignancy"] is None


def test_a_case_without_findings_stays() -> None:
    reference = built(readings(read("a", readers="123"), read("b", spot("1", 0))), "luna16")
    assert reference.cases["case_id"].to_list() == ["a", "b"]
    assert reference.nodules["case_id"].to_list() == ["b"]
    assert reference.slices is None


def test_parameters_are_checked_together() -> None:
    with pytest.raises(InputError) as caught:
        build_reference(
            DRAWN_BY_3_2_1,
            "luna16",
            {"minimum_agreement": "many", "colour": 1, "average": "median"},
        )
    assert [str(problem) for problem in caught.value.problems] == [
        "reference rule 'luna16': cannot take minimum_agreement = 'many': Input should be a valid "
        "integer, unable to parse string as an integer.",
        "reference rule 'luna16': has no parameter 'colour'. "
        "Its parameters: average, counts, minimum_agreement, same_reader.",
        "reference rule 'luna16': cannot take average = 'median': "
        "Input should be 'recursive' or 'mean'.",
    ]
    with pytest.raises(InputError, match="needs the parameter 'arbitrator'"):
        build_reference(DRAWN_BY_3_2_1, "arbitrated")


def test_unknown_rules_and_groupings_suggest_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'majority'"):
        build_reference(DRAWN_BY_3_2_1, "majorty")
    with pytest.raises(UnknownNameError, match="Did you mean 'recursive'"):
        build_reference(DRAWN_BY_3_2_1, "majority", {"grouping": "recursiv"})
