import polars as pl
import pytest

from builders.tables import Slice, case, labels_of, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english
from nodulebench.matching import label_marks

# Worked example: a nodule on slices 10, 11, 12 with its largest slice 11; three marks
NODULE = nodule(
    9,
    (50, 50, 11),
    Slice(10, 50, 50, 6, 6, 6, 6),
    Slice(11, 50, 50, 10, 10, 10, 8),
    Slice(12, 50, 50, 6, 6, 6, 6),
)
P1 = mark(0.5, (54, 50, 10), Slice(10, 54, 50, 6, 6))
P2 = mark(0.5, (52, 50, 11), Slice(11, 52, 50, 4, 4))
P3 = mark(0.5, (50, 50, 12), Slice(12, 50, 50, 20, 20))


def test_mark_nearest_in_space_to_the_largest_slice_is_the_hit():
    # distances to the centre of slice 11: P2 2.0 within the plane, P3 1.0 along z
    assert labels_of(case("a", NODULE, P1, P2, P3), rule="center_hit") == [
        ("a", "m0", None, "false_positive"),
        ("a", "m1", "n0", "false_positive"),
        ("a", "m2", "n0", "hit"),
    ]


def test_only_along_z_the_mark_on_the_largest_slice_is_the_hit():
    labels = labels_of(
        case("a", NODULE, P1, P2, P3), rule="center_hit", parameters={"tie_break": "z"}
    )
    assert [row[3] for row in labels] == ["false_positive", "hit", "false_positive"]


def test_next_best_mark_is_the_hit_when_the_best_is_gone():
    assert labels_of(case("a", NODULE, P1, P2), rule="center_hit") == [
        ("a", "m0", None, "false_positive"),
        ("a", "m1", "n0", "hit"),
    ]


@pytest.mark.parametrize(
    ("x", "label"),
    [(53.0, "hit"), (53.001, "false_positive"), (47.0, "hit"), (46.9, "false_positive")],
)
def test_edge_of_the_box_belongs_to_the_region(x, label):
    here = nodule(6, (50, 50, 0), Slice(0, 50, 50, 6, 6))
    labels = labels_of(
        case("a", here, mark(0.5, (x, 50, 0), Slice(0, x, 50, 1, 1))), rule="center_hit"
    )
    assert labels[0][3] == label


def test_edge_counts_although_decimals_are_not_exact():
    # 54.4 - 50.3 is 4.1000000000000014 in doubles
    here = nodule(8, (50.3, 0, 0), Slice(0, 50.3, 0, 8.2, 8.2))
    labels = labels_of(
        case("a", here, mark(0.5, (54.4, 0, 0), Slice(0, 54.4, 0, 1, 1))), rule="center_hit"
    )
    assert labels[0][3] == "hit"


def test_box_on_another_slice_or_of_another_case_does_not_count():
    here = nodule(6, (50, 50, 0), Slice(0, 50, 50, 6, 6))
    outside = mark(0.5, (50, 50, 1), Slice(1, 50, 50, 6, 6))
    elsewhere = mark(0.5, (50, 50, 0), Slice(0, 50, 50, 6, 6))
    labels = labels_of(case("a", here, outside), case("b", elsewhere), rule="center_hit")
    assert [row[3] for row in labels] == ["false_positive", "false_positive"]


def test_any_one_slice_suffices():
    here = nodule(6, (50, 50, 0), Slice(3, 50, 50, 6, 6))
    long = mark(0.5, (0, 0, 0), Slice(1, 0, 0, 2, 2), Slice(2, 20, 0, 2, 2), Slice(3, 51, 50, 2, 2))
    assert labels_of(case("a", here, long), rule="center_hit") == [("a", "m0", "n0", "hit")]


TRIANGLE = "0 0;10 0;0 10"


def test_contour_decides_where_there_is_one():
    here = nodule(10, (5, 5, 0), Slice(0, 5, 5, 10, 10, contour=TRIANGLE))
    inside = mark(0.5, (4, 4, 0), Slice(0, 4, 4, 2, 2))
    corner_of_box = mark(0.5, (8, 8, 0), Slice(0, 8, 8, 2, 2))
    rows = labels_of(case("a", here, inside, corner_of_box), rule="center_hit")
    assert [(row[2], row[3]) for row in rows] == [("n0", "hit"), (None, "false_positive")]


