"""Where findings lie and how large they are, by hand on small grids."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from builders.readings import Drawing, block, point, polygon, read, readings, rim
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.reference.panel import measure_findings


def test_a_finding_is_at_the_mean_of_the_pixels_inside_its_outline() -> None:
    panel = measure_findings(
        readings(read("a", block("1", (2, 4), (5, 5), slices=(3, 4)), spacing=(0.5, 0.7, 2.0)))
    )
    assert panel.xyz_mm.tolist() == [pytest.approx([3.5 * 0.5, 4.5 * 0.7, 7.0])]
    assert len(panel.regions.of(0)) == 4 * 2 * 2
    volume = 16 * 0.5 * 0.7 * 2.0
    assert panel.diameter_mm.tolist() == pytest.approx([(6 * volume / math.pi) ** (1 / 3)])


def test_a_hole_is_cut_out_with_its_rim() -> None:
    whole = block("1", (0, 0), (8, 8), hole=((4, 4), (4, 4)))
    panel = measure_findings(readings(read("a", whole)))
    assert len(panel.regions.of(0)) == 81 - 9


def test_outlines_on_one_slice_are_joined() -> None:
    both = Drawing("1", outlines=((0, rim((0, 0), (2, 2)), False), (0, rim((2, 0), (4, 2)), False)))
    panel = measure_findings(readings(read("a", both)))
    assert len(panel.regions.of(0)) == 15


def test_with_the_rim_only_the_size_changes() -> None:
    drawn = readings(read("a", block("1", (2, 2), (3, 3))))
    without, with_rim = (
        measure_findings(drawn, size=name)
        for name in ("volume_equivalent", "volume_equivalent_with_rim")
    )
    assert without.diameter_mm[0] == pytest.approx((6 * 4 / math.pi) ** (1 / 3))
    assert with_rim.diameter_mm[0] == pytest.approx((6 * 16 / math.pi) ** (1 / 3))
    assert without.xyz_mm.tolist() == with_rim.xyz_mm.tolist()


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("area_equivalent", 2 * math.sqrt(8 / math.pi)),
        ("long_axis", math.sqrt(20)),
        ("average", (math.sqrt(20) + math.sqrt(5)) / 2),
        ("outline_extent", math.hypot(5, 3)),
    ],
)
def test_a_block_of_four_by_two_under_each_definition(size: str, expected: float) -> None:
    panel = measure_findings(readings(read("a", block("1", (1, 1), (4, 2)))), size=size)
    assert panel.diameter_mm[0] == pytest.approx(expected)
    assert panel.size_definition == size


def test_a_boundary_is_measured_as_drawn_not_by_its_pixels() -> None:
    triangle = polygon("1", (0, 0), (6, 0), (0, 6))
    panel = measure_findings(readings(read("a", triangle)), size="area_equivalent")
    assert panel.diameter_mm[0] == pytest.approx(2 * math.sqrt(18 / math.pi))
    volume = measure_findings(readings(read("a", triangle)))
    assert volume.diameter_mm[0] == pytest.approx((6 * 18 / math.pi) ** (1 / 3))


def test_a_rotated_scan_changes_places_but_no_sizes() -> None:
    drawn = readings(read("a", block("1", (1, 1), (4, 2), slices=(0, 1))))
    turned = drawn.cases.with_columns(direction=pl.lit("-1 0 0 0 -1 0 0 0 1"))
    opposite = drawn.slices.with_columns(
        contour=pl.col("contour").str.replace_all(r"(\d+\.\d)", "-$1")
    )
    rotated = measure_findings(replace(drawn, cases=turned, slices=opposite), size="average")
    plain = measure_findings(drawn, size="average")
    assert rotated.regions.of(0).tolist() == plain.regions.of(0).tolist()
    assert rotated.diameter_mm.tolist() == plain.diameter_mm.tolist()
    assert rotated.xyz_mm.tolist() == (plain.xyz_mm * [-1, -1, 1]).tolist()


def test_an_oblique_scan_is_measured_in_its_own_plane() -> None:
    c, s = math.cos(0.4), math.sin(0.4)
    drawn = readings(read("a", block("1", (1, 1), (4, 2))))
    tilted = drawn.cases.with_columns(direction=pl.lit(f"1 0 0 0 {c} {-s} 0 {s} {c}"))
    corners = rim((1, 1), (4, 2))
    leaning = drawn.slices.with_columns(
        contour=pl.lit(";".join(f"{i} {j * c}" for i, j in corners))
    )
    panel = measure_findings(replace(drawn, cases=tilted, slices=leaning), size="long_axis")
    assert len(panel.regions.of(0)) == 8
    assert panel.diameter_mm[0] == pytest.approx(math.sqrt(20))
    assert panel.xyz_mm[0].tolist() == pytest.approx([2.5, 1.5 * c, 1.5 * s])


def test_the_height_of_a_slice_is_what_the_outline_says() -> None:
    drawn = readings(read("a", block("1", (1, 1), (2, 2), slices=(5,))))
    moved = replace(drawn, slices=drawn.slices.with_columns(z_mm=pl.lit(5.25)))
    assert measure_findings(moved).xyz_mm[0, 2] == 5.25
    silent = replace(drawn, slices=drawn.slices.with_columns(z_mm=pl.lit(None, dtype=pl.Float64)))
    assert measure_findings(silent).xyz_mm[0, 2] == 5.0


def test_a_point_with_a_diameter_needs_no_outline() -> None:
    panel = measure_findings(readings(read("a", point("1", 1, 2, 3, "nodule", diameter_mm=7.5))))
    assert panel.diameter_mm.tolist() == [7.5]
    assert panel.xyz_mm.tolist() == [[1, 2, 3]]


def test_who_read_without_findings_counts_as_a_reader() -> None:
    panel = measure_findings(
        readings(read("a", block("1", (1, 1), (2, 2)), readers="1234"), read("b"))
    )
    assert panel.readers_of_case.tolist() == [4, 0]


def test_findings_without_size_or_place_are_refused_together() -> None:
    drawn = readings(
        read("a", point("1", 1, 2, 3, "nodule"), Drawing("2"), block("1", (1, 1), (2, 2)))
    )
    with pytest.raises(InputError) as caught:
        measure_findings(drawn)
    assert [str(problem) for problem in caught.value.problems] == [
        "case 'a' finding 'f0': has no outline or diameter.",
        "case 'a' finding 'f1': has neither a point nor an outline.",
    ]


def test_an_outline_that_encloses_no_pixel_is_refused() -> None:
    flat = Drawing("1", outlines=((0, ((1, 1), (2, 1), (3, 1)), False),))
    with pytest.raises(InputError) as caught:
        measure_findings(readings(read("a", flat)))
    assert str(caught.value) == (
        "case 'a' finding 'f0': its outlines enclose no pixel. "
        "Draw it again, or mark it as a point."
    )


def test_outlines_need_the_voxel_size_of_their_case() -> None:
    drawn = readings(read("a", block("1", (1, 1), (2, 2))))
    bare = drawn.cases.with_columns(spacing_x_mm=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(InputError, match="case 'a': has outlines but no voxel size"):
        measure_findings(replace(drawn, cases=bare))


def test_an_outline_of_an_unknown_finding_is_refused() -> None:
    drawn = readings(read("a", block("1", (1, 1), (2, 2))))
    stray = replace(drawn, slices=drawn.slices.with_columns(finding_id=pl.lit("f7")))
    with pytest.raises(InputError, match="outlines are given for finding 'f7' of case 'a'"):
        measure_findings(stray)


def test_a_finding_of_a_case_that_was_not_read_is_refused() -> None:
    drawn = readings(read("a", point("1", 1, 2, 3)))
    stray = replace(drawn, findings=drawn.findings.with_columns(case_id=pl.lit("b")))
    with pytest.raises(InputError, match="case 'b' is not among the cases that were read"):
        measure_findings(stray)


def test_an_unknown_definition_of_size_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'width' is not a definition of size"):
        measure_findings(readings(read("a")), size="width")


def test_leaving_out_a_reader_or_a_seat_drops_what_was_drawn_there() -> None:
    drawn = readings(
        read("a", block("x", (1, 1), (2, 2)), block("y", (1, 1), (2, 2))),
        read("b", block("y", (1, 1), (2, 2)), readers="y"),
    )
    first_seat = drawn.without_seat(1)
    assert first_seat.sessions.select("case_id", "reader_id").rows() == [("a", "y")]
    assert np.array_equal(first_seat.slices["finding_id"].to_numpy(), ["f1"])
