"""Which findings are one nodule, by hand: points on a line with diameters."""

import numpy as np
import pytest

from builders.readings import Drawing, block, point, read, readings
from nodulebench.reference.grouping import GROUPINGS, Findings, Grouping
from nodulebench.reference.panel import measure_findings


def at(reader: str, x: float, diameter: float = 10.0) -> Drawing:
    return point(reader, x, 0.0, 0.0, "nodule", diameter_mm=diameter)


def grouping(name: str, *drawings: Drawing, same_reader: bool = False) -> Grouping:
    panel = measure_findings(readings(read("a", *drawings)))
    return GROUPINGS[name](Findings(panel, 0, np.arange(len(drawings))), same_reader)


def members(name: str, *drawings: Drawing, same_reader: bool = False) -> list[tuple[int, ...]]:
    groups = grouping(name, *drawings, same_reader=same_reader)
    return sorted(tuple(sorted(group.members)) for group in groups.groups)


@pytest.mark.parametrize("name", GROUPINGS)
def test_every_finding_is_in_exactly_one_group(name: str) -> None:
    drawn = [
        block("1", (0, 0), (3, 3)),
        block("2", (1, 1), (4, 4)),
        block("1", (20, 20), (22, 22)),
        block("3", (2, 2), (5, 5), slices=(0, 1)),
    ]
    assert members(name, *drawn) == [(0, 1, 3), (2,)]
    assert members(name, drawn[0]) == [(0,)]


@pytest.mark.parametrize("name", [name for name in GROUPINGS if name != "outline_distance"])
def test_findings_of_one_reader_are_joined_only_if_allowed(name: str) -> None:
    drawn = [block("1", (0, 0), (3, 3)), block("1", (1, 1), (4, 4))]
    assert members(name, *drawn) == [(0,), (1,)]
    assert members(name, *drawn, same_reader=True) == [(0, 1)]


@pytest.mark.parametrize(
    "name", ["recursive", "linkage", "first_match", "nearest_match", "closest_pair"]
)
def test_findings_as_far_apart_as_their_radii_together_are_two(name: str) -> None:
    assert members(name, at("1", 0), at("2", 10)) == [(0,), (1,)]
    assert members(name, at("1", 0), at("2", 9.999)) == [(0, 1)]
    assert members(name, at("1", 0, 4), at("2", 6.5, 10)) == [(0, 1)]


def test_the_recursive_merge_halves_its_way_from_the_last_finding() -> None:
    # finding 3 is taken by 2 (half-way: 3), then 2 by 1 (2), then 1 by 0 (1):
    # weights 1/2, 1/4, 1/8, 1/8
    groups = grouping("recursive", at("1", 0, 8), at("2", 1, 12), at("3", 2, 16), at("4", 4, 8))
    (group,) = groups.groups
    assert group.members[0] == 0
    assert sorted(group.members) == [0, 1, 2, 3]
    assert group.center == pytest.approx((0 / 2 + 1 / 4 + 2 / 8 + 4 / 8, 0, 0))
    assert group.diameter == pytest.approx(8 / 2 + 12 / 4 + 16 / 8 + 8 / 8)
    assert [round(center[0], 9) for center, _ in groups.running] == [1.0, 2.0, 3.0, 4.0]


def test_the_recursive_merge_moves_while_it_merges() -> None:
    # 1 takes 2 and moves to 12, out of reach of 0, to which 1 itself was near
    assert members("recursive", at("1", 0, 9), at("2", 8, 9), at("3", 16, 9)) == [(0,), (1, 2)]
    assert members("linkage", at("1", 0, 9), at("2", 8, 9), at("3", 16, 9)) == [(0, 1, 2)]


def test_first_and_nearest_match_differ_between_two_groups() -> None:
    drawn = [at("1", 0), at("2", 12), at("3", 7)]
    assert members("first_match", *drawn) == [(0, 2), (1,)]
    assert members("nearest_match", *drawn) == [(0,), (1, 2)]


def test_groups_keep_the_mean_of_their_members() -> None:
    groups = grouping("nearest_match", at("1", 0, 6), at("2", 3, 9), at("3", 3, 12))
    (group,) = groups.groups
    assert group.center == pytest.approx((2, 0, 0))
    assert group.diameter == pytest.approx(9)


def test_the_closest_pair_is_joined_first() -> None:
    # 1 and 2 are closest; their mean at 8.5 is out of reach of 0, but 1 was not
    drawn = [at("1", 0, 8), at("2", 7.5, 8), at("3", 9.5, 8)]
    assert members("closest_pair", *drawn) == [(0,), (1, 2)]
    # in the order of reading 0 and 1 are joined at 3.75, from where 2 is within reach
    assert members("first_match", *drawn) == [(0, 1, 2)]


def test_overlap_needs_a_voxel_in_common() -> None:
    drawn = [block("1", (0, 0), (3, 3)), block("2", (4, 0), (7, 3)), block("3", (7, 3), (9, 9))]
    assert members("overlap", *drawn) == [(0,), (1, 2)]
    assert members("overlap", at("1", 0), at("2", 0)) == [(0,), (1,)]


def test_outlines_as_near_as_a_slice_is_thick_are_one() -> None:
    drawn = [block("1", (0, 0), (3, 3)), block("2", (7, 0), (9, 3))]
    # the rims end at column 4 and begin at column 6: 2 mm apart
    for thickness, expected in ((1.9, [(0,), (1,)]), (2.0, [(0, 1)])):
        panel = measure_findings(readings(read("a", *drawn, slice_thickness_mm=thickness)))
        groups = GROUPINGS["outline_distance"](Findings(panel, 0, np.arange(2)), True)
        assert [group.members for group in groups.groups] == expected


def test_more_than_four_outlines_are_pulled_apart() -> None:
    drawn = [block(str(n), (6 * n, 0), (6 * n + 3, 3)) for n in range(6)]
    # rims 1 mm apart; at 1.9 mm all six hang together, so the reach shrinks until they do not
    panel = measure_findings(readings(read("a", *drawn, slice_thickness_mm=1.9)))
    groups = GROUPINGS["outline_distance"](Findings(panel, 0, np.arange(6)), True)
    assert [len(group.members) for group in groups.groups] == [1] * 6
