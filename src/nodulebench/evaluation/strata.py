"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Estimate, Stratum
from nodulebench.evaluation.divisions import Division, divide
from nodulebench.evaluation.estimates import (
    bind_settings,
    bootstrap_blocks,
    estimate_figures,
    exactly,
    guarded_bootstrap_of,
    is_proportion,
    leave_one_out_of,
    replicate_figures,
    replicate_ratios,
    units_of,
    with_sound,
)
from nodulebench.evaluation.guarded_rows import (
    GuardedCohort,
    GuardedRows,
    guarded_rows,
    sums_of,
)
from nodulebench.metrics import FIGURES, guard_of
from nodulebench.metrics.metric import CaseSums, sum_by_case
from nodulebench.statistics.guarded import GuardedRatio, ratio_rows
from nodulebench.statistics.intervals import (
    count_trial_units,
    make_estimate,
    proportion_intervals,
)

RATIOS_OF_CASES = ("recall", "precision", "fp_per_case")
"""What is computed, beside miss rate and CPM, for a stratum made of whole cases."""

Place = tuple[str, str, str]
"""A rate's place: the division, the stratum, the figure."""


@dataclass(frozen=True, slots=True)
class _Rate:
    """A rate of one stratum."""

    of_case: CaseSums
    """What it divides, case by case, within the stratum."""
    is_in: BoolArray | None = None
    """The cases of the stratum, where it is one of whole cases."""


def estimate_strata(
    cohort: LabelledCohort, protocol: TestProtocol
) -> dict[str, dict[str, Stratum]]:
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals.

    Strata made of whole cases also get the protocol's main figures on those cases alone. False
    positives belong to cases, not to nodules: strata of nodules get the protocol's
    ``stratum_figures`` with the false positives of all cases.
    """
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    found = {name: division for name, division in divisions.items() if division is not None}
    rates = {
        (name, stratum, figure): rate
        for name, division in found.items()
        for number, stratum in enumerate(division.names)
        for figure, rate in _rates(cohort, protocol, division, number).items()
    }
    estimates = _estimate_rates(cohort, protocol, rates)
    results: dict[str, dict[str, Stratum]] = {}
    for name, division in found.items():
        results[name] = {}
        for number, stratum in enumerate(division.names):
            misses = rates[name, stratum, "miss_rate"].of_case
            nodules = int(misses.denominator.sum())
            figures = _case_cpm(cohort, protocol, division, number)
            figures |= _nodule_figures(cohort, protocol, division, number)
            if division.of_case is not None:
                figures |= {
                    figure: estimates[name, stratum, figure]
                    for figure in _ratios_of_cases(protocol)
                }
            results[name][stratum] = Stratum(
                nodules=nodules,
                missed=int(misses.numerator.sum()),
                miss_rate=estimates[name, stratum, "miss_rate"],
                is_too_few=nodules < protocol.minimum_stratum,
                cases=division.case_count(number),
                figures=figures,
            )
    return results


def _nodule_figures(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """The protocol's figures for the nodules of one stratum; at a point: ``figure@point``."""
    is_in = division.of_nodule == number
    if division.of_case is not None or not protocol.stratum_figures or not is_in.any():
        return {}
    found = estimate_figures(cohort.of_nodules(is_in), protocol, protocol.stratum_figures)
    return {
        name if point is None else f"{name}@{point}": one
        for name, read in found.items()
        for point, one in ({None: read} if isinstance(read, Estimate) else read).items()
    }


def _ratios_of_cases(protocol: TestProtocol) -> list[str]:
    return [name for name in RATIOS_OF_CASES if name in protocol.figures]


def _rates(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, _Rate]:
    """The rates of one stratum."""
    is_in = division.of_nodule == number
    rates = {"miss_rate": _Rate(_misses_of_nodules(cohort, is_in))}
    if division.of_case is not None:
        is_case_in = division.of_case == number
        for name in _ratios_of_cases(protocol):
            of_case = sums_of(bind_settings(FIGURES[name], protocol), cohort)
            if of_case is not None:
                within = CaseSums(of_case.numerator * is_case_in, of_case.denominator * is_case_in)
                rates[name] = _Rate(within, is_case_in)
    return rates


def _misses_of_nodules(cohort: LabelledCohort, is_in: BoolArray) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[is_in & ~cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case[is_in]),
    )


