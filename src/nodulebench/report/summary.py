"""Document -> the answer in a sentence: what was tested, how good it is, against whom, passed?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary, RuleSummary
from nodulebench.i18n.numbers import (
    decimals,
    interval,
    p_value,
    percent,
    rate,
    signed_interval,
    significant,
    whole,
    with_interval,
)
from nodulebench.i18n.translator import Translator
from nodulebench.report.result_tables import key_names

if TYPE_CHECKING:
    from nodulebench.core.documents.comparison import ComparisonDocument, DifferenceSummary


LEADING = ("cpm", "recall")
"""The metrics for the answer; the first that is defined is used."""
OUTCOMES = ("passed", "failed", "undecided")


def answer(document: Document, translate: Translator) -> list[str]:
    """The result in one or two sentences; with a plan its verdict comes first."""
    plan, algorithms, texts = document.plan, document.algorithms, []
    if plan is not None and len(algorithms) == 1:
        texts.append(translate(f"lead.{plan.verdict}", name=algorithms[0].name, plan=plan.name))
    elif plan is not None:
        for outcome in OUTCOMES:
            names = [name for name, verdict in plan.verdicts.items() if verdict == outcome]
            if names:
                joined = translate.joined(names)
                texts.append(translate(f"lead.{outcome}", name=joined, plan=plan.name))
    if len(algorithms) == 1:
        if leading := leading_result(document, algorithms[0]):
            texts.append(_performance(document, algorithms[0].name, leading[1], translate))
    elif document.comparisons and len(algorithms) == 2:
        texts += _difference(document, document.comparisons[0], translate)
    else:
        texts += _extremes(document, translate)
    return texts


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


def leading_rule(document: Document, comparison: "ComparisonDocument") -> str:
    rules = [difference.rule for difference in comparison.differences]
    base = document.baseline_rule
    return base if base in rules or not rules else str(rules[0])


def leading_metric(comparison: "ComparisonDocument", rule: str) -> str:
    names = [
        difference.name
        for difference in comparison.differences
        if difference.rule == rule and difference.difference.value is not None
    ]
    return next((name for name in (*LEADING, *names) if name in names), LEADING[-1])


def differences_of(
    comparison: "ComparisonDocument", rule: str, metric: str
) -> "list[DifferenceSummary]":
    """The differences of a metric under a rule that are defined."""
    return [
        difference
        for difference in comparison.differences
        if (difference.rule, difference.name) == (rule, metric)
        and difference.difference.value is not None
    ]


def is_clear(difference: "DifferenceSummary", comparison: "ComparisonDocument") -> bool:
    """Whether the interval excludes 0 and the P value, adjusted over all comparisons, is small."""
    low, high = difference.difference.low, difference.difference.high
    if low is None or high is None:
        return False
    return not low <= 0 <= high and bool(difference.holm <= 1 - comparison.level)


def _performance(document: Document, name: str, result: RuleSummary, translate: Translator) -> str:
    counts = result.counts
    tested = translate(
        "lead.tested",
        nodules=whole(counts["nodules"]),
        cases=whole(counts["cases"]),
        test_set=document.reference.name,
    )
    cpm, recall, falses = (
        metric if metric is not None and metric.value is not None else None
        for metric in map(result.metric, ("cpm", "recall", "fp_per_case"))
    )
    if cpm is not None:
        points = document.protocol.operating_points
        return translate(
            "lead.cpm",
            name=name,
            cpm=with_interval(cpm),
            low=rate(min(points)),
            high=rate(max(points)),
            tested=tested,
        )
    return translate(
        "lead.recall",
        name=name,
        hit=whole(counts["hit"]),
        nodules=whole(counts["nodules"]),
        recall=translate("narrative.recall", recall=with_interval(recall)) if recall else "",
        falses=translate("narrative.false_positives", rate=decimals(falses.value))
        if falses
        else "",
        tested=tested,
    )


def _difference(
    document: Document, comparison: "ComparisonDocument", translate: Translator
) -> Iterator[str]:
    rule = leading_rule(document, comparison)
    metric = leading_metric(comparison, rule)
    kinds = ("more", "fewer") if metric in LEADING else ("higher", "lower")
    for difference in differences_of(comparison, rule, metric):
        is_less = (difference.difference.value or 0.0) < 0
        kind = kinds[is_less] if is_clear(difference, comparison) else "alike"
        yield translate(
            f"lead.{kind}",
            name=difference.algorithm,
            baseline=comparison.baseline,
            metric=translate.metric(metric).title,
            difference=signed_interval(difference.difference),
            p=p_value(difference.p_value),
        )


def _extremes(document: Document, translate: Translator) -> Iterator[str]:
    """The best and the worst algorithm by the first metric that two algorithms have."""
    for name in LEADING:
        values_by_name = [
            (algorithm.name, metric)
            for algorithm in document.algorithms
            if (leading := leading_result(document, algorithm)) is not None
            and (metric := leading[1].metric(name)) is not None
            and metric.value is not None
        ]
        if len(values_by_name) < 2:
            continue
        values = [metric.value or 0.0 for _, metric in values_by_name]
        title, most, least = translate.metric(name).title, max(values), min(values)
        if most == least:
            yield translate("narrative.all_same", metric=title, value=decimals(most))
            return
        best, worst = (
            [pair for pair, value in zip(values_by_name, values, strict=True) if value == extreme]
            for extreme in (most, least)
        )
        yield translate(
            "narrative.extremes",
            metric=title,
            count=len(values_by_name),
            best=translate.joined(name for name, _ in best),
            high=with_interval(best[0][1]),
            worst=translate.joined(name for name, _ in worst),
            low=with_interval(worst[0][1]),
        )
        if not document.comparisons:
            yield translate("narrative.not_compared")
        return


MOST_NAMED = 3
"""With more algorithms the title says how many there are."""
METRICS_OF_ALL_MARKS = ("recall", "precision", "fp_per_case")


def facts(document: Document, translate: Translator) -> list[tuple[str, str]]:
    """What was tested, on what and how, for the top of the page."""
    reference = document.reference
    patients = reference.patients
    counts = [result.counts for _, _, result in document.results if not result.undefined]
    nodules = [count["nodules"] for count in counts] or [0]
    low, high = whole(min(nodules)), whole(max(nodules))
    rules = [translate.word(rule.name) for rule in document.protocol.rules]
    stated = {
        "test_set": reference.name,
        "cases": whole(reference.cases),
        "patients": "" if patients in (None, reference.cases) else whole(patients),
        "nodules": low if low == high else translate("span", low=low, high=high),
        "rule" if len(rules) == 1 else "rules": translate.listed(rules),
        "protocol": document.protocol.title or document.protocol.name,
    }
    return [(translate(f"fact.{name}"), fact) for name, fact in stated.items() if fact]


def headline(document: Document, translate: Translator) -> list[tuple[str, str, str, str]]:
    """Title, value, interval and meaning of the key metrics, for one algorithm under one rule."""
    if len(list(document.results)) != 1:
        return []
    leading = leading_result(document, document.algorithms[0])
    if leading is None:
        return []
    names = key_names(document)
    point = document.protocol.operating_point
    remark = translate("headline.all_marks") if "cpm" in names else ""
    if point is not None:
        remark = translate("headline.at_point", rate=rate(point))
    elif document.has_declared_points:
        remark = translate("headline.at_declared")
    return [
        (
            translate.metric(name).title,
            decimals(metric.value),
            interval(metric),
            translate.metric(name).meaning + (remark if name in METRICS_OF_ALL_MARKS else ""),
        )
        for name in names
        if (metric := leading[1].metric(name)) and metric.value is not None
    ]


MOST_LISTED = 2
"""With more algorithms only the one that depends most on the rule is named."""
RANKED_STRATA = ("type", "size", "density")


def paragraphs(document: Document, translate: Translator) -> list[str]:
    """What the numbers show in addition to the answer, one thought a paragraph."""
    texts, algorithms = [], document.algorithms
    for algorithm in algorithms:
        if leading_result(document, algorithm) is None:
            reasons = {translate.message(rule.undefined) for rule in algorithm.rules.values()}
            listed = "; ".join(sorted(reasons))
            texts.append(translate("narrative.no_rule", name=algorithm.name, reasons=listed))
    leading = leading_result(document, algorithms[0]) if len(algorithms) == 1 else None
    point = None if leading is None else leading[1].operating_point
    if point is not None:  # of the metrics that are not read from a curve
        sentences = [
            translate("narrative.at_declared")
            if point.fp_per_case is None
            else translate("narrative.at_point", rate=rate(point.fp_per_case))
        ]
        if point.threshold is not None:
            threshold = significant(point.threshold)
            sentences.append(translate("narrative.threshold", threshold=threshold))
        texts.append(translate.sentences(sentences))
    is_named = len(algorithms) <= MOST_LISTED
    texts += _rules(document, translate) if is_named else _outlier(document, translate)
    for division in RANKED_STRATA:
        ranked = hardest(document, division)
        if ranked is None:
            continue
        if leading is not None:
            stratum = leading[1].strata[division][ranked.worst]
            missed = translate(
                "narrative.misses",
                missed=whole(stratum.missed),
                nodules=whole(stratum.nodules),
                rate=with_interval(stratum.miss_rate),
            )
            by = translate("narrative.with_misses", misses=missed)
        elif len(ranked.by) == len(algorithms):
            by = translate("narrative.by_all")
        else:
            by = translate("narrative.by_some", some=len(ranked.by), all=ranked.ranked)
        left_out = translate(
            "narrative.left_out",
            minimum=document.protocol.minimum_stratum,
            names=translate.listed(map(translate.word, ranked.left_out)),
        )
        hardest_text = translate(
            "narrative.hardest",
            division=translate.word(division),
            worst=translate.word(ranked.worst),
            by=by,
            left_out=left_out if ranked.left_out else "",
        )
        texts.append(hardest_text)
    return texts


def _rules(document: Document, translate: Translator) -> Iterator[str]:
    """Which rule gives the highest and which the lowest recall, and the relative differences."""
    for algorithm in document.algorithms:
        recall = {
            rule: value
            for rule, result in algorithm.rules.items()
            if (value := result.value("recall")) is not None
        }
        if len(recall) < 2:
            continue
        name, high, low = algorithm.name, max(recall.values()), min(recall.values())
        if high == low:
            yield translate("narrative.rule_free", name=name, recall=decimals(high))
            continue
        highest, lowest = (
            translate.joined(
                translate.word(rule) for rule, value in recall.items() if value == extreme
            )
            for extreme in (high, low)
        )
        yield translate(
            "narrative.rule_matters",
            name=name,
            highest=highest,
            high=decimals(high),
            lowest=lowest,
            low=decimals(low),
            relative=_relative(document, algorithm, translate),
        )


def _relative(document: Document, algorithm: AlgorithmSummary, translate: Translator) -> str:
    base = document.baseline_rule
    changes = [
        translate(
            "narrative.rule_gives",
            rule=translate.word(item.rule),
            change=_more_or_fewer(item.relative_difference, translate),
        )
        for item in algorithm.rule_differences
        if item.base_rule == base and item.relative_difference is not None
    ]
    return (
        translate("narrative.against", base=translate.word(base), changes=translate.joined(changes))
        if changes
        else ""
    )


def _more_or_fewer(relative: float | None, translate: Translator) -> str:
    if not relative:
        return translate("narrative.as_many")
    share = decimals(100 * abs(relative), 1)
    return translate("narrative.more" if relative > 0 else "narrative.fewer", share=share)


def _outlier(document: Document, translate: Translator) -> Iterator[str]:
    """The algorithm whose hits depend most on the rule."""
    pairs = [
        (algorithm.name, item)
        for algorithm in document.algorithms
        for item in algorithm.rule_differences
        if item.base_rule == document.baseline_rule and item.relative_difference
    ]
    most = max((abs(item.relative_difference or 0.0) for _, item in pairs), default=0.0)
    extreme = [pair for pair in pairs if abs(pair[1].relative_difference or 0.0) == most]
    if len(extreme) == 1:
        name, item = extreme[0]
        yield translate(
            "narrative.outlier",
            name=name,
            rule=translate.word(item.rule),
            change=_more_or_fewer(item.relative_difference, translate),
            base=translate.word(item.base_rule),
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
        leading = leading_result(document, algorithm)
        strata = {} if leading is None else leading[1].strata.get(division, {})
        left_out |= {
            name: None for name, stratum in strata.items() if stratum.is_too_few and stratum.nodules
        }
        rates = {
            name: stratum.miss_rate.value
            for name, stratum in strata.items()
            if not stratum.is_too_few and stratum.miss_rate.value is not None
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


def about_intervals(document: Document, translate: Translator) -> str:
    estimates = [
        metric
        for _, _, result in document.results
        for metric in result.single_metrics.values()
        if interval(metric)
    ]
    if not estimates:
        return translate("narrative.no_intervals")
    choice = document.protocol.interval
    return translate(
        "narrative.intervals", level=percent(choice.level), unit=translate.word(choice.unit)
    )
