"""Sound intervals of whole metrics against numbers worked out apart from them."""

from dataclasses import replace

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule, protocol, run
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import IntervalChoice
from nodulebench.core.results import Estimate
from nodulebench.evaluation.estimates import estimate_all, estimate_metrics
from nodulebench.evaluation.guarded_rows import GuardedRows, guarded_metric_interval
from nodulebench.evaluation.strata import estimate_strata
from nodulebench.i18n.translator import in_english
from nodulebench.metrics import METRICS

METRICS_READ = (
    "recall",
    "precision",
    "f_beta",
    "fp_per_case",
    "sensitivity_at_fp_rate",
    "cpm",
    "wafroc_area",
    "wafroc1_area",
)


def perfect_cases() -> list[list[object]]:
    """C1: ten cases with a nodule each, found; five without. No score is quite 0.7."""
    found = [[nodule(), mark(0.55 + 0.05 * number)] for number in range(10)]
    return [*found, *[[] for _ in range(5)]]


def c1() -> LabelledCohort:
    return cohort(*(case(f"c{number:02}", *part) for number, part in enumerate(perfect_cases())))


def c2() -> LabelledCohort:
    content = perfect_cases()
    content[0] = [nodule()]
    content[10] = [false_mark(0.7)]
    content[11] = [false_mark(0.5), false_mark(0.3, 1)]
    return cohort(*(case(f"c{number:02}", *part) for number, part in enumerate(content)))


def c3() -> LabelledCohort:
    def at(number: int) -> tuple[float, float, float]:
        return (60.0 * number, 0.0, 0.0)

    return cohort(
        case("a", *(nodule(10, at(n)) for n in range(3)), mark(0.9, at(0)), mark(0.8, at(2)),
             false_mark(0.65)),
        case("b", *(nodule(10, at(n)) for n in range(2)), mark(0.7, at(0)), mark(0.95, at(1))),
        case("c", nodule(), mark(0.6)),
        case("d", nodule(), mark(0.85)),
        case("e", nodule(), mark(0.5)),
        case("f", false_mark(0.75)),
        case("g", false_mark(0.2), false_mark(0.1, 1)),
        case("h"),
    )  # fmt: skip


WORKED_OUT = {
    c1: {
        "recall": (1.000000, 0.691634, 1.000000),
        "precision": (1.000000, 0.694453, 1.000000),
        "f1": (1.000000, 0.782650, 1.000000),
        "fp_per_case": (0.000000, 0.000000, 0.217597),
        "sensitivity_at_fp_rate": (1.000000, 0.691634, 1.000000),
        "cpm": (1.000000, 0.691634, 1.000000),
        "wafroc_area": (1.000000, 0.475420, 1.000000),
        "wafroc1_area": (1.000000, 0.775779, 1.000000),
    },
    c2: {
        "recall": (0.900000, 0.557574, 0.997781),
        "precision": (0.750000, 0.352893, 0.969323),
        "f1": (0.818182, 0.483256, 0.965661),
        "fp_per_case": (0.200000, 0.021156, 0.698730),
        "sensitivity_at_fp_rate": (0.900000, 0.557574, 0.997781),
        "cpm": (0.900000, 0.545554, 0.997413),
        "wafroc_area": (0.890000, 0.408508, 0.990173),
        "wafroc1_area": (0.930000, 0.685439, 0.994713),
    },
    c3: {
        "recall": (0.875000, 0.428973, 0.996044),
        "precision": (0.636364, 0.231325, 0.914148),
        "f1": (0.736842, 0.351782, 0.943023),
        "sensitivity_at_fp_rate": (0.875000, 0.428973, 0.996044),
        "cpm": (0.839286, 0.406918, 0.994420),
        "wafroc_area": (0.777778, 0.198380, 0.981230),
        "wafroc1_area": (0.841667, 0.489748, 0.985584),
    },
}
"""Value, low and high of 10,000 replicates with the seed 0; sensitivity at 1 false positive."""


def chosen(**interval: object):
    made = IntervalChoice(bootstraps=10_000, **interval)
    return protocol(metrics=METRICS_READ, interval=made)


