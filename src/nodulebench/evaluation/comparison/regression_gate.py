"""A new result and an old one -> whether the new one is shown to be no worse."""

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
    """What decides, and whether it is met."""

    differences: tuple[MetricDifference, ...]
    """Every difference to which the margin applies."""

    @property
    def is_met(self) -> bool:
        """Whether every one of them is shown to be within the margin; undefined is not."""
        return bool(self.differences) and all(map(is_shown, self.differences))


def gate_of(comparison: AlgorithmComparison) -> Gate:
    """What the margin of a comparison says of the metrics that were named, else of one.

    Raises:
        InputError: if none was named and there is none to decide by.
    """
    readings = deciding_readings(comparison)
    if not readings:
        raise InputError.at("protocol", "has no metric that is better when higher.", "Name one.")
    return Gate(
        tuple(difference for difference in comparison.differences if difference.reading in readings)
    )


def deciding_readings(comparison: AlgorithmComparison) -> tuple[Reading, ...]:
    """The metrics that were named; else the CPM, or the first metric that is better when higher."""
    compared = dict.fromkeys(difference.reading for difference in comparison.differences)
    named = comparison.choice.metrics or (deciding_metric([one.metric for one in compared]),)
    return tuple(one for one in compared if one.metric in named)


def deciding_metric(metrics: Sequence[str]) -> str | None:
    """The CPM, or the first metric that is better when higher; None: there is none."""
    higher = [metric for metric in metrics if better_of(metric) == "higher"]
    return "cpm" if "cpm" in higher else next(iter(higher), None)


def is_shown(difference: MetricDifference) -> bool:
    """Whether a difference is shown to be no loss beyond the margin."""
    found = difference.comparison
    return found is not None and found.margin is not None and found.margin.is_non_inferior


class Pair(NamedTuple):
    """Two results as one, and what the two algorithms are called in it."""

    evaluated: Evaluated
    new: str
    old: str


def side_by_side(new: Evaluated, old: Evaluated) -> Pair:
    """Two results of one algorithm each, on the same test set under the same protocol, as one.

    Raises:
        InputError: if they were not made alike, or hold several algorithms.
    """
    raise_problems(_unlike(new, old))
    names = [one.document.algorithms[0].name for one in (new, old)]
    if names[0] == names[1]:
        names = [f"{names[0]} ({age})" for age in ("new", "old")]
    return Pair(together(dict(zip(names, (new, old), strict=True))), *names)


def together(results: Mapping[str, Evaluated]) -> Evaluated:
    """Results of one algorithm each, made alike, as one in which they have these names.

    Raises:
        InputError: if they were not made alike, or hold several algorithms.
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
        submissions={name: part for one in parts for name, part in one.submissions.items()},
        labels=pl.concat([part.labels for part in parts]),
    )


def _unlike(new: Evaluated, old: Evaluated) -> Iterator[Problem]:
    for age, one in (("new", new), ("old", old)):
        count = len(one.document.algorithms)
        if count != 1:
            yield Problem(age, f"has {count} algorithms.", "Give a result of one algorithm.")
    for part in ("protocol", "reference", "cohort"):
        if new.document.digests[part] != old.document.digests[part]:
            yield Problem("new", f"was made with another {part} than old.", "Evaluate both alike.")


def _renamed(evaluated: Evaluated, name: str) -> Evaluated:
    (algorithm,) = evaluated.document.algorithms
    (submission,) = evaluated.submissions.values()
    return replace(
        evaluated,
        document=replace(evaluated.document, algorithms=(replace(algorithm, name=name),)),
        submissions={name: replace(submission, name=name)},
        labels=evaluated.labels.with_columns(algorithm=pl.lit(name)),
    )
