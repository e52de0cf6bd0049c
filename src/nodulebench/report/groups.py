"""Document -> what a group of algorithms shows together: means ± SD, the types missed most."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from statistics import fmean, stdev

import numpy as np

from nodulebench.core.documents.comparison import PairOfRules
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import CrossedCount, RuleSummary
from nodulebench.i18n.numbers import decimals, percent_of, signed_percent
from nodulebench.i18n.translator import Translator
from nodulebench.report.charts import (
    Bars,
    Bracket,
    Chart,
    Column,
    Value,
    box_plot,
    column_chart,
    heat_map,
    row_chart,
)
from nodulebench.report.pages.svg import Axis, Dot, Fill, few_ticks

CROSSED = "misses_by_type_and_size"
"""The extra of a result that counts nodules and misses by type and size."""
NOT_SCORED = RuleSummary()


@dataclass(frozen=True, slots=True)
class Group:
    """One metric of several algorithms."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def sd(self) -> float:
        """The sample standard deviation (n - 1) over the algorithms."""
        return stdev(self.values)

    @property
    def reach(self) -> tuple[float, float]:
        """One standard deviation to both sides of the mean, not below 0."""
        return max(0.0, self.mean - self.sd), self.mean + self.sd


def group_values(document: Document, rule: str, metric: str) -> Group | None:
    """A metric of all algorithms under one rule; None where fewer than two have it."""
    values = {
        algorithm.name: value
        for algorithm in document.algorithms
        if (result := algorithm.rules.get(rule)) is not None
        and (value := result.value(metric)) is not None
    }
    return Group(tuple(values), tuple(values.values())) if len(values) > 1 else None


def group_miss_rates(document: Document, rule: str, division: str) -> dict[str, Group]:
    """The miss rates of all algorithms by stratum, where at least two algorithms have one.

    Strata with too few nodules are left out.
    """
    by_stratum: dict[str, dict[str, float]] = {}
    for algorithm in document.algorithms:
        strata = algorithm.rules.get(rule, NOT_SCORED).strata.get(division, {})
        for stratum, result in strata.items():
            if not result.is_too_few and result.miss_rate.value is not None:
                by_stratum.setdefault(stratum, {})[algorithm.name] = result.miss_rate.value
    return {
        stratum: Group(tuple(rates), tuple(rates.values()))
        for stratum, rates in by_stratum.items()
        if len(rates) > 1
    }


