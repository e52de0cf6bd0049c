"""Replicate values of algorithms -> a leaderboard that shows which algorithms are not separable."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.documents.comparison import Ranked
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.statistics.intervals import percentile_interval
from nodulebench.statistics.paired import Better, Comparison, Replicates, compare_all

TIE_RULE = Notice("tied_with_leader")


@dataclass(frozen=True, slots=True)
class Ranking:
    """A leaderboard with the stability of its order."""

    lines: tuple[Ranked, ...]
    """From the best down."""
    kendall_tau: Estimate
    """Mean of Kendall's tau-b between this order and the order in each replicate."""
    comparisons: tuple[Comparison, ...]
    tie_rule: Notice = TIE_RULE

    @property
    def from_best(self) -> dict[str, Comparison]:
        """Every algorithm but the first less the first."""
        best = self.lines[0].name
        pairs = [
            comparison.turned if comparison.algorithm == best else comparison
            for comparison in self.comparisons
        ]
        return {pair.algorithm: pair for pair in pairs if pair.baseline == best}


def rank_algorithms(
    replicates: Replicates,
    *,
    level: float = 0.95,
    better: Better = "higher",
    adjustment: str = "holm",
) -> Ranking:
    """Rank algorithms by a metric, with rank intervals and groups that are not separable."""
    if len(replicates.names) < 2:
        raise UndefinedError("ranking_too_few")
    if not np.isfinite(replicates.value).all():
        missing = [
            name
            for name, value in zip(replicates.names, replicates.value, strict=True)
            if not np.isfinite(value)
        ]
        raise UndefinedError("undefined_for", algorithms=missing)
    sign = 1.0 if better == "higher" else -1.0
    drawn = replicates.replicate[:, np.isfinite(replicates.replicate).all(axis=0)]
    if drawn.shape[1] < 2:
        raise UndefinedError("no_common_replicate")
    rank = ranks(sign * replicates.value[:, np.newaxis])[:, 0]
    rank_drawn = ranks(sign * drawn)
    tail = (1 - level) / 2
    low, high = np.quantile(rank_drawn, [tail, 1 - tail], axis=1, method="inverted_cdf")
    order = np.argsort(rank, kind="stable")
    comparisons = compare_all(replicates, level=level, better=better, adjustment=adjustment)
    group = _tie_groups([replicates.names[place] for place in order], comparisons, 1 - level)
    tau = kendall_tau(sign * replicates.value, sign * drawn)
    tau, method = tau[np.isfinite(tau)], Notice("kendall_tau")
    stability = Estimate(None, method=method, reason=Notice("algorithms_equal"))
    if len(tau):
        limits = percentile_interval(tau, level)
        stability = Estimate(float(tau.mean()), *limits, level, method)
    return Ranking(
        lines=tuple(
            Ranked(
                name=replicates.names[place],
                value=float(replicates.value[place]),
                rank=int(rank[place]),
                best_rank=int(low[place]),
                worst_rank=int(high[place]),
                share_first=float((rank_drawn[place] == 1).mean()),
                group=group[replicates.names[place]],
            )
            for place in order
        ),
        kendall_tau=stability,
        comparisons=comparisons,
    )


def ranks(goodness: FloatArray) -> IntArray:
    """Rank of each row in each column: 1 + how many rows are better."""
    descending = -np.sort(-goodness, axis=0)
    rank = np.empty(goodness.shape, dtype=np.int64)
    for row, values in enumerate(goodness):
        rank[row] = 1 + (descending > values).sum(axis=0)
    return rank


def kendall_tau(value: FloatArray, drawn: FloatArray) -> FloatArray:
    """Kendall's tau-b between one order and that of each column; NaN where either is all ties."""
    left, right = np.triu_indices(len(value), 1)
    order = np.sign(value[left] - value[right])
    orders = np.sign(drawn[left] - drawn[right])
    pairs = np.sqrt(np.count_nonzero(order) * np.count_nonzero(orders, axis=0))
    tau: FloatArray = np.full(drawn.shape[1], np.nan)
    np.divide(order @ orders, pairs, out=tau, where=pairs > 0)
    return tau


def _tie_groups(
    best_first: list[str], comparisons: tuple[Comparison, ...], alpha: float
) -> dict[str, int]:
    p_value = {
        frozenset((comparison.algorithm, comparison.baseline)): comparison.adjusted_p_value
        for comparison in comparisons
    }
    groups, leader, number = {}, best_first[0], 1
    for name in best_first:
        if name != leader and p_value[frozenset((leader, name))] < alpha:
            leader, number = name, number + 1
        groups[name] = number
    return groups
