"""Labelled cohort x protocol -> every figure of merit with its interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from nodulebench.errors import InputError, Problem, UndefinedError, did_you_mean
from nodulebench.metrics import FIGURES, facts_of, name_of
from nodulebench.metrics.figure import CaseSums, Ratio, weighted_ratio
from nodulebench.model.arrays import FloatArray, IntArray, WeightArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.notice import Notice, reason_of
from nodulebench.model.parameters import parameters_of
from nodulebench.model.protocol import IntervalChoice, TestProtocol
from nodulebench.model.results import Estimate
from nodulebench.statistics.intervals import (
    all_or_none_interval,
    bca_interval,
    clopper_pearson_interval,
    cluster_ratio_interval,
    jackknife_interval,
    percentile_interval,
    sorted_index_interval,
    wilson_interval,
)
from nodulebench.statistics.resample import Bootstrap, leave_one_out

Figure = Callable[[LabelledCohort, WeightArray], FloatArray]


def bind_settings(figure: Callable[..., FloatArray], protocol: TestProtocol) -> Figure:
    """The figure with its settings filled in from the fields of the protocol.

    Raises:
        InputError: if a setting is no field: it would stay at its default whatever is asked for.
    """
    asked = parameters_of(figure.sums if isinstance(figure, Ratio) else figure)
    fields = type(protocol).model_fields
    strange = [name for name in asked if name not in fields]
    if strange:
        raise InputError(
            Problem(
                f"figure '{name_of(figure)}' setting '{name}'",
                "is no field of a protocol, so nothing could set it.",
                did_you_mean(name, fields).strip(),
            )
            for name in strange
        )
    return partial(figure, **{name: getattr(protocol, name) for name in asked})


def shown_name(name: str, protocol: TestProtocol) -> str:
    """The name of a figure in results: F-beta says its beta."""
    return f"f{protocol.beta:g}" if name == "f_beta" else name


def units_of(cohort: LabelledCohort, interval: IntervalChoice) -> IntArray:
    """For each case the number of the unit that is resampled."""
    if interval.unit == "patient":
        return cohort.reference.unit_of_case
    return np.arange(cohort.case_count)


def bootstrap_of(cohort: LabelledCohort, protocol: TestProtocol) -> Bootstrap:
    """The resampling that a protocol asks for."""
    return Bootstrap(
        unit_of_case=units_of(cohort, protocol.interval),
        replicates=protocol.interval.bootstraps,
        seed=protocol.seed,
        is_legacy=protocol.interval.method == "luna16",
    )


def replicate_figures(
    cohort: LabelledCohort, figures: Mapping[str, Figure], blocks: Iterable[WeightArray]
) -> dict[str, FloatArray]:
    """The values of figures on every row of weights.

    All figures that are ratios of sums over cases are one matrix product.
    """
    sums = {name: sums_of(figure, cohort) for name, figure in figures.items()}
    ratios = {name: of_case for name, of_case in sums.items() if of_case is not None}
    values: dict[str, list[FloatArray]] = {name: [] for name in figures}
    for block in blocks:
        for name, column in zip(
            ratios, replicate_ratios(list(ratios.values()), block), strict=True
        ):
            values[name].append(column)
        for name, figure in figures.items():
            if name not in ratios:
                values[name].append(figure(cohort, block))
    return {name: np.concatenate(parts) for name, parts in values.items() if parts}


def sums_of(figure: Figure, cohort: LabelledCohort) -> CaseSums | None:
    """The two sums over cases that a bound figure divides; None if it is no ratio."""
    if isinstance(figure, partial) and isinstance(figure.func, Ratio):
        return figure.func.sums(cohort, **figure.keywords)
    return None


def replicate_ratios(sums: Sequence[CaseSums], case_weight: WeightArray) -> FloatArray:
    """Many ratios at once: one row per ratio, one column per row of weights."""
    if not sums:
        return np.empty((0, len(case_weight)))
    stacked = CaseSums(
        np.column_stack([of_case.numerator for of_case in sums]),
        np.column_stack([of_case.denominator for of_case in sums]),
    )
    return weighted_ratio(stacked, case_weight).T


def estimate_figures(
    cohort: LabelledCohort, protocol: TestProtocol, names: Iterable[str]
) -> dict[str, Estimate | dict[str, Estimate]]:
    """Figures by name, each with its interval; a figure read at several points gives one each."""
    chosen = {name: bind_settings(FIGURES[name], protocol) for name in names}
    everyone = np.ones((1, cohort.case_count), dtype=np.int32)
    points: dict[str, FloatArray] = {}
    estimates: dict[str, Estimate | dict[str, Estimate]] = {}
    for name, figure in chosen.items():
        try:
            points[name] = figure(cohort, everyone)[0]
        except UndefinedError as error:
            estimates[name] = Estimate(None, reason=reason_of(error))
    defined = {name: chosen[name] for name in points}
    replicates = replicate_figures(cohort, defined, bootstrap_of(cohort, protocol).blocks())
    jackknife = replicate_figures(cohort, defined, leave_one_out_of(cohort, protocol.interval))
    for name, point in points.items():
        found = replicates.get(name), jackknife.get(name)
        if not point.ndim:
            others = _binomial_intervals(cohort, chosen[name], protocol)
            units = _trial_units(cohort, chosen[name], protocol.interval)
            estimates[name] = make_estimate(float(point), *found, protocol.interval, others, units)
            continue
        estimates[name] = {
            key: make_estimate(
                float(point[column]),
                _column(found[0], column),
                _column(found[1], column),
                protocol.interval,
            )
            for column, key in enumerate(column_keys(name, protocol, len(point)))
        }
    return {name: estimates[name] for name in chosen}


def column_keys(name: str, protocol: TestProtocol, count: int) -> list[str]:
    """The names of a figure's columns: the points at which it is read, as 0.125 or 8.

    Raises:
        InputError: if the figure does not say at which points it is read.
    """
    said = facts_of(name).columns
    points = getattr(protocol, said) if isinstance(said, str) and said else said
    if len(points) != count:
        raise InputError.at(
            f"figure '{name}'",
            f"gives {count} values but names {len(points)} points.",
            "Give it an attribute facts = FigureFacts(..., columns=POINTS): their names, or "
            "the field of the protocol that lists them.",
        )
    return [point if isinstance(point, str) else f"{point:g}" for point in points]


def make_estimate(
    value: float,
    replicates: FloatArray | None,
    jackknife: FloatArray | None,
    interval: IntervalChoice,
    others: dict[str, tuple[float, float]] | None = None,
    trial_units: int = 0,
) -> Estimate:
    """A value with the interval that the protocol asks for, from its replicates.

    Where all trials of a proportion succeed, or none, every replicate is equal and would give an
    interval without width; the exact one over the ``trial_units`` that have a trial is given.
    """
    if np.isnan(value):
        return Estimate(None, reason=Notice("undefined_here"))
    plain = Estimate(value, others=others or {})
    source = jackknife if interval.method == "jackknife" else replicates
    if source is None:
        return plain
    is_defined = np.isfinite(source)
    lost = int(np.count_nonzero(~is_defined))
    if lost > len(source) // 2 or len(source) - lost < 2:
        values = {"lost": lost, "replicates": len(source)}
        return replace(plain, reason=Notice("no_interval", values))
    low, high = _bounds(value, source[is_defined], jackknife, interval)
    if trial_units and low == high == value and value in (0.0, 1.0):
        low, high = all_or_none_interval(value, trial_units, interval.level)
        return replace(
            plain,
            low=low,
            high=high,
            level=interval.level,
            method=Notice("clopper_pearson", {"unit": interval.unit}),
            mean=None if replicates is None else value,
            reason=Notice("replicates_equal", {"count": trial_units, "unit": interval.unit}),
        )
    return replace(
        plain,
        low=low,
        high=high,
        level=interval.level,
        method=method_of(interval, len(source)),
        mean=None if replicates is None else float(np.mean(source[is_defined])),
        reason=Notice("replicates_lost", {"lost": lost, "replicates": len(source)})
        if lost
        else None,
    )


def method_of(interval: IntervalChoice, replicates: int) -> Notice:
    """How an interval was made."""
    unit = interval.unit
    match interval.method:
        case "percentile":
            return Notice("percentile_bootstrap", {"unit": unit, "replicates": replicates})
        case "bca":
            return Notice("bca_bootstrap", {"unit": unit, "replicates": replicates})
        case "jackknife":
            return Notice("jackknife", {"unit": unit})
        case "luna16":
            return Notice("luna16_bootstrap", {"replicates": replicates})


def _bounds(
    value: float, source: FloatArray, jackknife: FloatArray | None, interval: IntervalChoice
) -> tuple[float, float]:
    match interval.method:
        case "percentile":
            return percentile_interval(source, interval.level)
        case "bca":
            left_out = np.empty(0) if jackknife is None else jackknife[np.isfinite(jackknife)]
            return bca_interval(value, source, left_out, interval.level)
        case "jackknife":
            return jackknife_interval(value, source, interval.level)
        case "luna16":
            low, high = sorted_index_interval(source, interval.level)
            return float(low), float(high)


def leave_one_out_of(cohort: LabelledCohort, interval: IntervalChoice) -> Iterable[WeightArray]:
    """The rows of weights that a jackknife needs, where the interval's method uses one."""
    if interval.method in ("bca", "jackknife"):
        return leave_one_out(units_of(cohort, interval))
    return ()