def crossed_counts(document: Document, rule: str) -> dict[str, list[CrossedCount]]:
    """By algorithm: nodules and misses by type and size, where the evaluation has them."""
    return {
        algorithm.name: rows
        for algorithm in document.algorithms
        if (rows := algorithm.rules.get(rule, NOT_SCORED).extras.get("misses_by_type_and_size"))
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
            hardest = _hardest([row for row in rows if row["size"] == size])
            if hardest is not None:
                winners[size][hardest[0]] += 1
    return winners


def tied_types(document: Document, rule: str) -> dict[str, list[str]]:
    """For each size the algorithms for which the highest miss rate is shared by two types."""
    tied: dict[str, list[str]] = {}
    for name, rows in crossed_counts(document, rule).items():
        for size in dict.fromkeys(row["size"] for row in rows):
            hardest = _hardest([row for row in rows if row["size"] == size])
            if hardest is not None and hardest[1]:
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


FEWEST = 3
"""With fewer algorithms a mean and a standard deviation say nothing."""
HEADROOM = 0.08
"""Space for the number above the highest whisker."""
PERCENTS = tuple((n / 5, f"{20 * n}") for n in range(6))


def group_metrics(document: Document) -> list[str]:
    return ["recall", "precision", f"f{document.protocol.beta:g}"]


def mean_chart(document: Document, translate: Translator) -> Chart | None:
    """Columns of mean ± SD over the algorithms: metrics by rule (NIFDC 2022, figure 3)."""
    if len(document.algorithms) < FEWEST:
        return None
    metrics, rules = group_metrics(document), document.rules
    groups = [[group_values(document, rule, metric) for rule in rules] for metric in metrics]
    shown = [(metric, line) for metric, line in zip(metrics, groups, strict=True) if any(line)]
    if not shown:
        return None
    columns = [
        [
            None
            if group is None
            else Column(group.mean, *group.reach, decimals(100 * group.mean, 1))
            for group in line
        ]
        for _, line in shown
    ]
    top = max(column.high for line in columns for column in line if column is not None)
    names = [translate.metric(metric).title for metric, _ in shown]
    title = translate("group.means", count=len(document.algorithms))
    end = min(1.0, ceil(top * 5 + 0.2) / 5)
    axis = Axis(translate("axis.percent_sd"), 0.0, max(end, top + HEADROOM), _until(PERCENTS, end))
    return Chart(
        title,
        column_chart(names, columns, axis, title),
        tuple((translate.word(rule), Fill(number)) for number, rule in enumerate(rules)),
        (translate("group.means_remark"),),
    )


def box_charts(
    document: Document, effects: Mapping[str, Sequence[PairOfRules]], translate: Translator
) -> list[Chart]:
    """Box plots of each metric by rule, with marks of significance (NIFDC 2022, figure 4)."""
    charts = []
    for metric in group_metrics(document):
        groups = {
            rule: group
            for rule in document.rules
            if (group := group_values(document, rule, metric)) is not None
        }
        if len(groups) < 2:
            continue
        rules = list(groups)
        brackets = [
            Bracket(rules.index(pair.first), rules.index(pair.second), pair.unpaired_t.mark)
            for pair in effects.get(metric, ())
            if pair.first in rules and pair.second in rules and pair.unpaired_t is not None
        ]
        values = np.concatenate([group.values for group in groups.values()])
        low = floor(values.min() * 10 - 0.2) / 10
        high = ceil(values.max() * 10 + 0.2) / 10
        ticks = tuple((n / 10, f"{10 * n}") for n in range(11) if low <= n / 10 <= high + 1e-9)
        axis = Axis(translate("axis.percent"), max(0.0, low), min(1.0, high), ticks)
        title = translate.metric(metric).title
        boxes = [(translate.word(rule), np.array(group.values)) for rule, group in groups.items()]
        described = translate("group.boxes", metric=title)
        drawn = box_plot(
            boxes,
            sorted(brackets, key=lambda bracket: abs(bracket.second - bracket.first)),
            axis,
            described,
        )
        charts.append(Chart(title, drawn, is_narrow=True))
    return charts


def difference_chart(document: Document, translate: Translator) -> Chart | None:
    """Relative difference in hits to the baseline rule, every algorithm (NIFDC 2022, figure 5)."""
    base = document.baseline_rule
    rules = document.rules
    rows = []
    for algorithm in document.algorithms:
        differences = {
            item.rule: item.relative_difference
            for item in algorithm.rule_differences
            if item.base_rule == base and item.relative_difference is not None
        }
        if differences:
            values = tuple(
                Value(
                    differences[rule],
                    text=signed_percent(differences[rule]),
                    kind=rules.index(rule),
                )
                for rule in rules
                if rule in differences
            )
            rows.append(Bars(algorithm.name, values))
    if len(rows) < 2:
        return None
    ends = [value.value for row in rows for value in row.values]
    low, high = min(*ends, -0.02), max(*ends, 0.02)
    margin = (high - low) / 20
    title = translate("group.differences", base=translate.word(base))
    low, high = low - margin, high + margin
    ticks = tuple((value / 100, text) for value, text in few_ticks(100 * low, 100 * high))
    axis = Axis(translate("axis.relative"), low, high, ticks)
    return Chart(
        title,
        row_chart(rows, axis, title, base=0.0),
        tuple((translate.word(rule), Dot(n)) for n, rule in enumerate(rules) if rule != base),
        (translate("group.differences_remark"),),
    )


def miss_rate_chart(document: Document, division: str, translate: Translator) -> Chart | None:
    """Mean miss rate ± SD over the algorithms by stratum (NIFDC 2022, figure 6)."""
    rule = document.baseline_rule
    groups = group_miss_rates(document, rule, division)
    if len(groups) < 2 or len(document.algorithms) < FEWEST:
        return None
    rows = [
        Bars(
            translate.word(stratum),
            (Value(group.mean, *group.reach, percent_of(group.mean, group.sd)),),
        )
        for stratum, group in groups.items()
    ]
    top = max(value.high or 0.0 for row in rows for value in row.values)
    end = min(1.0, ceil(top * 5 + 1e-9) / 5)
    named = translate.stratum(division)
    title = translate(
        "group.misses", division=named[:1].lower() + named[1:], rule=translate.word(rule)
    )
    axis = Axis(translate("axis.miss_rate_sd"), 0.0, max(end, top), _until(PERCENTS, end))
    return Chart(title, row_chart(rows, axis, title, base=0.0, has_bars=True))


def hardest_chart(document: Document, translate: Translator) -> Chart | None:
    """How many algorithms miss which type most often, by size (NIFDC 2022, figure 7)."""
    rule = document.baseline_rule
    crossed = crossed_counts(document, rule)
    if len(crossed) < 2:
        return None
    rows = next(iter(crossed.values()))
    types = list(dict.fromkeys(row["type"] for row in rows))
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    present = {
        (row["type"], row["size"])
        for counts in crossed.values()
        for row in counts
        if row["nodules"]
    }
    winners, tied = hardest_types(document, rule), tied_types(document, rule)
    counts = [
        [winners[size][type_] if (type_, size) in present else None for size in sizes]
        for type_ in types
    ]
    title = translate("group.hardest", rule=translate.word(rule))
    remarks = [translate("group.hardest_remark", count=len(crossed))]
    remarks += [
        translate("group.tied", size=size, names=translate.listed(tied[size]))
        for size in sizes
        if size in tied
    ]
    drawn = heat_map(
        [translate.word(type_) for type_ in types],
        sizes,
        counts,
        translate.stratum("size"),
        title,
        whole=len(crossed),
        flagged=[place for place, size in enumerate(sizes) if size in tied],
    )
    return Chart(title, drawn, remarks=tuple(remarks))


def _until(ticks: tuple[tuple[float, str], ...], end: float) -> tuple[tuple[float, str], ...]:
    return tuple(tick for tick in ticks if tick[0] <= end + 1e-9)
