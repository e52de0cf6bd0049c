"""Rules that every registered metric must meet."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english
from nodulebench.metrics import METRIC_INFO, METRICS
from nodulebench.testing.metrics import check_metric, value

every_metric = pytest.mark.parametrize("name", list(METRICS))


@every_metric
def test_it_keeps_to_the_contract(name: str) -> None:
    check_metric(name)


@cache
def no_nodules() -> LabelledCohort:
    return cohort(case("a", false_mark(0.5), false_mark(0.5, 1)), case("b", false_mark(0.2)))


WITHOUT_NODULES = {
    "precision": 0.0,  # every mark is wrong
    "fp_per_case": 1.5,
    "fp_per_normal_case": 1.5,
    "marks_per_case": 1.5,
    "case_specificity": 0.0,
}


@every_metric
def test_without_nodules_only_false_positives_are_counted(name: str) -> None:
    if name in WITHOUT_NODULES:
        assert value(name, no_nodules()) == WITHOUT_NODULES[name]
    else:
        assert _reason(name, no_nodules())


@cache
def nothing() -> LabelledCohort:
    return cohort(case("a"), case("b"))


WITHOUT_ANYTHING = {
    "fp_per_case": 0.0,
    "fp_per_normal_case": 0.0,
    "marks_per_case": 0.0,
    "case_specificity": 1.0,
}


@every_metric
def test_without_nodules_and_marks_nothing_else_is_zero(name: str) -> None:
    if name in WITHOUT_ANYTHING:
        assert value(name, nothing()) == WITHOUT_ANYTHING[name]
    else:
        assert _reason(name, nothing())


@cache
def all_missed() -> LabelledCohort:
    return cohort(case("a", nodule()), case("b", false_mark(-5.0)))


WITH_ALL_MISSED = {
    "recall": 0.0,
    "miss_rate": 1.0,
    "precision": 0.0,
    "f_beta": 0.0,
    "fp_per_case": 0.5,
    "fp_per_normal_case": 1.0,
    "marks_per_case": 0.5,
    "case_sensitivity": 0.0,
    "case_specificity": 0.0,
    "cpm": 0.0,
    "cpm_exact": 0.0,
    "average_precision": 0.0,
    "afroc_area": 0.0,
    "wafroc_area": 0.0,
    "afroc1_area": 0.25,  # a missed nodule ties with the false positives of the empty case it is in
    "wafroc1_area": 0.25,
    "efroc_area": 0.0,
    "case_roc_area": 0.0,
    "lroc_area": 0.0,
}


@every_metric
def test_a_missed_nodule_is_never_a_score(name: str) -> None:
    if name in WITH_ALL_MISSED:
        assert value(name, all_missed()) == WITH_ALL_MISSED[name]
    elif METRIC_INFO[name].columns and not name.startswith("malignancy"):
        np.testing.assert_array_equal(value(name, all_missed()), 0.0)
    else:
        assert _reason(name, all_missed())


WITH_ALL_TIED = {
    "sensitivity_at_fp_rate": (0.1875, 0.375, 0.75, 1.0, 1.0, 1.0, 1.0),  # a line to (2/3, 1)
    "cpm": 5.3125 / 7,
    "cpm_exact": 5.3125 / 7,
    "average_precision": 1 / 3,
    "afroc_area": 0.5,
    "wafroc_area": 0.5,
    "afroc1_area": 2 / 3,  # the nodule's own case has no false positive
    "wafroc1_area": 2 / 3,
    "efroc_area": (1 + np.exp(-2 / 3)) / 2,
    "case_roc_area": 0.5,
    "lroc_area": 0.5,
    "pcl_at_fpf": (0.05, 0.2),
    "case_sensitivity_at_fpf": (0.05, 0.2),
    "case_roc_area_until_fpf": (0.025, 0.1),
}


@pytest.mark.parametrize("name", WITH_ALL_TIED)
def test_equal_scores_are_one_straight_step(name: str) -> None:
    tied = cohort(
        case("a", nodule(), mark(0.5)), case("b", false_mark(0.5)), case("c", false_mark(0.5))
    )
    np.testing.assert_allclose(value(name, tied), WITH_ALL_TIED[name], rtol=1e-12)


@pytest.mark.parametrize("name", WITH_ALL_TIED)
def test_marks_without_scores_have_no_curve(name: str) -> None:
    unscored = cohort(case("a", nodule(), mark(None)), case("b", mark(None, (500, 0, 0))))
    assert "no scores" in _reason(name, unscored)
    assert value("recall", unscored) == 1.0
    assert value("precision", unscored) == 0.5


@pytest.mark.parametrize("name", ["sensitivity_at_fp_rate", "cpm"])
def test_luna16_areas_are_undefined_where_the_official_program_gives_nan(name: str) -> None:
    missed = cohort(case("a", nodule()), case("b", false_mark(0.5)))
    weight = np.ones((1, 2), dtype=np.int32)
    assert np.all(METRICS[name](missed, weight) == 0)
    with undefined(match="official program gives NaN"):
        METRICS[name](missed, weight, interpolation="luna16")


def test_every_metric_has_facts() -> None:
    assert set(METRIC_INFO) == set(METRICS)


@pytest.mark.slow
def test_importing_the_metrics_imports_no_heavy_package() -> None:
    heavy = ("scipy", "sklearn", "pandas", "matplotlib")
    program = (
        "import sys; from nodulebench.metrics import METRICS; list(METRICS.values()); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def _reason(name: str, of: LabelledCohort) -> str:
    """Why the metric is undefined; fails where it is not."""
    with pytest.raises(UndefinedError) as refusal:
        METRICS[name](of, np.ones((1, of.case_count), dtype=np.int32))
    return in_english(reason_of(refusal.value))
