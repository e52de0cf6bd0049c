"""Where errors lie: counted by hand, and the fit of sizes against its closed form."""

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, ignored, mark, nodule, protocol, reference
from nodulebench.evaluation.errors import (
    diameter_histogram,
    error_analysis,
    misses_by_type_and_size,
)

CASES = (
    case("a", nodule(5, type="solid"), mark(0.9), false_mark(0.8)),
    case("b", nodule(12, type="pleural"), nodule(3, (60, 0, 0), type="solid")),
    case("c", false_mark(0.7), false_mark(0.6), false_mark(0.5)),
)


def test_misses_are_counted_by_type_and_size() -> None:
    rows = misses_by_type_and_size(cohort(*CASES), protocol(strata=("type", "size")))
    assert len(rows) == 6 * 4
    counted = {(row["type"], row["size"]): (row["nodules"], row["missed"]) for row in rows}
    assert counted["solid", "[4, 6) mm"] == (1, 0)
    assert counted["solid", "<4 mm"] == (1, 1)
    assert counted["pleural", "≥10 mm"] == (1, 1)
    assert sum(worst for worst, _ in counted.values()) == 3


@pytest.mark.parametrize("strata", [("type",), ("size",), ()])
def test_protocol_has_to_ask_for_both(strata: tuple[str, ...]) -> None:
    analysis = error_analysis(cohort(*CASES), protocol(strata=strata))
    assert "misses_by_type_and_size" not in analysis


def test_nodules_of_no_known_type_are_not_crossed() -> None:
    plain = cohort(case("a", nodule(5)))
    assert misses_by_type_and_size(plain, protocol(strata=("type", "size"))) == []
    assert "misses_by_type_and_size" not in error_analysis(plain, protocol(strata=("type", "size")))


def test_worst_cases_come_by_misses_and_by_false_positives() -> None:
    worst = error_analysis(cohort(*CASES), protocol())["worst_cases"]
    assert worst["missed"] == [{"case_id": "b", "nodules": 2, "missed": 2, "false_positive": 0}]
    assert [row["case_id"] for row in worst["false_positive"]] == ["c", "a"]
    assert worst["false_positive"][0]["false_positive"] == 3


def test_of_equally_bad_cases_ten_are_named() -> None:
    many = cohort(*(case(f"case{n:02d}", nodule(6)) for n in range(14)))
    worst = error_analysis(many, protocol())["worst_cases"]
    assert [row["case_id"] for row in worst["missed"]] == [f"case{n:02d}" for n in range(10)]


def test_diameters_are_counted_without_ignored_findings() -> None:
    histogram = diameter_histogram(
        reference(case("a", nodule(2.5), nodule(3.0), nodule(3.9), ignored(7, (50, 0, 0))))
    )
    assert histogram is not None
    assert histogram["counts"] == [0, 0, 1, 2]
    assert histogram["peak_mm"] == 4.0
    assert histogram["expected"] == []  # too few for a curve


def test_a_histogram_needs_nodules() -> None:
    assert diameter_histogram(reference(case("a"))) is None


def test_wide_sizes_have_wider_bins() -> None:
    histogram = diameter_histogram(reference(case("a", nodule(5), nodule(55, (200, 0, 0)))))
    assert histogram is not None
    assert histogram["width_mm"] == 2.0
    assert sum(histogram["counts"]) == 2


def test_expected_counts_follow_the_exponential_beyond_the_peak() -> None:
    """Sizes at the quantiles of an exponential with mean 2 mm above 3 mm give its counts back."""
    count = 400
    sizes = 3 + 2 * -np.log(1 - (np.arange(count) + 0.5) / count)
    small = np.full(180, 2.5)
    nodules = [nodule(float(siz), (100.0 * n, 0, 0)) for n, siz in enumerate([*small, *sizes])]
    histogram = diameter_histogram(reference(case("a", *nodules)))
    assert histogram is not None
    assert histogram["peak_mm"] == 3.0 or histogram["peak_mm"] == 4.0
    start = histogram["peak_mm"]
    above = sizes[sizes >= start]
    rate = 1 / (above - start).mean()
    edges = np.arange(len(histogram["counts"]) + 1)
    survival = len(above) * np.exp(-rate * (edges - start))
    assert histogram["expected"] == pytest.approx(survival[:-1] - survival[1:])
    assert histogram["expected"][5] == pytest.approx(histogram["counts"][5], rel=0.05)
