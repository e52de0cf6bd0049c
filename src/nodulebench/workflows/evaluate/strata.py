"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

import numpy as np

from nodulebench.errors import UndefinedError
from nodulebench.metrics import FIGURES
from nodulebench.metrics.figure import CaseSums, sum_by_case
from nodulebench.model.arrays import BoolArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.notice import Notice, reason_of
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Estimate, Stratum
from nodulebench.workflows.evaluate.divisions import Division, divide
from nodulebench.workflows.evaluate.estimate import (
    bind_settings,
    bootstrap_of,
    count_trial_units,
    is_proportion,
    leave_one_out_of,
    make_estimate,
    proportion_intervals,
    replicate_figures,
    replicate_ratios,
    sums_of,
    units_of,
)

RATIOS_OF_CASES = ("recall", "precision", "fp_per_case")
"""What is computed, beside miss rate and CPM, for a stratum made of whole cases."""

Place = tuple[str, str, str]
"""A rate's place: the division, the stratum, the figure."""


def estimate_strata(
    cohort: LabelledCohort, protocol: TestProtocol
) -> dict[str, dict[str, Stratum]]:
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals.

    Strata made of whole cases also get the protocol's main figures on those cases alone. False
    positives belong to cases, not to nodules, so strata of nodules have none.
    """
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    found = {name: division for name, division in divisions.items() if division is not None}
    rates = {
        (name, stratum, figure): of_case
        for name, division in found.items()
        for number, stratum in enumerate(division.names)
        for figure, of_case in _rates(cohort, protocol, division, number).items()
    }
    estimates = _estimate_rates(cohort, protocol, rates)
    results: dict[str, dict[str, Stratum]] = {}
    for name, division in found.items():
        results[name] = {}
        for number, stratum in enumerate(division.names):
            misses = rates[name, stratum, "miss_rate"]
            nodules = int(misses.denominator.sum())
            figures = _case_cpm(cohort, protocol, division, number)
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


def _ratios_of_cases(protocol: TestProtocol) -> list[str]:
    return [name for name in RATIOS_OF_CASES if name in protocol.figures]


def _rates(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, CaseSums]:
    """What the rates of one stratum divide, case by case."""
    is_in = division.of_nodule == number
    rates = {"miss_rate": _misses_of_nodules(cohort, is_in)}
    if division.of_case is not None:
        is_case_in = division.of_case == number
        for name in _ratios_of_cases(protocol):
            of_case = sums_of(bind_settings(FIGURES[name], protocol), cohort)
            if of_case is not None:
                rates[name] = CaseSums(
                    of_case.numerator * is_case_in, of_case.denominator * is_case_in
                )
    return rates


def _misses_of_nodules(cohort: LabelledCohort, is_in: BoolArray) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[is_in & ~cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case[is_in]),
    )


def _estimate_rates(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, CaseSums]
) -> dict[Place, Estimate]:
    """All rates of all strata with their intervals, by one matrix product."""
    sums, interval = list(rates.values()), protocol.interval
    drawn = [replicate_ratios(sums, block) for block in bootstrap_of(cohort, protocol).blocks()]
    left_out = [replicate_ratios(sums, block) for block in leave_one_out_of(cohort, interval)]
    replicates = np.concatenate(drawn, axis=1) if drawn else [None] * len(sums)
    jackknife = np.concatenate(left_out, axis=1) if left_out else [None] * len(sums)
    units = units_of(cohort, interval)
    estimates = {}
    for (place, of_case), row, without in zip(rates.items(), replicates, jackknife, strict=True):
        count = of_case.denominator.sum()
        if not count:
            estimates[place] = Estimate(None, reason=Notice("empty_stratum"))
            continue
        others, trial_units = {}, 0
        if is_proportion(bind_settings(FIGURES[place[-1]], protocol)):
            others = proportion_intervals(of_case, units, interval)
            trial_units = count_trial_units(of_case, units)
        value = float(of_case.numerator.sum() / count)
        estimates[place] = make_estimate(value, row, without, interval, others, trial_units)
    return estimates


def _case_cpm(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """The CPM on the cases of one stratum: the other cases' weight is 0."""
    if division.of_case is None or "cpm" not in protocol.figures:
        return {}
    is_in = (division.of_case == number).astype(np.int32)
    figure = bind_settings(FIGURES["cpm"], protocol)
    try:
        value = float(figure(cohort, is_in[np.newaxis, :])[0])
    except UndefinedError as error:
        return {"cpm": Estimate(None, reason=reason_of(error))}
    replicates, jackknife = (
        replicate_figures(cohort, {"cpm": figure}, (block * is_in for block in blocks)).get("cpm")
        for blocks in (
            bootstrap_of(cohort, protocol).blocks(),
            leave_one_out_of(cohort, protocol.interval),
        )
    )
    return {"cpm": make_estimate(value, replicates, jackknife, protocol.interval)}
