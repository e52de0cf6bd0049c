"""A new and an old result -> whether the new one is shown to be no worse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.evaluation.comparison.compare import (
    AlgorithmComparison,
    MetricDifference,
    better_of,
)
from nodulebench.evaluation.comparison.replicates import Reading
from nodulebench.evaluation.recompute import Evaluated


@dataclass(frozen=True, slots=True)
class Gate:
    """The differences that decide, and whether the gate is met."""

    differences: tuple[MetricDifference, ...]
    """Every difference to which the margin applies."""

    @property
    def is_met(self) -> bool:
        """Whether every difference is shown to be within the margin; an undefined one is not."""
        return bool(self.differences) and all(map(is_shown, self.differences))


def gate_of(comparison: AlgorithmComparison) -> Gate:
    """The gate of a comparison with a margin: by the named metrics, else by one.

    Raises:
        InputError: if no metric was named and none is better when higher.
    """
    readings = deciding_readings(comparison)
    if not readings:
        what = "has no metric that is better when higher."
        raise InputError.at("protocol", what, "Name a metric.")
    return Gate(
        tuple(difference for difference in comparison.differences if difference.reading in readings)
    )


def deciding_readings(comparison: AlgorithmComparison) -> tuple[Reading, ...]:
    """The named metrics; else the CPM, or the first metric that is better when higher."""
    compared = dict.fromkeys(difference.reading for difference in comparison.differences)
    named = comparison.choice.metrics or (
        deciding_metric([reading.metric for reading in compared]),
    )
    return tuple(reading for reading in compared if reading.metric in named)


def deciding_metric(metrics: Sequence[str]) -> str | None:
    """The CPM, or the first metric that is better when higher; None if there is no such metric."""
    higher = [metric for metric in metrics if better_of(metric) == "higher"]
    return "cpm" if "cpm" in higher else next(iter(higher), None)


def is_shown(difference: MetricDifference) -> bool:
    """Whether a difference is shown to be no loss beyond the margin."""
    comparison = difference.comparison
    return (
        comparison is not None
        and comparison.margin is not None
        and comparison.margin.is_non_inferior
    )


class Pair(NamedTuple):
    """Two results as one, and the names of the two algorithms in it."""

    evaluated: Evaluated
    new: str
    old: str


def side_by_side(new: Evaluated, old: Evaluated) -> Pair:
    """Two results of one algorithm each, on the same test set under the same protocol, as one.

    Raises:
        InputError: if test set or protocol differ, or a result has several algorithms.
    """
    raise_problems(_unlike(new, old))
    names = [result.document.algorithms[0].name for result in (new, old)]
    if names[0] == names[1]:
        names = [f"{names[0]} ({age})" for age in ("new", "old")]
    return Pair(merge_results(dict(zip(names, (new, old), strict=True))), *names)


def merge_results(results: Mapping[str, Evaluated]) -> Evaluated:
    """Results of one algorithm each, as one in which the algorithms have these names.

    Raises:
        InputError: if test set or protocol differ, or a result has several algorithms.
    """
    first, *others = results.values()
    for other in others:
        raise_problems(_unlike(other, first))
    parts = [_renamed(result, name) for name, result in results.items()]
    return replace(
        first,
        document=replace(
            first.document, algorithms=tuple(part.document.algorithms[0] for part in parts)
        ),
        submissions={name: part for result in parts for name, part in result.submissions.items()},
        labels=pl.concat([part.labels for part in parts]),
    )


def _unlike(new: Evaluated, old: Evaluated) -> Iterator[Problem]:
    for age, evaluated in (("new", new), ("old", old)):
        count = len(evaluated.document.algorithms)
        if count != 1:
            yield Problem(age, f"has {count} algorithms.", "Give a result of one algorithm.")
    for part in ("protocol", "reference", "cohort"):
        if new.document.digests[part] != old.document.digests[part]:
            remedy = "Evaluate both on the same test set under the same protocol."
            yield Problem("new", f"was made with another {part} than old.", remedy)


def _renamed(evaluated: Evaluated, name: str) -> Evaluated:
    (algorithm,) = evaluated.document.algorithms
    (submission,) = evaluated.submissions.values()
    return replace(
        evaluated,
        document=replace(evaluated.document, algorithms=(replace(algorithm, name=name),)),
        submissions={name: replace(submission, name=name)},
        labels=evaluated.labels.with_columns(algorithm=pl.lit(name)),
    )
