"""Document -> sentences: what the numbers say, in plain words, and no more than they say."""

from collections import Counter
from collections.abc import Iterator

from nodulebench.language import Language
from nodulebench.language.numbers import (
    decimals,
    interval,
    percent,
    percent_of,
    rate,
    significant,
    whole,
    with_interval,
)
from nodulebench.model.documents.evaluation import Document
from nodulebench.model.documents.summaries import AlgorithmSummary, RuleSummary
from nodulebench.model.results import Estimate, Stratum
from nodulebench.report.sections.comparison.groups import group_values, hardest_types

MOST_TOLD_SINGLY = 4
"""With more algorithms only the extremes are named."""
LEAST_GROUP = 3
"""From so many algorithms on they are also told as a group."""
RANKED_STRATA = ("type", "size", "density")


def paragraphs(document: Document, say: Language) -> list[str]:
    """What the report says first, one thought a paragraph."""
    told = list(_performance(document, say))
    told.append(say("list.sentence").join(_group(document, say)))
    told += _rules(document, say)
    told.append(
        say("list.sentence").join(
            text for one in RANKED_STRATA for text in _hardest(document, one, say)
        )
    )
    told.append(say("list.sentence").join(_hardest_by_size(document, say)))
    told += _intervals(document, say)
    return [text for text in told if text]


def leading_result(
    document: Document, algorithm: AlgorithmSummary
) -> tuple[str, RuleSummary] | None:
    """An algorithm's result under the baseline rule, or under the first that could be applied."""
    base = document.baseline_rule
    order = sorted(algorithm.rules, key=lambda rule: rule != base)
    return next(
        ((rule, algorithm.rules[rule]) for rule in order if not algorithm.rules[rule].undefined),
        None,
    )


def _performance(document: Document, say: Language) -> Iterator[str]:
    algorithms = document.algorithms
    for algorithm in algorithms:
        if leading_result(document, algorithm) is None:
            reasons = {say.message(one.undefined) for one in algorithm.rules.values()}
            yield say("told.no_rule", name=algorithm.name, reasons="; ".join(sorted(reasons)))
    if len(algorithms) <= MOST_TOLD_SINGLY:
        for algorithm in algorithms:
            yield say("list.sentence").join(_one_performance(document, algorithm, say))
    if len(algorithms) > 1:
        yield say("list.sentence").join(_extremes(document, say))


def _one_performance(
    document: Document, algorithm: AlgorithmSummary, say: Language
) -> Iterator[str]:
    found = leading_result(document, algorithm)
    if found is None:
        return
    rule, result = found
    counts = result.counts
    recall, falses = _defined(result, "recall"), _defined(result, "fp_per_case")
    told = say("told.recall", recall=with_interval(recall)) if recall else ""
    if told and falses:
        told += say("told.false_positives", rate=decimals(falses.value))
    yield say(
        "told.performance",
        name=algorithm.name,
        hit=whole(counts["hit"]),
        nodules=whole(counts["nodules"]),
        cases=whole(counts["cases"]),
        rule=say.word(rule),
        recall=told,
    )
    if result.operating_point is not None:
        point = result.operating_point
        yield say("told.at_point", rate=rate(point.fp_per_case))
        if point.threshold is not None:
            yield say("told.threshold", threshold=significant(point.threshold))
    cpm, points = _defined(result, "cpm"), document.protocol.operating_points
    if cpm is not None:
        at_one = _defined(result, "sensitivity_at_fp_rate/1")
        yield say(
            "told.cpm",
            low=rate(min(points)),
            high=rate(max(points)),
            cpm=with_interval(cpm),
            at_one=say("told.at_one", value=with_interval(at_one)) if at_one else "",
        )


def _extremes(document: Document, say: Language) -> Iterator[str]:
    """The highest and the lowest algorithm by the first figure that all have."""
    for name in ("cpm", "recall"):
        found = [
            (algorithm.name, figure)
            for algorithm in document.algorithms
            if (leading := leading_result(document, algorithm)) is not None
            and (figure := _defined(leading[1], name)) is not None
        ]
        if len(found) < 2:
            continue
        found.sort(key=lambda item: item[1].value or 0.0)
        (low_name, low), (high_name, high) = found[0], found[-1]
        title = say.figure(name).title
        if low.value == high.value:
            yield say("told.all_same", figure=title, value=decimals(low.value))
            return
        yield say(
            "told.extremes",
            figure=title,
            best=high_name,
            high=with_interval(high),
            worst=low_name,
            low=with_interval(low),
        )
        if low.high is None or high.low is None or document.comparisons:
            return
        if low.high >= high.low:
            yield say("told.overlap")
        return


