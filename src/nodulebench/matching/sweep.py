"""One submission labelled again and again -> how the counts depend on a choice of the protocol."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, IGNORED, NO_NODULE, Labels
from nodulebench.core.errors import UndefinedError
from nodulebench.core.protocol import RuleChoice, SizeLimit, TestProtocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.matching.labelling import label_marks, match_marks, targets
from nodulebench.matching.size_tolerance import is_large, limit_sizes


def sweep_parameter(
    reference: Reference,
    submission: Submission,
    protocol: TestProtocol,
    rule: RuleChoice,
    parameter: str,
    values: Sequence[float],
) -> pl.DataFrame:
    """Counts under a rule for each value of one of its parameters.

    Returns:
        A table with the parameter's value, nodules hit and missed, and false positive, duplicate
        and ignored marks.
    """
    nodules = int(np.count_nonzero(targets(reference, submission, protocol)))
    rows = []
    for value in values:
        choice = RuleChoice(name=rule.name, parameters={**rule.parameters, parameter: value})
        labels = label_marks(reference, submission, protocol, choice)
        rows.append(
            {
                parameter: float(value),
                "hit": labels.count(HIT),
                "missed": nodules - labels.count(HIT),
                "false_positive": labels.count(FALSE_POSITIVE),
                "duplicate": labels.count(DUPLICATE),
                "ignored": labels.count(IGNORED),
            }
        )
    return pl.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class SizeSweep:
    """The effect of the tolerance for size error (Fotin 2008)."""

    table: pl.DataFrame
    """tolerance_mm; nodules hit, missed and of these underestimated (fn_ue); false positives and
    of these overestimates (fp_oe)."""
    labels: tuple[Labels, ...]
    """The labels under each tolerance, for curves."""
    hits_settle_mm: float
    """The smallest tolerance beyond which the number of hits no longer changes."""
    false_positives_settle_mm: float
    """Likewise for the number of false positives."""


def sweep_size_tolerance(
    reference: Reference,
    submission: Submission,
    protocol: TestProtocol,
    rule: RuleChoice,
    tolerances_mm: Sequence[float] | None = None,
) -> SizeSweep:
    """Match once, then apply the size limit with each tolerance.

    Infinity is allowed; without tolerances those of the protocol's sweep are used.
    """
    limit = protocol.size_limit
    if limit is None:
        raise UndefinedError("no_size_limit", protocol=protocol.name)
    matched = match_marks(reference, submission, protocol, rule)

    def limited(tolerance_mm: float) -> Labels:
        changed = limit.model_copy(update={"tolerance_mm": tolerance_mm})
        return limit_sizes(matched, reference, submission, changed)

    tolerances = limit.sweep_mm if tolerances_mm is None else tuple(tolerances_mm)
    labels = tuple(limited(tolerance) for tolerance in tolerances)
    nodules = int(np.count_nonzero(targets(reference, submission, protocol)))
    steps = _steps_mm(matched, reference, submission, limit)
    return SizeSweep(
        table=pl.DataFrame(
            {
                "tolerance_mm": float(tolerance),
                "hit": label.count(HIT),
                "missed": nodules - label.count(HIT),
                "fn_ue": len(label.underestimated),
                "false_positive": label.count(FALSE_POSITIVE),
                "fp_oe": len(label.overestimated),
            }
            for tolerance, label in zip(tolerances, labels, strict=True)
        ),
        labels=labels,
        hits_settle_mm=_settles(steps, lambda tolerance: limited(tolerance).count(HIT)),
        false_positives_settle_mm=_settles(
            steps, lambda tolerance: limited(tolerance).count(FALSE_POSITIVE)
        ),
    )


def _steps_mm(
    matched: Labels, reference: Reference, submission: Submission, limit: SizeLimit
) -> FloatArray:
    """The tolerances at which a label can change, rising, with 0 first."""
    is_on_nodule = matched.nodule != NO_NODULE
    c = submission.marks["diameter_mm"].to_numpy()[matched.mark[is_on_nodule]]
    x = reference.nodules["diameter_mm"].to_numpy()[matched.nodule[is_on_nodule]]
    below, above = limit.minimum_mm - c, c - limit.minimum_mm
    large = is_large(x, limit)
    steps = [below[large & (below > 0)], above[~large & (above > 0)]]
    if limit.reading == "strict_truth":
        steps.append(limit.minimum_mm - x[~large & (above >= 0)])
    return np.unique(np.round(np.concatenate([[0.0], *steps]), 6))


def _settles(steps: FloatArray, count: Callable[[float], int]) -> float:
    """The last step at which the count changes, 0 if it never does.

    The count is constant between steps, so one value between each two suffices; the last step is
    searched from above, because it is usually there.
    """
    final = count(np.inf)
    for below, step in zip(steps[-2::-1], steps[:0:-1], strict=True):
        if count((below + step) / 2) != final or count(step) != final:
            return float(step)
    return 0.0