def test_box_decides_where_the_protocol_says_so():
    here = nodule(10, (5, 5, 0), Slice(0, 5, 5, 10, 10, contour=TRIANGLE))
    corner_of_box = mark(0.5, (8, 8, 0), Slice(0, 8, 8, 2, 2))
    parameters = {"region": "box"}
    rows = labels_of(case("a", here, corner_of_box), rule="center_hit", parameters=parameters)
    assert rows == [("a", "m0", "n0", "hit")]


def _labels(*cases, **parameters):
    chosen = protocol("center_hit", parameters=parameters)
    return label_marks(reference(*cases), submission(*cases), chosen, chosen.rules[0])


def test_remark_tells_how_often_contour_and_box_were_the_region():
    here = nodule(10, (5, 5, 0), Slice(0, 5, 5, 10, 10, contour=TRIANGLE), Slice(1, 5, 5, 10, 10))
    remarks = _labels(case("a", here, mark(0.5, (4, 4, 0), Slice(0, 4, 4, 2, 2)))).remarks
    assert sentences(remarks) == (
        "The region of a nodule was its contour on 1 slice and its box on 1.",
    )


def test_largest_slice_is_that_of_the_largest_contour():
    # the box of slice 1 is larger, the contour of slice 0 is: P on slice 0 is nearer
    here = nodule(
        10,
        (5, 5, 0),
        Slice(0, 5, 5, 10, 10, contour="0 0;10 0;10 10;0 10"),
        Slice(1, 5, 5, 12, 12, contour="4 4;6 4;6 6;4 6"),
    )
    low = mark(0.5, (5, 5, 0), Slice(0, 5, 5, 2, 2))
    high = mark(0.9, (5, 5, 1), Slice(1, 5, 5, 2, 2))
    assert [row[3] for row in labels_of(case("a", here, low, high), rule="center_hit")] == [
        "hit",
        "false_positive",
    ]


def test_largest_slice_is_that_of_the_largest_box_when_a_contour_is_missing():
    here = nodule(
        10,
        (5, 5, 0),
        Slice(0, 5, 5, 10, 10, contour="0 0;10 0;10 10;0 10"),
        Slice(1, 5, 5, 12, 12),
    )
    low = mark(0.9, (5, 5, 0), Slice(0, 5, 5, 2, 2))
    high = mark(0.5, (5, 5, 1), Slice(1, 5, 5, 2, 2))
    assert [row[3] for row in labels_of(case("a", here, low, high), rule="center_hit")] == [
        "false_positive",
        "hit",
    ]


def test_of_equally_large_slices_the_lower_is_the_largest():
    here = nodule(6, (0, 0, 0), Slice(4, 0, 0, 6, 6), Slice(3, 0, 0, 6, 6))
    upper = mark(0.9, (0, 0, 4), Slice(4, 0, 0, 2, 2))
    lower = mark(0.5, (0, 0, 3), Slice(3, 0, 0, 2, 2))
    assert [row[3] for row in labels_of(case("a", here, upper, lower), rule="center_hit")] == [
        "false_positive",
        "hit",
    ]


def test_score_then_id_decide_between_equally_near_marks():
    here = nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))

    def hit(*scores):
        marks = [mark(score, (1, 0, 0), Slice(0, 1, 0, 2, 2)) for score in scores]
        rows = labels_of(case("a", here, *marks), rule="center_hit")
        return [row[1] for row in rows if row[3] == "hit"]

    assert hit(0.4, 0.8, 0.8) == ["m1"]
    assert hit(None, None) == ["m0"]