def _column(values: FloatArray | None, column: int) -> FloatArray | None:
    return None if values is None else values[:, column]


def _binomial_intervals(
    cohort: LabelledCohort, figure: Figure, protocol: TestProtocol
) -> dict[str, tuple[float, float]]:
    """Further intervals for proportions, as the protocol lists them."""
    of_case = sums_of(figure, cohort)
    if of_case is None or not is_proportion(figure):
        return {}
    return proportion_intervals(of_case, units_of(cohort, protocol.interval), protocol.interval)


def _trial_units(cohort: LabelledCohort, figure: Figure, interval: IntervalChoice) -> int:
    """The units that have a trial of a proportion; 0 if the figure is none."""
    of_case = sums_of(figure, cohort)
    if of_case is None or not is_proportion(figure):
        return 0
    return count_trial_units(of_case, units_of(cohort, interval))


def count_trial_units(of_case: CaseSums, unit_of_case: IntArray) -> int:
    """How many units have a trial."""
    return len(np.unique(unit_of_case[of_case.denominator > 0]))


def is_proportion(figure: Figure) -> bool:
    """Whether a bound figure counts successes among trials."""
    return (
        isinstance(figure, partial) and isinstance(figure.func, Ratio) and figure.func.is_proportion
    )


def proportion_intervals(
    of_case: CaseSums, unit_of_case: IntArray, interval: IntervalChoice
) -> dict[str, tuple[float, float]]:
    """Wilson, Clopper-Pearson and cluster-ratio intervals of successes among trials."""
    successes, trials = float(of_case.numerator.sum()), float(of_case.denominator.sum())
    if not trials:
        return {}
    found: dict[str, tuple[float, float]] = {}
    for method in interval.others:
        match method:
            case "wilson":
                found[method] = wilson_interval(successes, trials, interval.level)
            case "clopper_pearson":
                found[method] = clopper_pearson_interval(successes, trials, interval.level)
            case "cluster_ratio":
                bounds = cluster_ratio_interval(
                    np.bincount(unit_of_case, of_case.numerator).astype(np.float64),
                    np.bincount(unit_of_case, of_case.denominator).astype(np.float64),
                    interval.level,
                )
                if np.isfinite(bounds).all():
                    found[method] = bounds
    return found
