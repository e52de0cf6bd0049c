import numpy as np
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
from builders.words import undefined
from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, UNCOUNTED, labelled_cohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english
from nodulebench.matching import label_marks, targets
from nodulebench.matching.sweep import sweep_size_tolerance

INFINITE = float("inf")

# D = 4 mm; pairs (x, c) of nodule and mark: (3.8, 4.2) (4.2, 3.8) (1, 4.2) (4.2, 1) (-, 4.2)
# (-, 3.8) (5, -) (5, 6)
PAIRS = (
    (3.8, 4.2),
    (4.2, 3.8),
    (1.0, 4.2),
    (4.2, 1.0),
    (None, 4.2),
    (None, 3.8),
    (5.0, None),
    (5.0, 6.0),
)


def limit(tolerance=0.0, reading="table", minimum=4.0, **more):
    return {"minimum_mm": minimum, "tolerance_mm": tolerance, "reading": reading, **more}


def paired(*pairs):
    """Nodules of size x and marks of size c at the same place, every pair 50 mm from the next."""
    content = []
    for number, (x, c) in enumerate(pairs):
        place = (50.0 * number, 0.0, 0.0)
        if x is not None:
            content.append(nodule(x, place))
        if c is not None:
            content.append(mark(0.5, place, diameter_mm=c))
    return case("a", *content)


def counted(scan, rule="luna16", **fields):
    """hit, missed, underestimated, false positives, overestimated, as metrics count them."""
    chosen = protocol(rule, **fields)
    truth, submitted = reference(scan), submission(scan)
    labels = label_marks(truth, submitted, chosen, chosen.rules[0])
    cohort = labelled_cohort(truth, submitted, labels, targets(truth, submitted, chosen))
    return (
        int(np.count_nonzero(cohort.is_hit)),
        cohort.missed_count,
        len(labels.underestimated),
        len(cohort.false_case),
        len(labels.overestimated),
    )


@pytest.mark.parametrize("rule", ["luna16", "luna16_clean"])
@pytest.mark.parametrize(
    ("tolerance", "reading", "expected"),
    [
        (0.0, "table", (1, 3, 2, 3, 2)),
        (0.0, "strict_truth", (1, 3, 2, 3, 2)),
        (1.0, "table", (2, 2, 1, 1, 0)),
        (1.0, "strict_truth", (2, 2, 1, 2, 1)),
        (INFINITE, "table", (3, 1, 0, 1, 0)),
    ],
)
def test_worked_example_under_each_tolerance_and_reading(rule, tolerance, reading, expected):
    limited = counted(paired(*PAIRS), rule, size_limit=limit(tolerance, reading))
    assert limited == expected


def test_nodules_below_the_limit_are_not_targets():
    scan = paired((3.999, None), (4.0, None), (9.0, None))
    chosen = protocol(size_limit=limit())
    assert targets(reference(scan), submission(scan), chosen).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("x", "c", "label"),
    [
        (4.0, 3.0, "hit"),
        (4.0, 2.999, "uncounted"),
        (4.0, 4.0, "hit"),
        (3.999, 5.0, "false_positive"),
        (3.999, 4.999, "uncounted"),
        (None, 4.0, "false_positive"),
        (None, 3.999, "uncounted"),
    ],
)
def test_limits_of_the_cells_are_inclusive_below(x, c, label):
    rows = labels_of(paired((x, c)), size_limit=limit(1.0))
    assert rows[0][3] == label


def test_cells_are_exact_although_decimals_are_not():
    # 10.1 + 0.2 is 10.299999999999999 and 3.1 - 0.3 is 2.8000000000000003 in doubles
    assert labels_of(paired((3.0, 10.3)), size_limit=limit(0.2, minimum=10.1))[0][3] == (
        "false_positive"
    )
    assert labels_of(paired((3.1, 2.8)), size_limit=limit(0.3, minimum=3.1))[0][3] == "hit"