def _group(document: Document, say: Language) -> Iterator[str]:
    """Mean ± SD over the algorithms under each rule, and the rules with the extremes."""
    if len(document.algorithms) < LEAST_GROUP:
        return
    for figure in ("recall", "precision", f"f{document.protocol.beta:g}"):
        found = {
            rule: group
            for rule in document.rules
            if (group := group_values(document, rule, figure)) is not None
        }
        if not found:
            continue
        told = say.joined(
            say("told.group_rule", rule=say.word(rule), value=f"{percent_of(group.mean, group.sd)}")
            for rule, group in found.items()
        )
        count = max(len(group.values) for group in found.values())
        yield say(
            "told.group", count=count, figure=_in_sentence(say.figure(figure).title), rules=told
        )


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
        high, low = (
            max(recall, key=lambda rule: recall[rule]),
            min(recall, key=lambda rule: recall[rule]),
        )
        name = algorithm.name
        if recall[high] == recall[low]:
            yield say("told.rule_free", name=name, recall=decimals(recall[high]))
            continue
        yield say(
            "told.rule_matters",
            name=name,
            highest=say.word(high),
            high=decimals(recall[high]),
            lowest=say.word(low),
            low=decimals(recall[low]),
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
    if len(document.algorithms) < LEAST_GROUP:
        return
    found = [
        (algorithm.name, item)
        for algorithm in document.algorithms
        for item in algorithm.rule_differences
        if item.base_rule == document.baseline_rule and item.relative_difference
    ]
    if found:
        name, item = max(found, key=lambda pair: abs(pair[1].relative_difference or 0.0))
        yield say(
            "told.outlier",
            name=name,
            rule=say.word(item.rule),
            change=_more_or_fewer(item.relative_difference, say),
            base=say.word(item.base_rule),
        )


def _hardest(document: Document, division: str, say: Language) -> Iterator[str]:
    """The strata missed most and least often; strata with too few nodules are not ranked."""
    ranked = {}
    for algorithm in document.algorithms:
        found = leading_result(document, algorithm)
        strata = {} if found is None else found[1].strata.get(division, {})
        usable = {
            name: one
            for name, one in strata.items()
            if not one.is_too_few and one.miss_rate.value is not None
        }
        if len(usable) > 1:
            ranked[algorithm.name] = sorted(
                usable.items(), key=lambda item: -(item[1].miss_rate.value or 0.0)
            )
    if len(ranked) == 1:
        ((name, order),) = ranked.items()
        (worst, most), (best, least) = order[0], order[-1]
        yield say(
            "told.missed_most",
            name=say("told.it") if len(document.algorithms) == 1 else name,
            division=say.word(division),
            worst=say.word(worst),
            most=_misses(most, say),
            best=say.word(best),
            least=_misses(least, say),
        )
        if (most.miss_rate.low or 0.0) <= (least.miss_rate.high or 0.0):
            yield say("told.two_overlap")
    elif ranked:
        worst, times = Counter(order[0][0] for order in ranked.values()).most_common(1)[0]
        is_all = times == len(ranked)
        by = say("told.by_all") if is_all else say("told.by_some", some=times, all=len(ranked))
        yield say("told.hardest", division=say.word(division), worst=say.word(worst), by=by)


def _misses(stratum: Stratum, say: Language) -> str:
    return say(
        "told.misses",
        missed=whole(stratum.missed),
        nodules=whole(stratum.nodules),
        rate=with_interval(stratum.miss_rate),
    )


def _hardest_by_size(document: Document, say: Language) -> Iterator[str]:
    """For a group of algorithms: which type is missed most often within each size."""
    count = len(document.algorithms)
    if count < LEAST_GROUP:
        return
    for size, winners in hardest_types(document, document.baseline_rule).items():
        if not winners.total():
            continue
        worst, times = winners.most_common(1)[0]
        key = "told.hardest_of_size_all" if times == count else "told.hardest_of_size"
        yield say(key, size=size, worst=say.word(worst), some=times, all=count)


def _intervals(document: Document, say: Language) -> Iterator[str]:
    """What an interval means, once."""
    estimates = [
        figure
        for _, _, result in document.results
        for figure in result.single_figures.values()
        if interval(figure)
    ]
    if not estimates:
        yield say("told.no_intervals")
        return
    choice = document.protocol.interval
    yield say("told.intervals", level=percent(choice.level), unit=say.word(choice.unit))


def _in_sentence(title: str) -> str:
    """A title within a sentence: "Recall" -> "recall", but "F1" stays."""
    return title.lower() if title.isalpha() else title


def _defined(result: RuleSummary, name: str) -> Estimate | None:
    found = result.figure(name)
    return None if found is None or found.value is None else found
