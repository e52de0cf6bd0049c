"""Criteria as each stands alone -> what may be claimed of them together, family after family."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nodulebench.core.documents.records import PRIMARY
from nodulebench.core.notices import Notice
from nodulebench.core.plans import DEMANDS, CriterionOutcome
from nodulebench.statistics.multiplicity import gatekeeping


def by_family(outcomes: Sequence[CriterionOutcome], level: float) -> Iterator[CriterionOutcome]:
    """One algorithm's criteria with adjusted P values, those of further families as these allow.

    Args:
        outcomes: each criterion as it stands alone, in the order of the plan.
        level: confidence level of the two-sided intervals; claims are one-sided at half the rest.
    """
    families: dict[str, list[CriterionOutcome]] = {PRIMARY: []}
    for one in outcomes:
        families.setdefault(one.criterion.family, []).append(one)
    if len(families) == 1:
        yield from outcomes
        return
    alpha = (1 - level) / 2
    adjusted = gatekeeping(
        *([_p_value(one, alpha) for one in family] for family in families.values())
    )
    p_values = dict(zip(families, (iter(found.tolist()) for found in adjusted), strict=True))
    not_met = (name for name, found in zip(families, adjusted, strict=True) if max(found) > alpha)
    names, gate = list(families), next(not_met, None)
    for one in outcomes:
        family = one.criterion.family
        p_value = next(p_values[family])
        shown = replace(one, adjusted_p_value=None if one.p_value is None else p_value)
        if family == PRIMARY or one.is_met is None:
            yield shown
        elif gate is not None and names.index(gate) < names.index(family):
            yield replace(shown, is_met=None, reason=Notice("gate_closed", {"family": gate}))
        elif one.is_met and p_value > alpha:
            values = {"p_value": one.p_value, "adjusted": p_value, "alpha": alpha}
            yield replace(shown, is_met=False, reason=Notice("lost_by_adjustment", values))
        else:
            yield shown


def _p_value(one: CriterionOutcome, alpha: float) -> float:
    """The P value of a criterion; of one that has none, the largest that it can have."""
    if not one.is_met:
        return 1.0 if one.p_value is None else one.p_value
    if (one.criterion.bound, one.criterion.comparison) not in DEMANDS:
        return 0.0
    return alpha if one.p_value is None else one.p_value