def test_second_mark_of_the_right_size_finds_the_nodule_that_the_best_one_underestimates():
    scan = case(
        "a",
        nodule(6),
        mark(0.9, diameter_mm=2.0),
        mark(0.3, diameter_mm=5.0),
        mark(0.5, diameter_mm=6.0),
    )
    assert [row[3] for row in labels_of(scan, size_limit=limit())] == [
        "uncounted",
        "duplicate",
        "hit",
    ]
    assert [row[3] for row in labels_of(scan, size_limit=limit(2.0))] == [
        "hit",
        "duplicate",
        "duplicate",
    ]


def test_second_mark_that_counts_as_false_has_to_be_of_reportable_size():
    scan = case(
        "a",
        nodule(6),
        mark(0.9, diameter_mm=6.0),
        mark(0.5, diameter_mm=4.0),
        mark(0.3, diameter_mm=3.9),
    )
    labels = labels_of(scan, size_limit=limit(1.0), duplicates="false_positive")
    assert [row[3] for row in labels] == ["hit", "false_positive", "uncounted"]


def test_second_overestimate_of_a_nodule_counts_once_or_twice_by_the_policy():
    scan = case("a", nodule(3), mark(0.9, diameter_mm=6.0), mark(0.5, diameter_mm=7.0))
    assert counted(scan, size_limit=limit()) == (0, 0, 0, 1, 1)
    assert counted(scan, size_limit=limit(), duplicates="false_positive") == (0, 0, 0, 2, 2)


def test_mark_on_a_large_and_a_small_nodule_is_a_hit_and_no_overestimate():
    scan = case("a", nodule(10), nodule(3, (1, 0, 0)), mark(0.9, diameter_mm=9.0))
    assert counted(scan, "luna16", size_limit=limit()) == (1, 0, 0, 0, 0)


def test_mark_on_two_small_nodules_is_one_false_positive():
    scan = case("a", nodule(3), nodule(3, (1, 0, 0)), mark(0.9, diameter_mm=9.0))
    assert counted(scan, "luna16", size_limit=limit()) == (0, 0, 0, 1, 1)


def test_ignored_and_capped_marks_stay_what_they_are():
    scan = case(
        "a",
        ignored(10),
        mark(0.9, diameter_mm=9.0),
        mark(0.8, (99, 0, 0), diameter_mm=9.0),
        mark(0.1, (50, 0, 0)),  # has no diameter, and needs none
    )
    labels = labels_of(scan, size_limit=limit(), mark_cap=2)
    assert [row[3] for row in labels] == ["ignored", "false_positive", "over_cap"]


def test_mark_without_a_diameter_leaves_the_limit_undefined():
    scan = case("a", nodule(5), mark(0.5, diameter_mm=5.0), mark(0.4))
    with pytest.raises(UndefinedError) as caught:
        labels_of(scan, size_limit=limit())
    assert in_english(reason_of(caught.value)) == (
        "a size limit needs the diameter of every mark; 1 of 2 has none, first mark 'm1' of case "
        "'a'"
    )


def test_nodule_that_was_not_measured_leaves_the_limit_undefined():
    scan = case("a", nodule(None), mark(0.5, diameter_mm=5.0))
    chosen = protocol(size_limit=limit())
    with pytest.raises(UndefinedError) as caught:
        targets(reference(scan), submission(scan), chosen)
    assert in_english(reason_of(caught.value)) == (
        "a size limit needs the diameter of every nodule; 1 was not measured"
    )
    with undefined(match="1 was not measured"):
        labels_of(scan, size_limit=limit())


def test_limit_works_with_a_rule_of_boxes():
    here = Slice(0, 0, 0, 3, 3)
    scan = case("a", nodule(3, (0, 0, 0), here), mark(0.5, (0, 0, 0), here, diameter_mm=5.0))
    assert counted(scan, "center_hit", size_limit=limit()) == (0, 0, 0, 1, 1)
    assert counted(scan, "center_hit", size_limit=limit(1.5)) == (0, 0, 0, 0, 0)


