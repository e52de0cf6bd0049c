"""Ratio: a figure of merit that divides one sum over cases by another.

Every figure of merit is a function ``figure(cohort, case_weight, **settings)``. ``case_weight``
has one row per replicate and one column per case; the answer has one value per row (or one row of
values, for figures read at several points). Bootstrap, jackknife, subgroup and re-weighting are
then nothing but weights. A figure raises ``UndefinedError`` with the reason where the cohort as a
whole leaves it undefined, and gives NaN for single replicates that do.

Settings are keyword-only and named after the protocol's fields, which are passed to the figures
that ask for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.facts import FigureFacts


@dataclass(frozen=True, slots=True)
class CaseSums:
    """What a ratio divides, case by case."""

    numerator: FloatArray
    denominator: FloatArray


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of merit made of two sums over cases."""

    name: str
    meaning: str
    sums: Callable[..., CaseSums]
    """``sums(cohort, **settings)``: the two sums for each case."""
    undefined: str
    """Why it is undefined where the denominator is 0: a code, or the words of another package."""
    is_proportion: bool = False
    """Whether it counts successes among trials, so that binomial intervals apply."""
    facts: FigureFacts | None = None
    """What its numbers do not tell, for a figure of another package."""

    def __call__(
        self, cohort: LabelledCohort, case_weight: WeightArray, **settings: Any
    ) -> FloatArray:
        """The ratio in each replicate."""
        of_case = self.sums(cohort, **settings)
        if not of_case.denominator.sum() > 0:
            raise UndefinedError(self.undefined)
        return weighted_ratio(of_case, case_weight)


def ratio(
    undefined: str, *, is_proportion: bool = False
) -> Callable[[Callable[..., CaseSums]], Ratio]:
    """Make a figure of a function that gives its two sums.

    The figure has the function's name, and means what the first line of its docstring says.

    Args:
        undefined: why it is undefined where the denominator is 0, as ``Ratio`` has it.
        is_proportion: whether it counts successes among trials.
    """
    return lambda sums: Ratio(sums.__name__, first_line(sums), sums, undefined, is_proportion)


def first_line(documented: object) -> str:
    """What a docstring says first, without its full stop."""
    return (documented.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def weighted_ratio(of_case: CaseSums, case_weight: WeightArray) -> FloatArray:
    """Weighted sum over weighted sum, NaN where the denominator vanishes."""
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
