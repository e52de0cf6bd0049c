import pytest

from builders.tables import (
    Slice,
    case,
    ignored,
    labels_of,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from builders.words import sentences, undefined
from nodulebench.core.errors import InputError
from nodulebench.matching import label_marks

# the same example as for center_hit: the threshold is (10 + 8) / 4 = 4.5 mm on every slice
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


def labels(*marks, of=NODULE, **parameters):
    rows = labels_of(case("a", of, *marks), rule="center_distance", parameters=parameters)
    return [row[3] for row in rows]


def test_closest_of_three_qualifying_marks_is_the_hit():
    assert labels_of(case("a", NODULE, P1, P2, P3), rule="center_distance") == [
        ("a", "m0", "n0", "false_positive"),
        ("a", "m1", "n0", "false_positive"),
        ("a", "m2", "n0", "hit"),
    ]


def test_next_closest_is_the_hit_when_the_closest_is_gone():
    assert labels(P1, P2) == ["false_positive", "hit"]


def test_largest_radius_holds_on_every_slice():
    assert labels(P1) == ["hit"]  # 4 mm on slice 10, whose own radius is 3 mm


@pytest.mark.parametrize(("x", "label"), [(54.5, "false_positive"), (54.499, "hit")])
def test_mark_exactly_at_the_threshold_is_not_a_hit(x, label):
    assert labels(mark(0.5, (x, 50, 11), Slice(11, x, 50, 2, 2))) == [label]


def test_exact_threshold_is_not_a_hit_although_decimals_are_not_exact():
    # 0.7 - 0.4 is 0.29999999999999993 in doubles, below the threshold of 0.3
    here = nodule(0.6, (0.4, 0, 0), Slice(0, 0.4, 0, 1, 1, 0.6, 0.6))
    assert labels(mark(0.5, (0.7, 0, 0), Slice(0, 0.7, 0, 1, 1)), of=here) == ["false_positive"]


def test_box_replaces_missing_diameters():
    here = nodule(6, (0, 0, 0), Slice(0, 0, 0, 8, 4))  # (8 + 4) / 4 = 3
    near, far = (mark(0.5, (x, 0, 0), Slice(0, x, 0, 2, 2)) for x in (2.9, 3.1))
    assert labels(near, of=here) == ["hit"]
    assert labels(far, of=here) == ["false_positive"]


def test_distance_in_the_plane_leaves_out_the_other_slices():
    outside = mark(0.5, (50, 50, 13), Slice(13, 50, 50, 6, 6))
    assert labels(outside) == ["false_positive"]
    assert labels(outside, space="volume") == ["hit"]  # 2 mm from the centre in space


def test_distance_in_space_needs_no_boxes():
    assert labels(mark(0.5, (3, 0, 0)), of=nodule(8), space="volume") == ["hit"]
    assert labels(mark(0.5, (4, 0, 0)), of=nodule(8), space="volume") == ["false_positive"]


def test_a_nodule_of_unknown_size_cannot_be_found_in_space_and_is_counted():
    content = (nodule(None), nodule(None, (50, 0, 0)), ignored(None, (90, 0, 0)), mark(0.5))
    here = case("a", *content)
    assert labels(*content[3:], of=content[0], space="volume") == ["false_positive"]
    truth, submitted = reference(here), submission(here)
    chosen = protocol("center_distance", parameters={"space": "volume"})
    assert sentences(label_marks(truth, submitted, chosen, chosen.rules[0]).notices) == (
        "2 nodules have neither a diameter nor a box and count as missed.",
    )


def test_one_radius_for_all_finds_nodules_of_unknown_size_too():
    assert labels(mark(0.5), of=nodule(None), space="volume", radius_mm=3.0) == ["hit"]


def test_one_radius_for_all_replaces_the_nodules_own():
    assert labels(P1, radius_mm=3.5) == ["false_positive"]
    assert labels(P1, radius_mm=4.5) == ["hit"]


def test_factor_multiplies_the_threshold():
    assert labels(P1, radius_factor=0.8) == ["false_positive"]  # 3.6 mm
    assert labels(P1, radius_factor=0.9) == ["hit"]  # 4.05 mm


def test_radius_has_to_be_positive():
    with pytest.raises(InputError) as caught:
        labels(P1, radius_mm=-1.0)
    assert str(caught.value) == (
        "protocol 'test' rule 'center_distance': cannot take radius_mm = -1.0: "
        "Input should be greater than 0."
    )


def test_list_of_points_leaves_the_rule_undefined():
    with undefined(match="the submission is a list of points"):
        labels(mark(0.5))


def test_in_space_the_nearest_mark_is_the_hit_at_any_position():
    for x in (-80.0, 0.0, 80.0):
        here = nodule(12, (x, x, x))
        near, far = mark(0.1, (x + 1, x, x)), mark(0.9, (x - 3, x - 1, x))
        assert labels(near, far, of=here, space="volume") == ["hit", "false_positive"]
        assert labels(far, near, of=here, space="volume") == ["false_positive", "hit"]


def test_in_space_nothing_is_near_an_unmeasured_nodule():
    unknown = nodule(None, (5, 5, 5))
    assert labels(mark(0.5, (5, 5, 5)), of=unknown, space="volume") == ["false_positive"]


def test_the_radius_of_boxes_counts_before_the_diameter():
    # (10 + 8) / 4 = 4.5 mm from the boxes, 3 mm from the diameter
    here = nodule(6, (50, 50, 0), Slice(0, 50, 50, 10, 8, 10, 8))
    assert labels(mark(0.5, (54, 50, 0), Slice(0, 54, 50, 2, 2)), of=here) == ["hit"]


@pytest.mark.parametrize(("y", "label"), [(54.4, "hit"), (54.6, "false_positive")])
def test_both_axes_of_a_slice_count(y, label):
    assert labels(mark(0.5, (50, y, 11), Slice(11, 50, y, 2, 2))) == [label]
