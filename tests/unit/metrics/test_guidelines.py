import numpy as np
import pytest

from builders.tables import case, cohort, mark, nodule
from nodulebench.core.errors import InputError
from nodulebench.core.tables import DENSITIES
from nodulebench.metrics.guidelines import (
    LUNG_RADS,
    category_pairs,
    lung_rads_class,
    lung_rads_strata,
    mean_diameter_mm,
)


def category(mean: float, density: str, solid_part: float | None = None) -> str | None:
    part = None if solid_part is None else np.array([solid_part])
    number = lung_rads_class(np.array([mean]), np.array([DENSITIES.index(density)]), part)[0]
    return None if number < 0 else LUNG_RADS[number]


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (5.9, "2"),
        (5.94, "2"),
        (5.95, "3"),  # 6.0 after rounding to a tenth
        (6.0, "3"),
        (7.9, "3"),
        (8.0, "4A"),
        (14.9, "4A"),
        (15.0, "4B"),
        (np.nan, None),
    ],
)
def test_solid_nodules_are_cut_at_6_8_and_15_mm(mean: float, expected: str | None) -> None:
    assert category(mean, "solid") == expected


@pytest.mark.parametrize(
    ("mean", "solid_part", "expected"),
    [
        (5.9, None, "2"),
        (6.0, None, None),  # the size of the solid part decides
        (6.0, 5.9, "3"),
        (20.0, 6.0, "4A"),
        (20.0, 7.9, "4A"),
        (20.0, 8.0, "4B"),
        (5.0, 4.9, "2"),
        (6.0, np.nan, None),
    ],
)
def test_part_solid_nodules_need_the_solid_part(
    mean: float, solid_part: float | None, expected: str | None
) -> None:
    assert category(mean, "part_solid", solid_part) == expected


def test_ground_glass_is_cut_at_30_mm() -> None:
    assert [category(mean, "ground_glass") for mean in (3.0, 29.9, 30.0)] == ["2", "2", "3"]


def test_calcified_nodules_are_benign_at_any_size() -> None:
    assert [category(mean, "calcified") for mean in (3.0, 40.0, np.nan)] == ["1", "1", "1"]


def test_an_unknown_density_has_no_category() -> None:
    assert lung_rads_class(np.array([7.0]), np.array([-1]))[0] == -1


def test_the_mean_of_both_axes_comes_before_the_diameter() -> None:
    nan = np.nan
    mean = mean_diameter_mm(
        np.array([8.0, 8.0, nan, nan]),
        np.array([6.0, nan, nan, nan]),
        np.array([9.0, 9.0, 9.0, -1]),
    )
    np.testing.assert_array_equal(mean, [7.0, 9.0, 9.0, nan])


def test_axes_are_rounded_to_a_tenth_before_their_mean() -> None:
    # 6.16 and 5.65 are read as 6.2 and 5.7, mean 5.95, reported as 6.0; unrounded they are 5.905
    sized = cohort(
        case(
            "a",
            nodule(20, long_mm=6.16, short_mm=5.65, density="solid", category="4X"),
            nodule(20, (50, 0, 0), density="ground_glass"),
            nodule(20, (0, 50, 0), density="part_solid", solid_part_mm=7.94),
            nodule(20, (0, 99, 0)),
        )
    )
    categories = [None if number < 0 else LUNG_RADS[number] for number in lung_rads_strata(sized)]
    assert categories == ["3", "2", "4A", None]  # what size and density say, not what is stated


def test_a_stated_category_comes_before_a_derived_one() -> None:
    stated = cohort(
        case(
            "a",
            nodule(7, density="solid", category="4X"),
            mark(0.5, density="solid", diameter_mm=7),
        ),
        case("b", nodule(7, type="pleural"), mark(0.5, category="2")),
        case("c", nodule(7, density="part_solid", solid_part_mm=6.5), mark(0.5)),
        case("d", nodule(7, density="solid")),
    )
    pairs = category_pairs(stated)
    assert [LUNG_RADS[number] for number in pairs.truth] == ["4X", "3", "4A", "3"]
    assert [LUNG_RADS[number] for number in pairs.stated[:2]] == ["3", "2"]
    np.testing.assert_array_equal(pairs.stated[2:], [-1, -1])
    np.testing.assert_array_equal(pairs.is_paired, [True, True, False, False])


def test_a_category_that_lung_rads_does_not_have_is_refused() -> None:
    wrong = cohort(case("a", nodule(category="4a"), mark(0.5, category="five")))
    with pytest.raises(InputError) as refusal:
        category_pairs(wrong)
    assert str(refusal.value) == (
        "NODULES: category '4a' is not one of Lung-RADS. Use 1, 2, 3, 4A, 4B, 4X, or leave it "
        "empty to have it derived from size and density."
    )


def test_an_axis_of_nothing_gives_way_to_the_diameter() -> None:
    nothing, some, nan = np.array([0.0]), np.array([5.0]), np.array([np.nan])
    assert mean_diameter_mm(nothing, nothing, some).tolist() == [5.0]
    assert mean_diameter_mm(nan, some, some).tolist() == [5.0]
    assert np.isnan(mean_diameter_mm(nothing, nothing, nothing)).all()


def test_axes_count_before_the_diameter_however_short_they_are() -> None:
    diameter = mean_diameter_mm(
        np.array([1.0, 0.0, np.nan, np.nan, 4.0, np.nan]),
        np.array([0.4, 0.0, 3.0, np.nan, 3.0, np.nan]),
        np.array([5.0, 5.0, 5.0, 0.0, np.nan, 0.8]),
    )
    assert diameter == pytest.approx(np.array([0.7, 5.0, 5.0, np.nan, 3.5, 0.8]), nan_ok=True)


def test_unknown_categories_are_named_in_their_order() -> None:
    names = ("9", "8", "x", "7", "a", "5", "0")
    wrong = cohort(*(case(f"c{n}", nodule(category=name)) for n, name in enumerate(names)))
    with pytest.raises(InputError) as error:
        category_pairs(wrong)
    unknown = [line.split("'")[1] for line in str(error.value).splitlines()]
    assert unknown == list(names)
