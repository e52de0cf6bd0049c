"""METRICS: every metric by its name, and its facts; Ratio: a metric that divides two sums.

Every metric is a function ``metric(cohort, case_weight, **settings)``. ``case_weight``
has one row per replicate and one column per case; the answer has one value per row (or one row of
values, for metrics read at several points). Bootstrap, jackknife, subgroup and re-weighting are
then nothing but weights. A metric raises ``UndefinedError`` with the reason where the cohort as a
whole leaves it undefined, and gives NaN for single replicates that do.

Settings are keyword-only and named after the protocol's fields, which are passed to the metrics
that ask for them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.registry import Registry

Guard = Literal["", "trials", "cases", "rate", "none"]
"""What the pseudo-patient adds to a metric: trials that all fail or all succeed; two more cases of
the cohort, for a metric between 0 and 1 (``cases``) or for a rate without upper limit; or nothing,
because no worst case can be stated. Empty: trials for a proportion, otherwise nothing."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """All facts about a metric. A metric of another package has them as its attribute ``facts``.

    The functions that belong to a metric are named as ``module:function``, or by their name only
    if they are in the metric's module; they are loaded when they are needed.
    """

    is_higher_better: bool | None
    """None: neither (a signed error is best at 0; a count of marks is neither good nor bad)."""
    ieee_2802: str = ""
    """The term of IEEE 2802-2022 for it, if the standard has one."""
    unit: str = ""
    columns: str | tuple[str, ...] = ""
    """The points at which a metric is read, of one read at several: the field of the protocol that
    lists them, or their names."""
    mean_of: str = ""
    """The metric read at several points whose mean it is."""
    guard: Guard = ""
    """How its interval is guarded where nothing, or hardly anything, goes wrong."""
    curve: str = ""
    """Of a cohort the curve whose area it is."""
    table: str = ""
    """Of a cohort the table that belongs to it; evaluation.json has it by the function's name."""
    ratings: str = ""
    """Of a cohort the negatives and positives whose ROC area it is."""
    estimator: str = ""
    """Of a cohort and a protocol the estimates of all metrics that are read from the same curve."""
    module: str = ""
    """The module of this package that defines it; empty: another package does."""


def _in_module(module: str, **metrics: MetricInfo) -> dict[str, MetricInfo]:
    return {name: replace(info, module=module) for name, info in metrics.items()}


_BETTER, _WORSE, _NEITHER = True, False, None
_FROC = "nodulebench.evaluation.estimates:estimate_froc"

METRIC_INFO: dict[str, MetricInfo] = (
    _in_module(
        "operating_point",
        recall=MetricInfo(_BETTER, "lesion localisation rate"),
        miss_rate=MetricInfo(_WORSE, "miss rate"),
        precision=MetricInfo(_BETTER, "precision", guard="cases"),
        f_beta=MetricInfo(_BETTER, "F1", guard="cases"),
        fp_per_case=MetricInfo(_WORSE, "non-lesion localisation rate", guard="rate"),
        fp_per_normal_case=MetricInfo(_WORSE, guard="rate"),
        marks_per_case=MetricInfo(_NEITHER),
        case_sensitivity=MetricInfo(_BETTER, "sensitivity"),
        case_specificity=MetricInfo(_BETTER, "specificity"),
    )
    | _in_module(
        "froc",
        sensitivity_at_fp_rate=MetricInfo(
            _BETTER,
            "lesion localisation rate",
            columns="operating_points",
            guard="cases",
            estimator=_FROC,
        ),
        cpm=MetricInfo(_BETTER, mean_of="sensitivity_at_fp_rate", guard="cases", estimator=_FROC),
        cpm_exact=MetricInfo(_BETTER, guard="cases"),
    )
    | _in_module(
        "operating_point",
        average_precision=MetricInfo(_BETTER, "AP", guard="cases", curve="precision_recall_curve"),
    )
    | _in_module(
        "afroc",
        afroc_area=MetricInfo(_BETTER, guard="cases", curve="afroc_curve"),
        wafroc_area=MetricInfo(_BETTER, guard="cases", curve="wafroc_curve"),
        afroc1_area=MetricInfo(_BETTER, guard="cases"),
        wafroc1_area=MetricInfo(_BETTER, guard="cases"),
        efroc_area=MetricInfo(_BETTER, guard="cases"),
        case_roc_area=MetricInfo(
            _BETTER, guard="cases", curve="case_roc_curve", ratings="case_ratings"
        ),
        case_sensitivity_at_fpf=MetricInfo(
            _BETTER, "sensitivity", columns="fpf_points", guard="cases"
        ),
        case_roc_area_until_fpf=MetricInfo(_BETTER, columns="fpf_points", guard="cases"),
    )
    | _in_module(
        "lroc",
        lroc_area=MetricInfo(_BETTER, guard="cases", curve="lroc_curve"),
        pcl_at_fpf=MetricInfo(_BETTER, columns="fpf_points", guard="cases"),
    )
    | _in_module(
        "malignancy",
        malignancy_auc=MetricInfo(
            _BETTER,
            curve="malignancy_roc_curve",
            table="malignancy_cuts",
            ratings="benign_and_malignant",
        ),
        malignancy_sensitivity_at_fpf=MetricInfo(_BETTER, "sensitivity", columns="fpf_points"),
        malignancy_auc_until_fpf=MetricInfo(_BETTER, columns="fpf_points"),
        malignancy_accuracy=MetricInfo(_BETTER, "accuracy"),
        malignancy_sensitivity=MetricInfo(_BETTER, "sensitivity"),
        malignancy_specificity=MetricInfo(_BETTER, "specificity"),
        malignancy_precision=MetricInfo(_BETTER, "positive predictive value"),
        malignancy_f_beta=MetricInfo(_BETTER, "F1"),
        brier_score=MetricInfo(_WORSE),
        expected_calibration_error=MetricInfo(_WORSE, table="reliability"),
    )
    | _in_module(
        "characterisation",
        size_error_rate=MetricInfo(_WORSE),
        diameter_error_mm=MetricInfo(_NEITHER, unit="mm"),
        absolute_diameter_error_mm=MetricInfo(_WORSE, unit="mm"),
        density_accuracy=MetricInfo(_BETTER, table="density_confusion"),
        density_accuracy_of_found=MetricInfo(_BETTER, "accuracy"),
        density_kappa=MetricInfo(_BETTER, "kappa"),
        type_kappa=MetricInfo(_BETTER, "kappa"),
        category_agreement=MetricInfo(_BETTER, "accuracy"),
        category_kappa=MetricInfo(_BETTER, "kappa"),
        category_kappa_linear=MetricInfo(_BETTER, "kappa", table="category_cuts"),
        category_kappa_quadratic=MetricInfo(_BETTER, "kappa", table="category_cuts"),
    )
    | _in_module(
        "segmentation",
        mean_dice=MetricInfo(_BETTER, "Dice"),
        mean_iou=MetricInfo(_BETTER, "IoU"),
        pooled_dice=MetricInfo(_BETTER, "Dice"),
        pooled_iou=MetricInfo(_BETTER, "IoU"),
    )
    | _in_module(
        "time_per_case",
        median_seconds_per_case=MetricInfo(_WORSE, unit="s"),
        mean_seconds_per_case=MetricInfo(_WORSE, unit="s"),
        max_seconds_per_case=MetricInfo(_WORSE, unit="s"),
        failed_run_rate=MetricInfo(_WORSE),
    )
)
"""Every metric with its facts, in the order of all lists of metrics."""