@pytest.mark.parametrize(("spacing", "winner"), [(1.0, "m1"), (5.0, "m0")])
def test_slice_spacing_replaces_missing_positions(spacing, winner):
    # m0 is 2 mm away within the plane of the largest slice, m1 one slice above it
    here = nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 10), Slice(1, 0, 0, 6, 6))
    cases = case(
        "a",
        here,
        mark(0.5, (2, 0, 0), Slice(0, 2, 0, 2, 2)),
        mark(0.5, (0, 0, 1), Slice(1, 0, 0, 2, 2)),
        spacing_z_mm=spacing,
    )
    truth, submitted, chosen = reference(cases), submission(cases), protocol("center_hit")
    no_z = pl.lit(None, dtype=pl.Float64).alias("z_mm")
    truth = type(truth)("t", truth.cases, truth.nodules, truth.slices.with_columns(no_z))
    submitted = type(submitted)("s", submitted.marks, submitted.slices.with_columns(no_z))
    table = label_marks(truth, submitted, chosen, chosen.rules[0]).table("a", "r", submitted, truth)
    assert table.filter(pl.col("label") == "hit")["mark_id"].to_list() == [winner]


def test_unknown_slice_spacing_is_stated():
    here = nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 10), Slice(1, 0, 0, 6, 6))
    cases = case("a", here, mark(0.5, (0, 0, 1), Slice(1, 0, 0, 2, 2)))
    truth, submitted, chosen = reference(cases), submission(cases), protocol("center_hit")
    no_z = pl.lit(None, dtype=pl.Float64).alias("z_mm")
    submitted = type(submitted)("s", submitted.marks, submitted.slices.with_columns(no_z))
    notices = label_marks(truth, submitted, chosen, chosen.rules[0]).notices
    assert sentences(notices)[0] == (
        "The slice spacing is not known for 1 pair of mark and nodule. Where several marks hit one "
        "nodule, their distance to its largest slice assumes 1 mm per slice."
    )


def test_on_the_same_slice_no_spacing_is_needed():
    here = nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 10))
    cases = case("a", here, mark(0.5, (0, 0, 0), Slice(0, 0, 0, 2, 2)))
    truth, submitted, chosen = reference(cases), submission(cases), protocol("center_hit")
    no_z = pl.lit(None, dtype=pl.Float64).alias("z_mm")
    submitted = type(submitted)("s", submitted.marks, submitted.slices.with_columns(no_z))
    assert label_marks(truth, submitted, chosen, chosen.rules[0]).notices == ()


def test_list_of_points_leaves_the_rule_undefined():
    here = nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))
    with pytest.raises(UndefinedError) as caught:
        labels_of(case("a", here, mark(0.5)), rule="center_hit")
    assert in_english(reason_of(caught.value)) == (
        "center_hit needs boxes per slice; the submission is a list of points"
    )


def test_reference_of_points_leaves_the_rule_undefined():
    with pytest.raises(UndefinedError) as caught:
        labels_of(
            case("a", nodule(6), mark(0.5, (0, 0, 0), Slice(0, 0, 0, 2, 2))), rule="center_hit"
        )
    assert in_english(reason_of(caught.value)) == (
        "center_hit needs boxes per slice; the reference is a list of points"
    )


def test_marks_and_nodules_without_a_box_are_counted():
    boxed = nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))
    labels = _labels(
        case("a", boxed, nodule(6), mark(0.5), mark(0.5, (0, 0, 0), Slice(0, 0, 0, 2, 2)))
    )
    assert sentences(labels.notices) == (
        "1 nodule has no box on any slice and counts as missed.",
        "1 mark has no box on any slice and cannot hit a nodule.",
    )


@pytest.mark.parametrize(
    ("x", "y", "label"),
    [
        (50, 52, "hit"),
        (50, 52.001, "false_positive"),
        (50, 48, "hit"),
        (50, 47.999, "false_positive"),
        (55, 50, "hit"),
        (55.001, 50, "false_positive"),
        (55, 52, "hit"),
        (52.5, 52.5, "false_positive"),
    ],
)
def test_a_box_ends_at_half_its_length_and_half_its_width(x, y, label):
    here = nodule(6, (50, 50, 0), Slice(0, 50, 50, 10, 4))
    outside = mark(0.5, (x, y, 0), Slice(0, x, y, 1, 1))
    assert labels_of(case("a", here, outside), rule="center_hit")[0][3] == label


