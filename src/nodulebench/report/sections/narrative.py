"""Document -> sentences: what the numbers say, in plain words, and no more than they say."""

from collections.abc import Iterator
from dataclasses import dataclass

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.results import Stratum
from nodulebench.i18n.numbers import (
    decimals,
    interval,
    percent,
    rate,
    significant,
    whole,
    with_interval,
)
from nodulebench.i18n.translator import Language
from nodulebench.report.sections.summary import leading_result

MOST_TOLD_SINGLY = 2
"""With more algorithms only the one that depends most on the rule is named."""
RANKED_STRATA = ("type", "size", "density")


def paragraphs(document: Document, say: Language) -> list[str]:
    """What the numbers say beyond the answer, one thought a paragraph."""
    told = [*_not_judged(document, say), *_where_read(document, say), *_rules(document, say)]
    told += [text for one in RANKED_STRATA for text in _hardest(document, one, say)]
    return told


def _not_judged(document: Document, say: Language) -> Iterator[str]:
    for algorithm in document.algorithms:
        if leading_result(document, algorithm) is None:
            reasons = {say.message(one.undefined) for one in algorithm.rules.values()}
            yield say("told.no_rule", name=algorithm.name, reasons="; ".join(sorted(reasons)))


def _where_read(document: Document, say: Language) -> Iterator[str]:
    """For one algorithm: the operating point at which all that no curve gives was read."""
    if len(document.algorithms) > 1:
        return
    found = leading_result(document, document.algorithms[0])
    point = None if found is None else found[1].operating_point
    if point is not None:
        told = [
            say("told.at_declared")
            if point.fp_per_case is None
            else say("told.at_point", rate=rate(point.fp_per_case))
        ]
        if point.threshold is not None:
            told.append(say("told.threshold", threshold=significant(point.threshold)))
        yield say("list.sentence").join(told)


def _rules(document: Document, say: Language) -> Iterator[str]:
    """Which rule gives the highest and which the lowest recall, and the relative differences."""
    algorithms = document.algorithms
    for algorithm in algorithms if len(algorithms) <= MOST_TOLD_SINGLY else ():
        recall = {
            rule: value
            for rule, result in algorithm.rules.items()
            if (value := result.value("recall")) is not None
        }
        if len(recall) < 2:
            continue
        name, high, low = algorithm.name, max(recall.values()), min(recall.values())
        if high == low:
            yield say("told.rule_free", name=name, recall=decimals(high))
            continue
        highest, lowest = (
            say.joined(say.word(rule) for rule, value in recall.items() if value == extreme)
            for extreme in (high, low)
        )
        yield say(
            "told.rule_matters",
            name=name,
            highest=highest,
            high=decimals(high),
            lowest=lowest,
            low=decimals(low),
            relative=_relative(document, algorithm, say),
        )
    yield from _outlier(document, say)


def _relative(document: Document, algorithm: AlgorithmSummary, say: Language) -> str:
    base = document.baseline_rule
    told = [
        say(
            "told.rule_gives",
            rule=say.word(item.rule),
            change=_more_or_fewer(item.relative_difference, say),
        )
        for item in algorithm.rule_differences
        if item.base_rule == base and item.relative_difference is not None
    ]
    return say("told.against", base=say.word(base), told=say.joined(told)) if told else ""


def _more_or_fewer(relative: float | None, say: Language) -> str:
    if not relative:
        return say("told.as_many")
    share = decimals(100 * abs(relative), 1)
    return say("told.more" if relative > 0 else "told.fewer", share=share)


def _outlier(document: Document, say: Language) -> Iterator[str]:
    """With many algorithms: the one whose hits depend most on the rule."""
    if len(document.algorithms) <= MOST_TOLD_SINGLY:
        return
    found = [
        (algorithm.name, item)
        for algorithm in document.algorithms
        for item in algorithm.rule_differences
        if item.base_rule == document.baseline_rule and item.relative_difference
    ]
    most = max((abs(item.relative_difference or 0.0) for _, item in found), default=0.0)
    extreme = [pair for pair in found if abs(pair[1].relative_difference or 0.0) == most]
    if len(extreme) == 1:
        name, item = extreme[0]
        yield say(
            "told.outlier",
            name=name,
            rule=say.word(item.rule),
            change=_more_or_fewer(item.relative_difference, say),
            base=say.word(item.base_rule),
        )


@dataclass(frozen=True, slots=True)
class Hardest:
    """Which stratum of a division is missed most often, over the algorithms that can be ranked."""

    worst: str
    """Missed more often than every other by most algorithms."""
    by: tuple[str, ...]
    """Those algorithms."""
    ranked: int
    """Algorithms for which at least two strata have enough nodules."""
    left_out: tuple[str, ...]
    """Strata with too few nodules to be ranked."""


def hardest(document: Document, division: str) -> Hardest | None:
    """The stratum that more than half of the algorithms miss most often; None without one.

    Where two strata of an algorithm are missed equally often, neither is missed most often.
    """
    worst: dict[str, list[str]] = {}
    left_out: dict[str, None] = {}
    ranked = 0
    for algorithm in document.algorithms:
        found = leading_result(document, algorithm)
        strata = {} if found is None else found[1].strata.get(division, {})
        left_out |= {name: None for name, one in strata.items() if one.is_too_few and one.nodules}
        rates = {
            name: one.miss_rate.value
            for name, one in strata.items()
            if not one.is_too_few and one.miss_rate.value is not None
        }
        if len(rates) > 1:
            ranked += 1
            names = [name for name, rate in rates.items() if rate == max(rates.values())]
            if len(names) == 1:
                worst.setdefault(names[0], []).append(algorithm.name)
    if not worst:
        return None
    name, by = max(worst.items(), key=lambda item: len(item[1]))
    if 2 * len(by) <= ranked:
        return None
    return Hardest(name, tuple(by), ranked, tuple(left_out))


def _hardest(document: Document, division: str, say: Language) -> Iterator[str]:
    """The stratum missed most often, and which were too small to be ranked."""
    found = hardest(document, division)
    if found is None:
        return
    left_out = say(
        "told.left_out",
        minimum=document.protocol.minimum_stratum,
        names=say.listed(map(say.word, found.left_out)),
    )
    if len(document.algorithms) == 1:
        (algorithm,) = document.algorithms
        leading = leading_result(document, algorithm)
        assert leading is not None  # noqa: S101 - it was ranked
        missed = _misses(leading[1].strata[division][found.worst], say)
        by = say("told.with_misses", misses=missed)
    elif len(found.by) == len(document.algorithms):
        by = say("told.by_all")
    else:
        by = say("told.by_some", some=len(found.by), all=found.ranked)
    yield say(
        "told.hardest",
        division=say.word(division),
        worst=say.word(found.worst),
        by=by,
        left_out=left_out if found.left_out else "",
    )


def _misses(stratum: Stratum, say: Language) -> str:
    return say(
        "told.misses",
        missed=whole(stratum.missed),
        nodules=whole(stratum.nodules),
        rate=with_interval(stratum.miss_rate),
    )


def about_intervals(document: Document, say: Language) -> str:
    """What an interval means, once."""
    estimates = [
        figure
        for _, _, result in document.results
        for figure in result.single_figures.values()
        if interval(figure)
    ]
    if not estimates:
        return say("told.no_intervals")
    choice = document.protocol.interval
    return say("told.intervals", level=percent(choice.level), unit=say.word(choice.unit))