@pytest.mark.parametrize("scene", WORKED_OUT, ids=lambda scene: scene.__name__)
def test_bounds_of_whole_metrics(scene) -> None:
    estimates = estimate_all(scene(), chosen()).metrics
    for name, wanted in WORKED_OUT[scene].items():
        first = estimates[name]
        shown = first["1"] if isinstance(first, dict) else first
        assert (shown.value, shown.low, shown.high) == pytest.approx(wanted, abs=1e-6), name


def test_on_eight_cases_a_rate_has_no_interval() -> None:
    estimate = estimate_all(c3(), chosen()).metrics["fp_per_case"]
    assert isinstance(estimate, Estimate)
    assert (estimate.value, estimate.low, estimate.high) == (0.5, None, None)
    assert in_english(estimate.reason) == (
        "no interval: 8 patients are too few for a rate without an upper limit (10 needed)"
    )


def test_from_ten_to_nineteen_cases_it_is_called_approximate() -> None:
    estimate = estimate_all(c1(), chosen()).metrics["fp_per_case"]
    assert isinstance(estimate, Estimate)
    assert estimate.reason is not None
    assert estimate.reason.code == "approximate_rate"


def test_below_twenty_cases_it_is_called_approximate() -> None:
    rows = GuardedRows(np.linspace(0, 1, 99), np.linspace(0, 2, 99), units=19, guard="rate")
    interval = guarded_metric_interval(0.5, rows, IntervalChoice())
    assert interval.reason is not None
    assert interval.reason.code == "approximate_rate"
    assert guarded_metric_interval(0.5, replace(rows, units=20), IntervalChoice()).reason is None


def test_few_patients_have_a_notice() -> None:
    estimate = estimate_all(c3(), chosen()).metrics["recall"]
    assert isinstance(estimate, Estimate)
    assert in_english(estimate.reason) == (
        "few patients (5): the interval depends mainly on the assumed pseudo-patient"
    )
    assert in_english(estimate.method) == (
        "guarded Bayesian bootstrap over patients, 10000 replicates (one pseudo-patient with all "
        "nodules missed or found, prior ICC 0.5)"
    )


@pytest.mark.parametrize("method", ["percentile", "bca", "jackknife"])
def test_a_classical_interval_is_accompanied_by_the_guarded_one(method) -> None:
    guarded = estimate_all(c2(), chosen()).metrics
    classical = estimate_all(c2(), chosen(method=method)).metrics
    for name in ("recall", "cpm", "wafroc_area"):
        first, sound = classical[name], guarded[name]
        assert isinstance(first, Estimate)
        assert isinstance(sound, Estimate)
        assert first.sound is not None
        assert (first.sound.low, first.sound.high) == (sound.low, sound.high)
        assert (first.low, first.high) != (sound.low, sound.high)
        shown = first.soundly
        assert (shown.low, shown.high) == (sound.low, sound.high)
        assert (first.low, first.high) in shown.others.values()


def test_intervals_need_bootstraps() -> None:
    for method in ("guarded", "percentile"):
        none = protocol(metrics=METRICS_READ, interval=IntervalChoice(method=method, bootstraps=0))
        for metric in estimate_all(c2(), none).metrics.values():
            for shown in metric.values() if isinstance(metric, dict) else [metric]:
                assert (shown.low, shown.sound) == (None, None)


def test_a_stratum_of_nodules_is_guarded_by_its_own_nodules() -> None:
    cases = [case(f"c{n}", nodule(8, type="solid"), mark(0.5)) for n in range(20)]
    cases += [case(f"d{n}", nodule(8, type="pleural")) for n in range(12)]
    asked = protocol(strata=("type",), interval=IntervalChoice(bootstraps=4000))
    strata = estimate_strata(cohort(*cases), asked)["type"]
    solid, pleural = strata["solid"].miss_rate, strata["pleural"].miss_rate
    assert (solid.low, solid.high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20), abs=5e-4))
    assert (pleural.low, pleural.high) == (pytest.approx(0.025 ** (1 / 12), abs=5e-4), 1.0)


