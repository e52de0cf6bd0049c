import polars as pl
import pytest

from builders.tables import Slice, case, mark, nodule, protocol, reference, submission
from nodulebench.i18n.translator import in_english
from nodulebench.matching import label_marks
from nodulebench.matching.flips import flip_list, rule_difference

# P covers 12 of 36 mm² of n0 with its centre 4 mm away: hit by distance, missed by overlap;
# n1 is found by both, n2 by none
CASES = (
    case(
        "a",
        nodule(9, (50, 50, 10), Slice(10, 50, 50, 6, 6, 9, 9), type="solid"),
        nodule(6, (0, 0, 10), Slice(10, 0, 0, 6, 6), type="pleural"),
        mark(0.7, (54, 50, 10), Slice(10, 54, 50, 6, 6), diameter_mm=6.0, type="calcified"),
        mark(0.6, (0, 0, 10), Slice(10, 0, 0, 6, 6)),
    ),
    case(
        "b",
        nodule(6, (0, 0, 0), Slice(0, 0, 0, 6, 6)),
        mark(0.5, (90, 0, 0), Slice(0, 90, 0, 2, 2)),
    ),
)


def labelled(*cases, rule, **fields):
    chosen = protocol(rule, **fields)
    return label_marks(reference(*cases), submission(*cases), chosen, chosen.rules[0])


def flips(base, other, *cases):
    labels = [labelled(*cases, rule=rule) for rule in (base, other)]
    return flip_list(*labels, submission(*cases), reference(*cases))


def test_nodules_and_marks_that_change_are_listed_with_their_measures():
    table = flips("center_distance", "area_overlap", *CASES)
    assert table.to_dicts() == [
        {
            "kind": "nodule",
            "case_id": "a",
            "nodule_id": "n0",
            "mark_id": "m0",
            "base_label": "hit",
            "label": "missed",
            "score": 0.7,
            "diameter_mm": 9.0,
            "type": "solid",
            "distance_mm": 4.0,
            "threshold_mm": 4.5,
            "overlap": pytest.approx(12 / 36),
            "iou": pytest.approx(12 / 60),
        },
        {
            "kind": "mark",
            "case_id": "a",
            "nodule_id": "n0",
            "mark_id": "m0",
            "base_label": "hit",
            "label": "false_positive",
            "score": 0.7,
            "diameter_mm": 6.0,
            "type": "calcified",
            "distance_mm": None,
            "threshold_mm": None,
            "overlap": None,
            "iou": None,
        },
    ]


def test_flips_the_other_way_are_found_too():
    table = flips("area_overlap", "center_distance", *CASES)
    nodules = table.filter(pl.col("kind") == "nodule")
    assert nodules.select("nodule_id", "mark_id", "base_label", "label").rows() == [
        ("n0", "m0", "missed", "hit")
    ]


def test_nodule_hit_by_another_mark_is_not_a_flip_but_its_marks_are():
    here = case(
        "a",
        nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 10), Slice(1, 0, 0, 6, 6)),
        mark(0.5, (2, 0, 0), Slice(0, 2, 0, 2, 2)),
        mark(0.5, (0, 0, 1), Slice(1, 0, 0, 2, 2)),
    )
    base = labelled(here, rule="center_hit")
    other = labelled(here, rule="center_hit", parameters={"tie_break": "z"})
    table = flip_list(base, other, submission(here), reference(here))
    assert table.select("kind", "mark_id", "base_label", "label").rows() == [
        ("mark", "m0", "false_positive", "hit"),
        ("mark", "m1", "hit", "false_positive"),
    ]
    assert rule_difference(base, other)["marks_changed"] == 2


def test_same_labels_give_an_empty_list():
    table = flips("center_hit", "center_hit", *CASES)
    assert table.height == 0
    assert table.schema == flips("center_distance", "area_overlap", *CASES).schema


def test_points_without_boxes_have_no_measures():
    here = case("a", nodule(10), nodule(10, (4, 0, 0)), mark(0.5, (3, 0, 0)))
    table = flips("luna16", "luna16_clean", here)
    assert table.select("nodule_id", "base_label", "label", "distance_mm", "overlap").rows() == [
        ("n0", "hit", "missed", None, None)
    ]


def test_difference_counts_hits_and_false_positives():
    base, other = (labelled(*CASES, rule=rule) for rule in ("center_distance", "area_overlap"))
    assert rule_difference(base, other) == {
        "base_hit": 2,
        "hit": 1,
        "gained": 0,
        "lost": 1,
        "base_false_positive": 1,
        "false_positive": 2,
        "marks_changed": 1,
        "relative_difference": -0.5,
    }


def test_relative_difference_to_no_hit_is_undefined():
    base, other = (
        labelled(CASES[0], rule="area_overlap", parameters={"threshold": threshold})
        for threshold in (0.9999, 0.3)
    )
    far = labelled(CASES[1], rule="area_overlap")
    assert rule_difference(base, other)["relative_difference"] == 1.0
    undefined = rule_difference(far, far)
    assert undefined["relative_difference"] is None
    assert in_english(undefined["reason"]) == (
        "no nodule is hit under the first rule of the comparison"
    )


def test_boxes_on_only_one_side_have_no_measures():
    box = Slice(0, 3, 0, 4, 4)
    for nodule_box, mark_box in (((), (box,)), ((box,), ())):
        here = case(
            "a",
            nodule(10, (0, 0, 0), *nodule_box),
            nodule(10, (4, 0, 0), *nodule_box),
            mark(0.5, (3, 0, 0), *mark_box),
        )
        table = flips("luna16", "luna16_clean", here)
        assert table.select("nodule_id", "label", "distance_mm").rows() == [("n0", "missed", None)]
