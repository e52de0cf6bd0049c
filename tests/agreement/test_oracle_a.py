"""Nine cases of the RJafroc book, and the worked examples of FROC, LROC and kappa.

The AFROC numbers are those that RJafroc gives for the book's example (four normal cases, five
abnormal ones, weights chosen by the book), recomputed by hand from the definitions.
"""

from pathlib import Path

import numpy as np
import pytest

from builders.jafroc import wafroc_of_workbook
from builders.tables import Case, case, cohort, false_mark, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.io.marks.jafroc import write_cohorts
from nodulebench.metrics import METRICS
from nodulebench.metrics.characterisation import kappa
from nodulebench.metrics.lroc import lroc_curve


def abnormal(
    name: str, falses: list[float], hits: list[float | None], weights: list[float] | None
) -> Case:
    """A case with nodules far apart; a hit of None is a miss."""
    content = []
    for number, score in enumerate(hits):
        at = (100.0 * number, 0.0, 0.0)
        more = {} if weights is None else {"weight": weights[number]}
        content.append(nodule(10, at, **more))
        if score is not None:
            content.append(mark(score, at))
    return case(name, *content, *(false_mark(score, 20 + n) for n, score in enumerate(falses)))


def nine_cases(*, is_weighted: bool) -> LabelledCohort:
    nodules: list[tuple[list[float], list[float | None], list[float]]] = [
        ([1.5], [0.9], [1.0]),
        ([], [-0.2], [1.0]),
        ([], [1.6, None], [0.1, 0.9]),
        ([], [3.0, 2.0], [0.9, 0.1]),
        ([], [1.0, 2.5, 1.0], [0.3, 0.4, 0.3]),
    ]
    return cohort(
        case("n1"),
        case("n2", false_mark(0.5)),
        case("n3", false_mark(0.7), false_mark(0.6, 1)),
        case("n4", false_mark(-0.3)),
        *(
            abnormal(f"a{number}", falses, hits, weights if is_weighted else None)
            for number, (falses, hits, weights) in enumerate(nodules)
        ),
    )


def value(name: str, of: LabelledCohort, **settings: object) -> np.ndarray:
    return METRICS[name](of, np.ones((1, of.case_count), dtype=np.int32), **settings)[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("afroc_area", 0.847222),
        ("wafroc_area", 0.742500),
        ("afroc1_area", 0.845679),
        ("wafroc1_area", 0.767778),
        ("case_roc_area", 0.900000),
    ],
)
def test_areas_of_the_book_with_its_weights(name: str, expected: float) -> None:
    assert value(name, nine_cases(is_weighted=True)) == pytest.approx(expected, abs=5e-7)


def test_area_of_the_book_with_equal_weights() -> None:
    assert value("wafroc_area", nine_cases(is_weighted=False)) == pytest.approx(0.8125, abs=1e-12)


def test_weights_do_not_change_unweighted_areas() -> None:
    for name in ("afroc_area", "afroc1_area", "case_roc_area"):
        weighted, equal = (nine_cases(is_weighted=choice) for choice in (True, False))
        assert value(name, weighted) == value(name, equal)


@pytest.mark.parametrize(("is_weighted", "expected"), [(True, 0.7425), (False, 0.8125)])
def test_a_workbook_gives_the_area_that_we_give(
    is_weighted: bool, expected: float, tmp_path: Path
) -> None:
    book = nine_cases(is_weighted=is_weighted)
    write_cohorts({("algorithm", "1"): book}, tmp_path / "book.xlsx")
    area = wafroc_of_workbook(tmp_path / "book.xlsx")
    assert area == pytest.approx(expected, abs=1e-12)
    assert area == pytest.approx(value("wafroc_area", book), abs=1e-12)


def four_scans() -> LabelledCohort:
    """Four scans, five nodules: hits .95 .9 .7 .3 and one miss, six false positives."""
    return cohort(
        case("a", nodule(), mark(0.95), false_mark(0.92), false_mark(0.2, 1)),
        case("b", nodule(), mark(0.9), nodule(10, (100, 0, 0)), false_mark(0.8)),
        case("c", nodule(), mark(0.7), false_mark(0.6), false_mark(0.5, 1)),
        case("d", nodule(), mark(0.3), false_mark(0.4)),
    )


@pytest.mark.parametrize("interpolation", ["linear", "step", "luna16"])
def test_froc_readings_and_cpm_of_the_worked_example(interpolation: str) -> None:
    read = value("sensitivity_at_fp_rate", four_scans(), interpolation=interpolation)
    np.testing.assert_allclose(read, [0.2, 0.4, 0.6, 0.6, 0.8, 0.8, 0.8], rtol=1e-12)
    assert value("cpm", four_scans(), interpolation=interpolation) == pytest.approx(0.6)
    assert value("cpm_exact", four_scans()) == pytest.approx(0.6)


def test_exponential_froc_area_of_the_worked_example() -> None:
    expected = (1 + np.exp(-1 / 4) + np.exp(-2 / 4) + np.exp(-5 / 4)) / 5
    assert value("efroc_area", four_scans()) == pytest.approx(expected, rel=1e-12)


def test_average_precision_of_the_worked_example() -> None:
    expected = (1 / 1 + 2 / 3 + 3 / 5 + 4 / 9) / 5
    assert value("average_precision", four_scans()) == pytest.approx(expected, rel=1e-12)


def located_cases() -> LabelledCohort:
    """Normal cases rated .1 .3 .5 .6; abnormal ones .9 right, .7 wrong, .55 right, .2 right."""
    return cohort(
        *(
            case(f"n{number}", false_mark(score))
            for number, score in enumerate((0.1, 0.3, 0.5, 0.6))
        ),
        case("a0", nodule(), mark(0.9)),
        case("a1", nodule(), mark(0.4), false_mark(0.7)),
        case("a2", nodule(), mark(0.55)),
        case("a3", nodule(), mark(0.2)),
    )


def test_lroc_of_the_worked_example() -> None:
    assert value("lroc_area", located_cases()) == pytest.approx(0.5, abs=1e-12)
    assert value("case_roc_area", located_cases()) == pytest.approx(0.75, abs=1e-12)
    assert lroc_curve(located_cases()).y[-1] == pytest.approx(0.75, abs=1e-12)


@pytest.mark.parametrize(
    ("penalty", "expected"), [("plain", 0.64255), ("linear", 0.72185), ("quadratic", 0.80734)]
)
def test_kappa_of_the_worked_example(penalty: str, expected: float) -> None:
    counts = np.array([[20.0, 5, 0], [3, 15, 2], [0, 4, 11]])
    assert kappa(counts, penalty=penalty) == pytest.approx(expected, abs=5e-6)