@pytest.mark.slow
def test_a_stratum_of_cases_equals_an_evaluation_of_its_cases() -> None:
    """Except for the draw: the others' weights take random numbers too."""
    cases = [
        case(
            f"c{n:02}", nodule(), *([mark(0.5)] if n % 4 else []),
            *([false_mark(0.3)] if n % 3 == 0 else []), vendor="X" if n % 2 else "Y",
        )
        for n in range(60)
    ]  # fmt: skip
    interval = IntervalChoice(bootstraps=20_000)
    metrics = ("recall", "precision", "fp_per_case", "cpm")
    asked = protocol(metrics=metrics, strata=("vendor",), interval=interval)
    within = estimate_strata(cohort(*cases), asked)["vendor"]["Y"].metrics
    estimates = estimate_all(cohort(*cases[::2]), replace_strata(asked)).metrics
    for name in metrics:
        first = estimates[name]
        assert isinstance(first, Estimate)
        bounds = (within[name].low, within[name].high)
        assert bounds == pytest.approx((first.low, first.high), abs=0.012), name


def replace_strata(asked):
    return asked.model_copy(update={"strata": ()})


def test_scans_of_one_patient_are_one_unit() -> None:
    scans = [case(f"c{n}", nodule(), mark(0.5), patient_id=f"p{n // 2}") for n in range(40)]
    asked = protocol(metrics=("recall",), interval=IntervalChoice(bootstraps=4000))
    estimates = estimate_metrics(cohort(*scans), asked, ["recall"])["recall"]
    assert isinstance(estimates, Estimate)
    # two nodules of 20 patients: size 1.5, so 1 / (1 + (0.025 ** (-1 / 20) - 1) * 1.5 / 2)
    wanted = 1 / (1 + (0.025 ** (-1 / 20) - 1) * 0.75)
    assert estimates.low == pytest.approx(wanted, abs=5e-4)


def test_metrics_without_a_worst_case_need_twenty_patients_that_differ() -> None:
    def found(count: int, seconds) -> Estimate:
        cases = [case(f"c{n}", nodule(), mark(0.5), run(seconds(n))) for n in range(count)]
        asked = protocol(interval=IntervalChoice(bootstraps=200))
        estimates = estimate_metrics(cohort(*cases), asked, ["mean_seconds_per_case"])
        shown = estimates["mean_seconds_per_case"]
        assert isinstance(shown, Estimate)
        return shown

    few, alike, enough = found(19, float), found(30, lambda _: 7.0), found(20, float)
    assert (few.low, in_english(few.reason)) == (
        None,
        "no interval: 19 patients contribute to it, 20 are needed",
    )
    assert (alike.low, in_english(alike.reason)) == (None, "no interval: the values do not vary")
    assert enough.low is not None
    assert enough.low < 9.5 < enough.high  # type: ignore[operator]
    assert enough.reason is None
    assert in_english(enough.method) == "Bayesian bootstrap over patients, 200 replicates"


def test_the_longest_time_has_no_interval() -> None:
    """Weights above 0 always hold the longest run: no replicate differs."""
    cases = [case(f"c{n}", nodule(), mark(0.5), run(float(n))) for n in range(25)]
    asked = protocol(interval=IntervalChoice(bootstraps=100))
    estimates = estimate_metrics(cohort(*cases), asked, ["max_seconds_per_case"])
    shown = estimates["max_seconds_per_case"]
    assert isinstance(shown, Estimate)
    assert shown.low is None


def test_every_metric_takes_weights_that_are_not_whole_numbers() -> None:
    """A metric that cuts weights to whole numbers would read another curve."""
    weight = np.random.default_rng(0).standard_exponential((3, 15))
    for name in METRICS_READ:
        metric = METRICS[name]
        assert metric(c2(), weight) == pytest.approx(metric(c2(), weight * 1000)), name


def test_marks_without_scores_are_guarded_too() -> None:
    plain = replace(c2(), has_scores=False)
    estimates = estimate_metrics(plain, chosen(), ["recall", "precision"])
    assert (estimates["precision"].low, estimates["precision"].high) == pytest.approx(
        WORKED_OUT[c2]["precision"][1:], abs=1e-6
    )


def test_a_metric_that_no_patient_changes_shows_no_variation() -> None:
    same = GuardedRows(np.ones(50), np.ones(50), units=0, guard="none")
    interval = guarded_metric_interval(1.0, same, IntervalChoice())
    assert in_english(interval.reason) == "no interval: the values do not vary"
