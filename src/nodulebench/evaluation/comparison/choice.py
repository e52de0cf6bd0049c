"""What shall be compared, and how: refused where it cannot be, with a word on what it lacks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nodulebench.core.algorithm import IntendedUse, intended_use
from nodulebench.core.documents.named import UseGroup
from nodulebench.core.errors import InputError, Problem, UnknownNameError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.comparison.nodules import Cohorts
from nodulebench.metrics import FIGURES

PERMUTATIONS = 2000
VERDICT_REPLICATES = 10_000
"""How many replicates at least make a verdict on a margin."""


@dataclass(frozen=True, slots=True)
class ComparisonChoice:
    """What is compared, and how."""

    baseline: str
    """The algorithm that the others are compared with."""
    figures: tuple[str, ...] = ()
    """Figures of merit; none: those of the protocol."""
    margin: float | None = None
    """The largest loss that does not matter. Without ``figures`` it is applied to those that are
    better when higher (rates, areas, scores from 0 to 1), else to all that were named."""
    bootstraps: int | None = None
    """Number of resamples; None: as many as the protocol's, and with a margin 10,000 at least."""
    permutations: int = PERMUTATIONS
    """Number of random swaps; 0: no permutation tests."""
    method: Literal["guarded", "percentile"] = "guarded"
    """How intervals, P values and verdicts are made; "percentile": without a
    guard where the algorithms hardly differ."""
    is_within_use: bool = True
    """Whether only algorithms of the baseline's intended use are compared with it."""


def use_groups(cohorts: Cohorts) -> tuple[UseGroup, ...]:
    """Algorithms by what they are meant for, in their order."""
    said = {name: one.submission for of_rule in cohorts.values() for name, one in of_rule.items()}
    groups: dict[IntendedUse, list[str]] = {}
    for name, one in said.items():
        groups.setdefault(intended_use(one.facts, one.intended_types), []).append(name)
    return tuple(
        UseGroup(said[names[0]].facts.get("intended_use", ""), types, tuple(names))
        for (_, types), names in groups.items()
    )


def of_equal_use(
    cohorts: Cohorts, groups: tuple[UseGroup, ...], choice: ComparisonChoice
) -> Cohorts:
    """The cohorts of those algorithms that may be compared with the baseline.

    Raises:
        InputError: if there are others, but none of its use.
    """
    own = next((one for one in groups if choice.baseline in one.algorithms), None)
    if own is None or len(groups) < 2 or not choice.is_within_use:
        return cohorts
    if len(own.algorithms) < 2:
        raise InputError.at(
            "comparison",
            f"'{choice.baseline}' is the only algorithm of its intended use.",
            "Only equal uses are compared: take another baseline, or declare the same "
            "'intended_use' and 'intended_types' where they are the same.",
        )
    return {
        rule: {name: one for name, one in of_rule.items() if name in own.algorithms}
        for rule, of_rule in cohorts.items()
    }


def use_notices(
    cohorts: Cohorts, groups: tuple[UseGroup, ...], choice: ComparisonChoice
) -> Iterator[Notice]:
    """Word of algorithms that are left out because they are meant for something else."""
    compared = {name for of_rule in cohorts.values() for name in of_rule}
    others = [name for one in groups for name in one.algorithms if name not in compared]
    if others and choice.is_within_use:
        yield Notice("other_uses", {"count": len(others), "algorithms": ", ".join(others)})


def checked_bootstraps(cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice) -> int:
    """Refuse what cannot be compared; the number of bootstraps."""
    algorithms = list(dict.fromkeys(name for of_rule in cohorts.values() for name in of_rule))
    if choice.baseline not in algorithms:
        raise UnknownNameError(
            f"there is no algorithm '{choice.baseline}'. Known: {', '.join(algorithms)}."
        )
    for name in choice.figures:
        _ = FIGURES[name]  # an unknown name suggests near ones
    problems = []
    if len(algorithms) < 2:
        problems.append(
            Problem(
                "comparison",
                f"'{choice.baseline}' is the only algorithm.",
                "Evaluate several submissions together.",
            )
        )
    bootstraps = choice.bootstraps
    if bootstraps is None:
        bootstraps = protocol.interval.bootstraps
        if bootstraps and choice.margin is not None and choice.method == "guarded":
            bootstraps = max(bootstraps, VERDICT_REPLICATES)
    if bootstraps < 2:
        problems.append(
            Problem(
                "comparison",
                f"{bootstraps} resamples give no interval.",
                "Give a number of bootstraps, such as 2000.",
            )
        )
    if choice.margin is not None and not choice.margin > 0:
        problems.append(
            Problem(
                "margin", f"{choice.margin:g} is not positive.", "Give the largest loss allowed."
            )
        )
    if problems:
        raise InputError(problems)
    return bootstraps


def resolution_notices(cohorts: Cohorts, bootstraps: int, level: float) -> Iterator[Notice]:
    """Word of resamples too few for any adjusted P value to become small.

    No share of B resamples is below 1 / (B + 1), so no two-sided P value is below 2 / (B + 1).
    """
    algorithms = len({name for of_rule in cohorts.values() for name in of_rule})
    family = max((algorithms - 1) * len(cohorts), algorithms * (algorithms - 1) // 2)
    smallest, alpha = 2 / (bootstraps + 1), 1 - level
    if family * smallest > alpha:
        yield Notice(
            "too_few_resamples",
            {
                "resamples": bootstraps,
                "family": family,
                "smallest": smallest,
                "enough": math.ceil(2 * family / alpha),
            },
        )


def target_notices(cohorts: Cohorts) -> Iterator[Notice]:
    """Word of algorithms that did not have the same nodules to find."""
    for rule, of_rule in cohorts.items():
        targets = {tuple(cohort.nodule_row.tolist()) for cohort in of_rule.values()}
        if len(targets) > 1:
            yield Notice("different_targets", {"rule": rule})
