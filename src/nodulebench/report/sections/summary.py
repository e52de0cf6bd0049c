"""Document -> the answer in a sentence: what was tested, how good it is, against whom, passed?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary, RuleSummary
from nodulebench.core.results import Estimate
from nodulebench.i18n.numbers import (
    decimals,
    p_value,
    rate,
    signed_interval,
    whole,
    with_interval,
)
from nodulebench.i18n.translator import Language

if TYPE_CHECKING:
    from nodulebench.core.documents.comparison import ComparisonDocument, DifferenceSummary

LEADING = ("cpm", "recall")
"""The figures that an answer is given in: the first that is there."""
OUTCOMES = ("passed", "failed", "undecided")


def answer(document: Document, say: Language) -> list[str]:
    """What a reader wants to know, in one sentence or two; with a plan its verdict comes first."""
    return [*_verdicts(document, say), *_performance(document, say)]


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


def leading_rule(document: Document, found: "ComparisonDocument") -> str:
    """The rule under which a comparison is told."""
    rules = [one.rule for one in found.differences]
    base = document.baseline_rule
    return base if base in rules or not rules else str(rules[0])


def leading_figure(found: "ComparisonDocument", rule: str) -> str:
    """The figure in which a comparison is told."""
    names = [
        one.name
        for one in found.differences
        if one.rule == rule and one.difference.value is not None
    ]
    return next((name for name in (*LEADING, *names) if name in names), LEADING[-1])


def differences_of(
    found: "ComparisonDocument", rule: str, figure: str
) -> "list[DifferenceSummary]":
    """The differences of a figure under a rule that are defined."""
    return [
        one
        for one in found.differences
        if (one.rule, one.name) == (rule, figure) and one.difference.value is not None
    ]


def is_clear(one: "DifferenceSummary", found: "ComparisonDocument") -> bool:
    """Whether the interval excludes 0 and the P value, adjusted over all comparisons, is small."""
    low, high = one.difference.low, one.difference.high
    if low is None or high is None:
        return False
    return not low <= 0 <= high and bool(one.holm <= 1 - found.level)


def _verdicts(document: Document, say: Language) -> Iterator[str]:
    plan = document.plan
    if plan is None:
        return
    if len(document.algorithms) == 1:
        name = document.algorithms[0].name
        yield say(f"lead.{plan.verdict}", name=name, plan=plan.name)
        return
    for outcome in OUTCOMES:
        names = [name for name, one in plan.verdicts.items() if one == outcome]
        if names:
            yield say(f"lead.{outcome}", name=say.joined(names), plan=plan.name)


def _performance(document: Document, say: Language) -> Iterator[str]:
    algorithms = document.algorithms
    if len(algorithms) == 1:
        found = leading_result(document, algorithms[0])
        if found is not None:
            yield _alone(document, algorithms[0].name, found[1], say)
        return
    compared = document.comparisons[0] if document.comparisons else None
    if compared is not None and len(algorithms) == 2:
        yield from _difference(document, compared, say)
        return
    yield from _extremes(document, say)


def _alone(document: Document, name: str, result: RuleSummary, say: Language) -> str:
    counts = result.counts
    tested = say(
        "lead.tested",
        nodules=whole(counts["nodules"]),
        cases=whole(counts["cases"]),
        test_set=document.reference.name,
    )
    cpm = _defined(result, "cpm")
    if cpm is not None:
        points = document.protocol.operating_points
        return say(
            "lead.cpm",
            name=name,
            cpm=with_interval(cpm),
            low=rate(min(points)),
            high=rate(max(points)),
            tested=tested,
        )
    recall, falses = _defined(result, "recall"), _defined(result, "fp_per_case")
    return say(
        "lead.recall",
        name=name,
        hit=whole(counts["hit"]),
        nodules=whole(counts["nodules"]),
        recall=say("told.recall", recall=with_interval(recall)) if recall else "",
        falses=say("told.false_positives", rate=decimals(falses.value)) if falses else "",
        tested=tested,
    )


def _difference(document: Document, found: "ComparisonDocument", say: Language) -> Iterator[str]:
    """The one algorithm against the other."""
    rule = leading_rule(document, found)
    figure = leading_figure(found, rule)
    kinds = ("more", "fewer") if figure in LEADING else ("higher", "lower")
    for one in differences_of(found, rule, figure):
        is_less = (one.difference.value or 0.0) < 0
        kind = kinds[is_less] if is_clear(one, found) else "alike"
        yield say(
            f"lead.{kind}",
            name=one.algorithm,
            baseline=found.baseline,
            figure=say.figure(figure).title,
            difference=signed_interval(one.difference),
            p=p_value(one.p_value),
        )


def _extremes(document: Document, say: Language) -> Iterator[str]:
    """The highest and the lowest algorithm by the first figure that two have."""
    for name in LEADING:
        found = [
            (algorithm.name, figure)
            for algorithm in document.algorithms
            if (leading := leading_result(document, algorithm)) is not None
            and (figure := _defined(leading[1], name)) is not None
        ]
        if len(found) < 2:
            continue
        values = [one.value or 0.0 for _, one in found]
        title, most, least = say.figure(name).title, max(values), min(values)
        if most == least:
            yield say("told.all_same", figure=title, value=decimals(most))
            return
        best, worst = (
            [one for one, value in zip(found, values, strict=True) if value == extreme]
            for extreme in (most, least)
        )
        yield say(
            "told.extremes",
            figure=title,
            count=len(found),
            best=say.joined(name for name, _ in best),
            high=with_interval(best[0][1]),
            worst=say.joined(name for name, _ in worst),
            low=with_interval(worst[0][1]),
        )
        if not document.comparisons:
            yield say("told.not_compared")
        return


def _defined(result: RuleSummary, name: str) -> Estimate | None:
    found = result.figure(name)
    return None if found is None or found.value is None else found
