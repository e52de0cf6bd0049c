import pytest

from builders.tables import Slice, case, labels_of, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.matching import label_marks

NODULE = nodule(
    9,
    (50, 50, 11),
    Slice(10, 50, 50, 6, 6, 6, 6),
    Slice(11, 50, 50, 10, 10, 10, 8),
    Slice(12, 50, 50, 6, 6, 6, 6),
)
P1 = mark(0.5, (54, 50, 10), Slice(10, 54, 50, 6, 6))  # covers 12 of 36 mm²
P2 = mark(0.5, (52, 50, 11), Slice(11, 52, 50, 4, 4))  # 16 of 100
P3 = mark(0.5, (50, 50, 12), Slice(12, 50, 50, 20, 20))  # 36 of 36


def labels(*marks, of=NODULE, **parameters):
    rows = labels_of(case("a", of, *marks), rule="area_overlap", parameters=parameters)
    return [row[3] for row in rows]


def test_mark_that_covers_most_of_the_nodule_is_the_hit():
    assert labels(P1, P2, P3) == ["false_positive", "false_positive", "hit"]


def test_small_shares_are_not_a_hit():
    assert labels(P1, P2) == ["false_positive", "false_positive"]


@pytest.mark.parametrize(("threshold", "expected"), [(0.33, "hit"), (0.34, "false_positive")])
def test_share_is_of_the_nodules_box(threshold, expected):
    assert labels(P1, threshold=threshold) == [expected]


@pytest.mark.parametrize(("x", "label"), [(2.0, "false_positive"), (1.99, "hit")])
def test_half_exactly_is_not_a_hit(x, label):
    here = nodule(4, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    assert labels(mark(0.5, (x, 0, 0), Slice(0, x, 0, 4, 4)), of=here) == [label]


def test_union_as_denominator_rejects_oversize_boxes():
    assert labels(P3, share_of="union") == ["false_positive"]  # 36 of 400
    assert labels(P3, share_of="union", threshold=0.08) == ["hit"]


def test_larger_share_wins_over_higher_score():
    here = nodule(4, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    most = mark(0.1, (0.5, 0, 0), Slice(0, 0.5, 0, 4, 4))
    less = mark(0.9, (1, 0, 0), Slice(0, 1, 0, 4, 4))
    assert labels(less, most, of=here) == ["false_positive", "hit"]


def test_boxes_that_only_touch_or_have_no_area_do_not_overlap():
    here = nodule(4, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    touching = mark(0.5, (4, 0, 0), Slice(0, 4, 0, 4, 4))
    assert labels(touching, of=here, threshold=0.0) == ["false_positive"]
    flat = nodule(4, (0, 0, 0), Slice(0, 0, 0, 0, 4))
    assert labels(P3, of=flat, threshold=0.0) == ["false_positive"]


def test_remark_tells_the_intersection_over_union_of_the_hits():
    # one hit fits exactly (IoU 1), the other is far too large (36 / 400 = 0.09)
    fits = nodule(4, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    cases = case("a", NODULE, fits, P3, mark(0.5, (0, 0, 0), Slice(0, 0, 0, 4, 4)))
    chosen = protocol("area_overlap")
    labelled = label_marks(reference(cases), submission(cases), chosen, chosen.rules[0])
    assert sentences(labelled.remarks) == (
        "Intersection over union of the 2 hits: mean 0.545, 1 at 0.5 or less.",
    )


def test_threshold_is_a_share():
    with pytest.raises(InputError) as caught:
        labels(P3, threshold=1.0)
    assert str(caught.value) == (
        "protocol 'test' rule 'area_overlap': cannot take threshold = 1.0: "
        "Input should be less than 1."
    )


def test_the_best_slice_of_a_mark_speaks_for_it():
    # over slice 0 and 1 the first mark covers 60 % and all of the nodule, the second 80 % of both
    here = nodule(10, (5, 5, 0), Slice(0, 5, 5, 10, 10), Slice(1, 5, 5, 10, 10))
    first = mark(0.5, (5, 5, 0), Slice(0, 9, 5, 10, 10), Slice(1, 5, 5, 10, 10))
    second = mark(0.9, (7, 5, 0), Slice(0, 7, 5, 10, 10), Slice(1, 7, 5, 10, 10))
    assert labels(first, second, of=here) == ["hit", "false_positive"]


def test_boxes_apart_on_both_axes_share_nothing():
    here = nodule(2, (0, 0, 0), Slice(0, 0, 0, 1, 1))
    outside = mark(0.5, (3, 3, 0), Slice(0, 3, 3, 1, 1))
    assert labels(outside, of=here) == ["false_positive"]
    assert labels(outside, of=here, threshold=0.0) == ["false_positive"]


@pytest.mark.filterwarnings("error")
def test_nothing_covers_a_box_without_area():
    flat = nodule(2, (0, 0, 0), Slice(0, 0, 0, 4, 0))
    line = mark(0.5, (0, 0, 0), Slice(0, 0, 0, 4, 0))
    for share_of in ("nodule", "union"):
        assert labels(line, of=flat, share_of=share_of) == ["false_positive"]


def test_hits_that_cover_half_of_the_union_are_counted():
    here = nodule(4, (0, 0, 0), Slice(0, 0, 0, 4, 4))
    twice = mark(0.5, (0, 0, 0), Slice(0, 0, 0, 8, 4))
    scan = case("a", here, twice)
    chosen = protocol("area_overlap")
    labelled = label_marks(reference(scan), submission(scan), chosen, chosen.rules[0])
    assert [dict(remark.values) for remark in labelled.remarks] == [
        {"count": 1, "mean": 0.5, "low": 1}
    ]


def test_boxes_below_a_square_millimetre_count_like_others():
    here = nodule(1, (0, 0, 0), Slice(0, 0, 0, 0.8, 0.8))
    assert labels(mark(0.5, (0, 0, 0), Slice(0, 0, 0, 0.8, 0.8)), of=here) == ["hit"]
