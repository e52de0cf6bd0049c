"""Document -> what a group of algorithms shows together: means ± SD, the types missed most."""

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, stdev

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import CrossedCount, RuleSummary

CROSSED = "misses_by_type_and_size"
"""The extra of a result that counts nodules and misses by type and size."""
NOT_JUDGED = RuleSummary()


@dataclass(frozen=True, slots=True)
class Group:
    """One figure of several algorithms."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the algorithms."""
        return fmean(self.values)

    @property
    def sd(self) -> float:
        """The sample standard deviation (n - 1) over the algorithms."""
        return stdev(self.values)

    @property
    def reach(self) -> tuple[float, float]:
        """One standard deviation to both sides of the mean, not below 0."""
        return max(0.0, self.mean - self.sd), self.mean + self.sd


def group_values(document: Document, rule: str, figure: str) -> Group | None:
    """A figure of all algorithms under one rule; None where fewer than two have it."""
    found = {
        algorithm.name: value
        for algorithm in document.algorithms
        if (result := algorithm.rules.get(rule)) is not None
        and (value := result.value(figure)) is not None
    }
    return Group(tuple(found), tuple(found.values())) if len(found) > 1 else None


def group_miss_rates(document: Document, rule: str, division: str) -> dict[str, Group]:
    """The miss rates of all algorithms by stratum, where at least two algorithms have one.

    Strata with too few nodules are left out.
    """
    found: dict[str, dict[str, float]] = {}
    for algorithm in document.algorithms:
        strata = algorithm.rules.get(rule, NOT_JUDGED).strata.get(division, {})
        for stratum, one in strata.items():
            if not one.is_too_few and one.miss_rate.value is not None:
                found.setdefault(stratum, {})[algorithm.name] = one.miss_rate.value
    return {
        stratum: Group(tuple(rates), tuple(rates.values()))
        for stratum, rates in found.items()
        if len(rates) > 1
    }


def crossed_counts(document: Document, rule: str) -> dict[str, list[CrossedCount]]:
    """By algorithm: nodules and misses by type and size, where the evaluation has them."""
    return {
        algorithm.name: rows
        for algorithm in document.algorithms
        if (rows := algorithm.rules.get(rule, NOT_JUDGED).extras.get("misses_by_type_and_size"))
    }


def hardest_types(document: Document, rule: str) -> dict[str, Counter[str]]:
    """For each size: how many algorithms miss each type most often there.

    One type wins for each algorithm and size: the highest miss rate, then the larger number of
    misses, then the order of the list. Types without nodules of that size cannot win, and an
    algorithm that misses none there has no winner.
    """
    winners: dict[str, Counter[str]] = {}
    for rows in crossed_counts(document, rule).values():
        for size in dict.fromkeys(row["size"] for row in rows):
            winners.setdefault(size, Counter())
            found = _hardest([row for row in rows if row["size"] == size])
            if found is not None:
                winners[size][found[0]] += 1
    return winners


def tied_types(document: Document, rule: str) -> dict[str, list[str]]:
    """For each size the algorithms for which the highest miss rate is shared by two types."""
    tied: dict[str, list[str]] = {}
    for name, rows in crossed_counts(document, rule).items():
        for size in dict.fromkeys(row["size"] for row in rows):
            found = _hardest([row for row in rows if row["size"] == size])
            if found is not None and found[1]:
                tied.setdefault(size, []).append(name)
    return tied


def _hardest(rows: list[CrossedCount]) -> tuple[str, bool] | None:
    """The type with the highest miss rate, and whether another type has the same rate."""
    having = [row for row in rows if row["nodules"] and row["missed"]]
    if not having:
        return None
    best = max(having, key=lambda row: (row["missed"] / row["nodules"], row["missed"]))
    highest = best["missed"] * 1.0 / best["nodules"]
    return best["type"], sum(row["missed"] / row["nodules"] == highest for row in having) > 1
