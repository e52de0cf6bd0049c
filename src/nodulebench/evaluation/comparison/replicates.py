"""Labelled cohorts of several algorithms x figures -> their values on the same resamples."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.comparison.pairs import GuardedPairs
from nodulebench.evaluation.estimates import (
    Figure,
    bind_settings,
    column_keys,
    exactly,
    points_of,
    replicate_figures,
    shown_name,
)
from nodulebench.metrics import FIGURES
from nodulebench.statistics.bootstrap import Bootstrap
from nodulebench.statistics.guarded import GuardedBootstrap
from nodulebench.statistics.paired import Replicates

SENSITIVITY, CPM = "sensitivity_at_fp_rate", "cpm"


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure of merit, and the point at which it is read where it is read at several."""

    figure: str
    """As it is registered."""
    shown: str
    """As results name it."""
    point: str = ""

    def __str__(self) -> str:
        return f"{self.shown} at {self.point}" if self.point else self.shown


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figures of several algorithms on the same resamples."""

    replicates: dict[Reading, Replicates]
    """Of each reading, the algorithms for which it is defined; perhaps none."""
    undefined: dict[tuple[str, str], Notice]
    """Figure and algorithm -> why the figure is undefined for it."""
    pairs: GuardedPairs | None = None
    """The algorithms on the guarded bootstrap; None: intervals are percentiles of replicates."""


def draw_readings(
    cohorts: Mapping[str, LabelledCohort],
    protocol: TestProtocol,
    names: Iterable[str],
    bootstrap: Bootstrap,
    *,
    is_guarded: bool = True,
) -> Drawn:
    """Evaluate figures for every algorithm on the whole cohort and on every resample.

    Ranks are read from resamples; intervals too, unless they are guarded.
    """
    figures = {name: bind_settings(FIGURES[name], protocol) for name in names}
    whole = np.ones((1, len(bootstrap.unit_of_case)), dtype=np.int32)
    undefined: dict[tuple[str, str], Notice] = {}
    defined: dict[str, dict[str, Figure]] = {}
    for algorithm, cohort in cohorts.items():
        defined[algorithm] = {}
        for name, figure in figures.items():
            try:
                figure(cohort, whole)
            except UndefinedError as error:
                undefined[name, algorithm] = reason_of(error)
            else:
                defined[algorithm][name] = figure
    values = {
        algorithm: _read(cohort, protocol, defined[algorithm], [whole])
        for algorithm, cohort in cohorts.items()
    }
    blocks: dict[str, list[dict[Reading, FloatArray]]] = {algorithm: [] for algorithm in cohorts}
    for block in bootstrap.blocks():
        for algorithm, cohort in cohorts.items():
            blocks[algorithm].append(_read(cohort, protocol, defined[algorithm], [block]))
    readings = {reading: None for read in values.values() for reading in read}
    read_figures = {reading.figure for reading in readings}
    for name in figures:
        if name not in read_figures:
            readings[Reading(name, shown_name(name, protocol))] = None
    together = {reading: _together(reading, values, blocks) for reading in readings}
    if not is_guarded:
        return Drawn(together, undefined)
    exact = exactly(protocol)
    pairs = GuardedPairs(
        cohorts,
        {
            algorithm: {name: bind_settings(FIGURES[name], exact) for name in found}
            for algorithm, found in defined.items()
        },
        GuardedBootstrap(bootstrap.unit_of_case, bootstrap.replicates, bootstrap.seed),
        protocol.interval,
    )
    guarded = {
        reading: replace(found, pair=partial(pairs.rows, *column_of(reading, protocol)))
        for reading, found in together.items()
    }
    return Drawn(guarded, undefined, pairs)


def column_of(reading: Reading, protocol: TestProtocol) -> tuple[str, int | None]:
    """The figure of a reading, and the column of its point."""
    if not reading.point:
        return reading.figure, None
    count = len(points_of(reading.figure, protocol))
    return reading.figure, column_keys(reading.figure, protocol, count).index(reading.point)


def _read(
    cohort: LabelledCohort,
    protocol: TestProtocol,
    figures: Mapping[str, Figure],
    blocks: Iterable[WeightArray],
) -> dict[Reading, FloatArray]:
    """Every reading on every row of weights. The CPM is not computed beside its sensitivities."""
    is_mean = SENSITIVITY in figures and CPM in figures
    asked = {name: figure for name, figure in figures.items() if not (is_mean and name == CPM)}
    found = replicate_figures(cohort, asked, blocks)
    read: dict[Reading, FloatArray] = {}
    for name in figures:
        shown = shown_name(name, protocol)
        if is_mean and name == CPM:
            read[Reading(name, shown)] = found[SENSITIVITY].mean(axis=1)
        elif found[name].ndim == 2:
            for column, key in enumerate(column_keys(name, protocol, found[name].shape[1])):
                read[Reading(name, shown, key)] = found[name][:, column]
        else:
            read[Reading(name, shown)] = found[name]
    return read


def _together(
    reading: Reading,
    values: Mapping[str, dict[Reading, FloatArray]],
    blocks: Mapping[str, list[dict[Reading, FloatArray]]],
) -> Replicates:
    names = [algorithm for algorithm, read in values.items() if reading in read]
    if not names:
        return Replicates((), np.empty(0), np.empty((0, 0)))
    return Replicates(
        names=tuple(names),
        value=np.array([float(values[name][reading][0]) for name in names]),
        replicate=np.stack(
            [np.concatenate([part[reading] for part in blocks[name]]) for name in names]
        ),
    )