def test_only_along_z_neither_axis_of_the_slice_counts():
    # the first is on the largest slice, 4 mm off along y; the second on the slice above it
    far = mark(0.5, (50, 54, 11), Slice(11, 50, 54, 2, 2))
    near = mark(0.9, (50, 50, 12), Slice(12, 50, 50, 2, 2))
    rows = labels_of(case("a", NODULE, far, near), rule="center_hit", parameters={"tie_break": "z"})
    assert [row[3] for row in rows] == ["hit", "false_positive"]


@pytest.mark.parametrize(("lower", "upper", "winner"), [(3, 6, "m1"), (4, 7, "m0")])
def test_without_positions_slices_are_counted_from_the_largest_up_and_down(lower, upper, winner):
    outer = [Slice(number, 0, 0, 6, 6) for number in (3, 4, 6, 7)]
    here = nodule(10, (0, 0, 5), Slice(5, 0, 0, 10, 10), *outer)
    marks = [mark(0.5, (0, 0, number), Slice(number, 0, 0, 2, 2)) for number in (lower, upper)]
    cases = case("a", here, *marks, spacing_z_mm=1.0)
    truth, submitted, chosen = reference(cases), submission(cases), protocol("center_hit")
    no_z = pl.lit(None, dtype=pl.Float64).alias("z_mm")
    truth = type(truth)("t", truth.cases, truth.nodules, truth.slices.with_columns(no_z))
    submitted = type(submitted)("s", submitted.marks, submitted.slices.with_columns(no_z))
    table = label_marks(truth, submitted, chosen, chosen.rules[0]).table("a", "r", submitted, truth)
    assert table.filter(pl.col("label") == "hit")["mark_id"].to_list() == [winner]


@pytest.mark.parametrize(
    ("x", "y", "label"), [(8, 1, "hit"), (1, 1, "hit"), (1, 8, "false_positive")]
)
def test_a_contour_is_as_long_and_as_wide_as_it_was_drawn(x, y, label):
    here = nodule(10, (5, 1, 0), Slice(0, 5, 1, 10, 2, contour="0 0;10 0;10 2;0 2"))
    outside = mark(0.5, (x, y, 0), Slice(0, x, y, 1, 1))
    assert labels_of(case("a", here, outside), rule="center_hit")[0][3] == label


def test_slices_of_unknown_spacing_are_a_millimetre_apart():
    here = nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 10), Slice(1, 0, 0, 6, 6))
    for x, winner in ((0.5, "m0"), (1.5, "m1")):
        outside = mark(0.5, (x, 0, 0), Slice(0, x, 0, 2, 2))
        cases = case("a", here, outside, mark(0.5, (0, 0, 1), Slice(1, 0, 0, 2, 2)))
        truth, submitted, chosen = reference(cases), submission(cases), protocol("center_hit")
        no_z = pl.lit(None, dtype=pl.Float64).alias("z_mm")
        submitted = type(submitted)("s", submitted.marks, submitted.slices.with_columns(no_z))
        table = label_marks(truth, submitted, chosen, chosen.rules[0]).table(
            "a", "r", submitted, truth
        )
        assert table.filter(pl.col("label") == "hit")["mark_id"].to_list() == [winner]


@pytest.mark.parametrize("rule", ["center_hit", "center_distance", "area_overlap"])
def test_without_a_mark_or_without_a_nodule_there_is_nothing_to_tell(rule):
    chosen = protocol(rule)
    for here in (
        case("a", nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6))),
        case("a", mark(0.5, (0, 0, 0), Slice(0, 0, 0, 6, 6))),
        case("a"),
    ):
        labels = label_marks(reference(here), submission(here), chosen, chosen.rules[0])
        assert len(labels.mark) == len(here.marks)
        assert labels.notices == ()


def test_a_centre_next_to_the_contour_is_outside_though_inside_its_box():
    here = nodule(10, (5, 5, 0), Slice(0, 5, 5, 10, 10, contour="0 0;10 0;0 10"))
    for place, label in (((9, 4, 0), "false_positive"), ((8, 1, 0), "hit")):
        stated = mark(0.5, place, Slice(0, place[0], place[1], 2, 2))
        assert [row[3] for row in labels_of(case("a", here, stated), rule="center_hit")] == [label]
