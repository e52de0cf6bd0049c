import pytest

from builders.tables import case, cohort, false_mark, mark, nodule, protocol
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.estimates import estimate_froc

RATES = (0.125, 0.25, 0.5, 1.0, 2.0)

OFFICIAL = {
    "interpolation": "luna16",
    "interval": IntervalChoice(method="luna16", unit="case", bootstraps=0),
}


def four_cases_with_hits_and_false_positives() -> LabelledCohort:
    """Hits .95 .9 .7 .3, false positives .92 .8 .6 .5 .4 .2, one nodule missed."""
    hits = [
        case("a", nodule(10), mark(0.95)),
        case("b", nodule(10), mark(0.9)),
        case("c", nodule(10), mark(0.7)),
    ]
    falses = [false_mark(score, number) for number, score in enumerate((0.92, 0.8, 0.6, 0.5, 0.4))]
    missed = nodule(10, at=(300, 0, 0))
    return cohort(*hits, case("d", nodule(10), missed, mark(0.3), *falses, false_mark(0.2, 9)))


@pytest.mark.parametrize("settings", [{}, OFFICIAL], ids=["exact", "official"])
def test_threshold_is_the_lowest_score_that_keeps_the_rate(settings: dict[str, object]) -> None:
    chosen = protocol(operating_points=RATES, **settings)
    threshold = estimate_froc(four_cases_with_hits_and_false_positives(), chosen).metrics[
        "threshold_at_fp_rate"
    ]
    # 0.125 allows no false positive of four cases, 0.25 one (.92), 0.5 two, 1 four (down to .5)
    assert {rate: estimate.value for rate, estimate in threshold.items()} == {
        "0.125": 0.95,
        "0.25": 0.9,
        "0.5": 0.7,
        "1": 0.5,
        "2": 0.2,
    }


@pytest.mark.parametrize("method", ["jackknife", "percentile", "bca", "luna16", "guarded"])
@pytest.mark.parametrize("bootstraps", [0, 1])
def test_without_resamples_a_band_has_both_ends_at_every_rate(method: str, bootstraps: int) -> None:
    is_own = method == "luna16"
    interval = IntervalChoice(
        method=method, bootstraps=bootstraps, unit="case" if is_own else "patient"
    )
    interpolation = "luna16" if is_own else "linear"
    chosen = protocol(metrics=("cpm",), interval=interval, interpolation=interpolation)
    estimated = estimate_froc(four_cases_with_hits_and_false_positives(), chosen)
    for curve in estimated.curves:
        assert curve.table("algorithm", "rule").height == len(curve.x)
    has_band = method == "guarded" and bootstraps == 1
    assert len(estimated.curves) == (3 if has_band else 1)
    assert (estimated.metrics["cpm"].low is not None) == (method == "jackknife" or has_band)