def _estimate_rates(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, _Rate]
) -> dict[Place, Estimate]:
    """All rates of all strata with their intervals, by one matrix product."""
    sums, interval = [rate.of_case for rate in rates.values()], protocol.interval
    drawn = [replicate_ratios(sums, block) for block in bootstrap_blocks(cohort, protocol)]
    left_out = [replicate_ratios(sums, block) for block in leave_one_out_of(cohort, interval)]
    replicates = np.concatenate(drawn, axis=1) if drawn else [None] * len(sums)
    jackknife = np.concatenate(left_out, axis=1) if left_out else [None] * len(sums)
    counted = {place: rate for place, rate in rates.items() if rate.of_case.denominator.any()}
    sound = _sound_rows(cohort, protocol, counted)
    units = units_of(cohort, interval)
    estimates = {}
    for (place, rate), row, without in zip(rates.items(), replicates, jackknife, strict=True):
        if place not in counted:
            estimates[place] = Estimate(None, reason=Notice("empty_stratum"))
            continue
        of_case = rate.of_case
        others, trial_units = {}, 0
        if is_proportion(bind_settings(FIGURES[place[-1]], protocol)):
            others = proportion_intervals(of_case.numerator, of_case.denominator, units, interval)
            trial_units = count_trial_units(of_case.denominator, units)
        value = float(of_case.numerator.sum() / of_case.denominator.sum())
        one = make_estimate(value, row, without, interval, others, trial_units)
        estimates[place] = with_sound(one, sound.get(place), interval)
    return estimates


def stratum_rows(
    cohort: LabelledCohort, protocol: TestProtocol, division: str, stratum: str, figure: str
) -> GuardedRows | None:
    """One figure of one stratum on every replicate of the guarded bootstrap.

    None where the stratum, its figure or its interval does not exist.
    """
    found = divide(cohort, division, protocol)
    if found is None or stratum not in found.names:
        return None
    number = found.names.index(stratum)
    if figure == "cpm":
        return _cpm_rows(cohort, protocol, found, number)
    rates = {
        (division, stratum, name): rate
        for name, rate in _rates(cohort, protocol, found, number).items()
        if name == figure and rate.of_case.denominator.any()
    }
    return next(iter(_sound_rows(cohort, protocol, rates).values()), None)


def _sound_rows(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, _Rate]
) -> dict[Place, GuardedRows]:
    """All rates on every replicate of the guarded bootstrap, each beside its own unseen patient."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None or not rates:
        return {}
    ratios: dict[Place, GuardedRatio] = {}
    for place, rate in rates.items():
        figure = bind_settings(FIGURES[place[-1]], protocol)
        guarded = GuardedCohort(cohort, bootstrap, rate.is_in)
        ratios[place] = guarded.ratio(figure, rate.of_case, guard_of(place[-1]))
    blocks = [ratio_rows(list(ratios.values()), block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return {
        place: GuardedRows(
            worst[:, column],
            best[:, column],
            units=int(np.count_nonzero(ratio.denominator)),
            guard=guard_of(place[-1]),
        )
        for column, (place, ratio) in enumerate(ratios.items())
    }


def _case_cpm(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """The CPM on the cases of one stratum: the other cases' weight is 0."""
    if division.of_case is None or "cpm" not in protocol.figures:
        return {}
    is_in = division.of_case == number
    figure = bind_settings(FIGURES["cpm"], protocol)
    try:
        value = float(figure(cohort, is_in[np.newaxis, :].astype(np.int32))[0])
    except UndefinedError as error:
        return {"cpm": Estimate(None, reason=reason_of(error))}

    def within(blocks: Iterable[WeightArray]) -> FloatArray | None:
        return replicate_figures(cohort, {"cpm": figure}, (one * is_in for one in blocks)).get(
            "cpm"
        )

    interval = protocol.interval
    one = make_estimate(
        value,
        within(bootstrap_blocks(cohort, protocol)),
        within(leave_one_out_of(cohort, interval)),
        interval,
    )
    rows = None if one.value is None else _cpm_rows(cohort, protocol, division, number)
    return {"cpm": with_sound(one, rows, interval)}


def _cpm_rows(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> GuardedRows | None:
    """The CPM on the cases of one stratum, on every replicate of the guarded bootstrap."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None or division.of_case is None:
        return None
    exact = {"cpm": bind_settings(FIGURES["cpm"], exactly(protocol))}
    return guarded_rows(GuardedCohort(cohort, bootstrap, division.of_case == number), exact)["cpm"]
