import numpy as np
import pytest

from builders.tables import Slice, case, cohort, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english
from nodulebench.metrics import METRICS
from nodulebench.metrics.segmentation import overlap_table

TRIANGLE = "0 0;4 0;0 4"


def value(name: str, of: LabelledCohort) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)))[0])


def box(index: int, x: float = 0, size: float = 10, contour: str | None = None) -> Slice:
    return Slice(index, x, 0, size, size, contour=contour)


def boxed() -> LabelledCohort:
    """First nodule: boxes of 100 mm2 on slices 0, 1 against 1, 2 shifted by 5; second: the same."""
    return cohort(
        case(
            "a", nodule(10, (0, 0, 0), box(0), box(1)), mark(0.5, (0, 0, 0), box(1, 5), box(2, 5))
        ),
        case("b", nodule(10, (0, 0, 0), box(3, 0, 2)), mark(0.5, (0, 0, 0), box(3, 0, 2))),
    )


def test_areas_are_added_over_the_slices_of_either_side() -> None:
    table = overlap_table(boxed())
    assert table["truth_mm2"].to_list() == [200, 4]
    assert table["mark_mm2"].to_list() == [200, 4]
    assert table["shared_mm2"].to_list() == [50, 4]


def test_means_give_every_nodule_the_same_say_and_pools_every_area() -> None:
    assert value("mean_dice", boxed()) == pytest.approx((100 / 400 + 1) / 2)
    assert value("mean_iou", boxed()) == pytest.approx((50 / 350 + 1) / 2)
    assert value("pooled_dice", boxed()) == pytest.approx(2 * 54 / 408)
    assert value("pooled_iou", boxed()) == pytest.approx(54 / (408 - 54))


def test_a_contour_comes_before_its_box() -> None:
    drawn = cohort(
        case(
            "a",
            nodule(10, (0, 0, 0), Slice(0, 2, 2, 4, 4, contour=TRIANGLE)),
            mark(0.5, (0, 0, 0), Slice(0, 1, 1, 2, 2)),
        )
    )
    assert overlap_table(drawn).row(0) == (0, 8.0, 4.0, 4.0, pytest.approx(8 / 12), 0.5)


def test_a_contour_like_its_box_gives_the_same() -> None:
    square = "-5 -5;5 -5;5 5;-5 5"
    boxes, contours = (
        cohort(
            case(
                "a",
                nodule(10, (0, 0, 0), box(0, 0, 10, outline)),
                mark(0.5, (0, 0, 0), box(0, 3, 6), box(1, 3, 6)),
            )
        )
        for outline in (None, square)
    )
    np.testing.assert_allclose(overlap_table(boxes).rows(), overlap_table(contours).rows())


def test_a_slice_that_only_the_contour_side_has_adds_its_area() -> None:
    longer = cohort(
        case(
            "a",
            nodule(10, (0, 0, 0), box(0), box(1, contour=TRIANGLE)),
            mark(0.5, (0, 0, 0), box(0)),
        )
    )
    assert overlap_table(longer).row(0)[1:4] == pytest.approx((108.0, 100.0, 100.0))


def test_a_mark_on_two_nodules_is_measured_on_each() -> None:
    shared = cohort(
        case(
            "a",
            nodule(10, (0, 0, 0), box(0, 0, 2)),
            nodule(10, (1, 0, 0), box(0, 1, 2)),
            mark(0.5, (0.5, 0, 0), box(0, 0, 2)),
        )
    )
    assert overlap_table(shared)["dice"].to_list() == pytest.approx([1.0, 0.5])


def test_found_nodules_without_slices_are_left_out() -> None:
    partly = cohort(
        case("a", nodule(10, (0, 0, 0), box(0)), mark(0.5, (0, 0, 0), box(0))),
        case("b", nodule(10, (0, 0, 0), box(0)), mark(0.5)),
        case("c", nodule(10), mark(0.5, (0, 0, 0), box(0))),
        case("d", nodule(10, (0, 0, 0), box(0))),
    )
    assert overlap_table(partly)["nodule"].to_list() == [0]
    assert value("mean_dice", partly) == 1.0


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (
            cohort(case("a", nodule(), mark(0.5, (0, 0, 0), box(0)))),
            "the reference has no boxes or outlines per slice",
        ),
        (
            cohort(case("a", nodule(10, (0, 0, 0), box(0)), mark(0.5))),
            "the submission has no boxes or outlines per slice",
        ),
        (
            cohort(case("a", nodule(10, (0, 0, 0), box(0)), mark(0.5, (500, 0, 0), box(0, 500)))),
            "no found nodule has boxes or outlines on both sides",
        ),
        (
            cohort(
                case("a", nodule(10, (0, 0, 0), box(0, 0, 0)), mark(0.5, (0, 0, 0), box(0, 0, 0)))
            ),
            "no found nodule has an outline or box with an area",
        ),
    ],
)
def test_the_reason_says_which_slices_are_missing(of: LabelledCohort, reason: str) -> None:
    with pytest.raises(UndefinedError) as refusal:
        value("mean_dice", of)
    assert in_english(reason_of(refusal.value)) == reason


def test_an_unreadable_contour_is_refused() -> None:
    wrong = cohort(
        case("a", nodule(10, (0, 0, 0), box(7, contour="1 2;x")), mark(0.5, (0, 0, 0), box(7)))
    )
    with pytest.raises(InputError, match="slice 7: contour '1 2;x' is not a list of points"):
        value("mean_dice", wrong)


def test_boxes_of_unequal_sides_and_boxes_apart_by_hand() -> None:
    flat = cohort(
        case(
            "a",  # x from -5 to 5 and 1 to 7, y from -1 to 1 and 0 to 4: 4 x 1 shared
            nodule(10, (0, 0, 0), Slice(0, 0, 0, 10, 2), Slice(1, 0, 0, 2, 2)),
            # on slice 1 apart by 3 in x and in y
            mark(0.5, (0, 0, 0), Slice(0, 4, 2, 6, 4), Slice(1, 5, 5, 2, 2)),
        )
    )
    assert overlap_table(flat).row(0)[1:4] == (24.0, 28.0, 4.0)


def test_a_tiny_nodule_has_an_area_and_one_without_any_has_none() -> None:
    tiny, none = (
        cohort(
            case(
                "a",
                nodule(10, (0, 0, 0), box(0, 0, size)),
                mark(0.5, (0, 0, 0), box(0, 0, size)),
            )
        )
        for size in (0.5, 0.0)
    )
    assert overlap_table(tiny).row(0)[1:] == (0.25, 0.25, 0.25, 1.0, 1.0)
    with pytest.raises(UndefinedError):
        overlap_table(none)