@dataclass(frozen=True, slots=True)
class CaseSums:
    """What a ratio divides, case by case."""

    numerator: FloatArray
    denominator: FloatArray


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric made of two sums over cases."""

    name: str
    sums: Callable[..., CaseSums]
    """``sums(cohort, **settings)``: the two sums for each case."""
    undefined: str
    """Why it is undefined where the denominator is 0: a code, or the text of another package."""
    is_proportion: bool = False
    """Whether it counts successes among trials, so that binomial intervals apply."""
    facts: MetricInfo | None = None

    def __call__(
        self, cohort: LabelledCohort, case_weight: WeightArray, **settings: Any
    ) -> FloatArray:
        of_case = self.sums(cohort, **settings)
        if not of_case.denominator.sum() > 0:
            raise UndefinedError(self.undefined)
        return weighted_ratio(of_case, case_weight)


def ratio(
    undefined: str, *, is_proportion: bool = False
) -> Callable[[Callable[..., CaseSums]], Ratio]:
    """Make a metric of a function that gives its two sums.

    The metric has the function's name, and means what the first line of its docstring says.
    """
    return lambda sums: Ratio(sums.__name__, sums, undefined, is_proportion)


def weighted_ratio(of_case: CaseSums, case_weight: WeightArray) -> FloatArray:
    weight = case_weight.astype(np.float64, copy=False)
    return divide(weight @ of_case.numerator, weight @ of_case.denominator)


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """Element by element, NaN where the denominator is not positive."""
    divided: FloatArray = np.full(below.shape, np.nan)
    return np.divide(above, below, out=divided, where=below > 0)


def sum_by_case(
    cohort: LabelledCohort, case: np.ndarray[Any, Any], value: FloatArray | None = None
) -> FloatArray:
    """Add up values (or count entries) by the case they belong to."""
    return np.bincount(case, weights=value, minlength=cohort.case_count).astype(np.float64)


Metric = Callable[..., FloatArray]
"""``metric(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""

METRICS: Registry[Metric] = Registry(
    "metric",
    "metrics",
    {name: f"nodulebench.metrics.{info.module}" for name, info in METRIC_INFO.items()},
)


def name_of(metric: Metric) -> str:
    return metric.name if isinstance(metric, Ratio) else metric.__name__


def meaning_of(metric: Metric) -> str:
    """The first line of its docstring, without the full stop."""
    documented = metric.sums if isinstance(metric, Ratio) else metric
    return (documented.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def info_of(name: str) -> MetricInfo:
    """The facts about a metric; one of another package has them as its attribute ``facts``."""
    if name in METRIC_INFO:
        return METRIC_INFO[name]
    own: MetricInfo | None = getattr(METRICS[name], "facts", None)
    return own or MetricInfo(is_higher_better=True)


def function_of(
    name: str, kind: Literal["curve", "table", "ratings", "estimator"]
) -> Callable[..., Any] | None:
    """The function of a kind that belongs to a metric; None: it has none."""
    module, _, function = getattr(info_of(name), kind).rpartition(":")
    if not function:
        return None
    metric = METRICS[name]
    own = (metric.sums if isinstance(metric, Ratio) else metric).__module__
    made: Callable[..., Any] = getattr(import_module(module or own), function)
    return made


def guard_of(name: str) -> Guard:
    metric = METRICS[name]
    is_proportion = isinstance(metric, Ratio) and metric.is_proportion
    return info_of(name).guard or ("trials" if is_proportion else "none")


def is_lower_better(metric: str) -> bool:
    """Whether lower values of a metric, as results name it, are better."""
    return metric in METRICS and info_of(metric).is_higher_better is False