def sweep(scan, rule="luna16", tolerances=None, **fields):
    chosen = protocol(rule, **fields)
    return sweep_size_tolerance(
        reference(scan), submission(scan), chosen, chosen.rules[0], tolerances
    )


def test_sweep_counts_under_every_tolerance_of_the_protocol():
    result = sweep(paired(*PAIRS), size_limit=limit(sweep_mm=(0.0, 1.0, INFINITE)))
    assert result.table.rows() == [
        (0.0, 1, 3, 2, 3, 2),
        (1.0, 2, 2, 1, 1, 0),
        (INFINITE, 3, 1, 0, 1, 0),
    ]
    assert [labels.count(HIT) for labels in result.labels] == [1, 2, 3]


def test_sweep_matches_what_the_protocol_with_that_tolerance_gives():
    tolerances = (0.0, 0.3, 1.0, 5.0)
    result = sweep(paired(*PAIRS), size_limit=limit(), tolerances=tolerances)
    for tolerance, row in zip(tolerances, result.table.rows(), strict=True):
        assert row[1:] == counted(paired(*PAIRS), size_limit=limit(tolerance))


def test_smallest_tolerance_beyond_which_nothing_changes():
    # sensitivity: the mark of 1 mm on a 4.2 mm nodule needs 3 mm; the overestimates end at 0.2 mm
    result = sweep(paired(*PAIRS), size_limit=limit())
    assert (result.hits_settle_mm, result.false_positives_settle_mm) == (3.0, 0.2)


def test_strict_truth_settles_where_the_smallest_nodule_is_within_the_tolerance():
    result = sweep(paired(*PAIRS), size_limit=limit(reading="strict_truth"))
    assert result.false_positives_settle_mm == 3.0  # x = 1


def test_tolerance_that_changes_nothing_settles_at_zero():
    result = sweep(paired((5.0, 6.0), (None, 7.0)), size_limit=limit())
    assert (result.hits_settle_mm, result.false_positives_settle_mm) == (0.0, 0.0)


def test_sweep_without_a_size_limit_is_undefined():
    with undefined(match="protocol 'test' has no size limit"):
        sweep(paired(*PAIRS))


def test_every_mark_keeps_one_label_under_a_rule_that_assigns_one_to_one():
    scan = paired(*PAIRS)
    chosen = protocol("luna16_clean", size_limit=limit(0.5))
    labels = label_marks(reference(scan), submission(scan), chosen, chosen.rules[0])
    assert sorted(labels.mark) == list(range(7))
    assert sum(labels.count(kind) for kind in (HIT, FALSE_POSITIVE, UNCOUNTED, DUPLICATE)) == 7


def test_the_first_mark_without_a_diameter_is_named():
    scan = case(
        "a",
        nodule(8, (0, 0, 0)),
        mark(0.9, (0, 0, 0), diameter_mm=8.0),
        mark(0.8, (50, 0, 0)),
        mark(0.7, (100, 0, 0)),
    )
    chosen = protocol(size_limit=limit())
    with pytest.raises(UndefinedError) as error:
        label_marks(reference(scan), submission(scan), chosen, chosen.rules[0])
    reason = reason_of(error.value)
    assert reason.values == {"count": 2, "marks": 3, "mark": "m1", "case": "a"}


def test_a_further_mark_below_the_limit_stays_what_the_rule_says():
    scan = case(
        "a",
        nodule(8, (0, 0, 0)),
        mark(0.9, (0, 0, 0), diameter_mm=8.0),
        mark(0.5, (1, 0, 0), diameter_mm=3.5),
    )
    rows = labels_of(scan, rule="luna16_clean", size_limit=limit(1.0))
    assert [row[3] for row in rows] == ["hit", "duplicate"]
    rows = labels_of(scan, rule="luna16_clean", size_limit=limit(1.0), duplicates="false_positive")
    assert [row[3] for row in rows] == ["hit", "uncounted"]
