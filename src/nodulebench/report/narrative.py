"""Document -> sentences: what the numbers say, in plain words, and no more than they say."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nodulebench.report.numbers import (
    PERCENT,
    decimals,
    interval,
    percent,
    rate,
    whole,
    with_interval,
)
from nodulebench.report.results import baseline_rule
from nodulebench.report.words import figure_words, in_words

MOST_TOLD_SINGLY = 4
"""With more algorithms only the extremes are named."""
RANKED_STRATA = ("type", "size", "density")

Result = dict[str, Any]


def paragraphs(document: dict[str, Any]) -> list[str]:
    """What the report says first, one thought a paragraph."""
    told = list(_performance(document))
    told += _rules(document)
    told.append(" ".join(text for one in RANKED_STRATA for text in _hardest(document, one)))
    told += _intervals(document)
    return [text for text in told if text]


def leading_result(document: dict[str, Any], algorithm: Result) -> tuple[str, Result] | None:
    """An algorithm's result under the baseline rule, or under the first that could be applied."""
    base = baseline_rule(document)
    order = sorted(algorithm["rules"], key=lambda rule: rule != base)
    return next(
        (
            (rule, algorithm["rules"][rule])
            for rule in order
            if "undefined" not in algorithm["rules"][rule]
        ),
        None,
    )


def _performance(document: dict[str, Any]) -> Iterator[str]:
    algorithms = document["algorithms"]
    for algorithm in algorithms:
        if leading_result(document, algorithm) is None:
            reasons = {one["undefined"] for one in algorithm["rules"].values()}
            yield f"No rule could be applied to {algorithm['name']}: {'; '.join(sorted(reasons))}."
    if len(algorithms) <= MOST_TOLD_SINGLY:
        for algorithm in algorithms:
            yield " ".join(_one_performance(document, algorithm))
    if len(algorithms) > 1:
        yield " ".join(_extremes(document))


def _one_performance(document: dict[str, Any], algorithm: Result) -> Iterator[str]:
    found = leading_result(document, algorithm)
    if found is None:
        return
    rule, result = found
    counts, figures = result["counts"], result["figures"]
    recall, falses = figures.get("recall"), figures.get("fp_per_case")
    told = f": recall {with_interval(recall)}" if _value(recall) is not None else ""
    if told and _value(falses) is not None:
        told += f" at {decimals(falses['value'])} false positives per case"
    yield (
        f"With all its marks counted, {algorithm['name']} hit {whole(counts['hit'])} of "
        f"{whole(counts['nodules'])} nodules in {whole(counts['cases'])} cases under the rule "
        f"{in_words(rule)}{told}."
    )
    cpm, points = figures.get("cpm"), document["protocol"]["operating_points"]
    if cpm is not None and _value(cpm) is not None:
        at_one = figures.get("sensitivity_at_fp_rate", {}).get("1")
        yield (
            f"Over the operating points from {rate(min(points))} to {rate(max(points))} false "
            f"positives per case its mean sensitivity (CPM) is {with_interval(cpm)}"
            + (
                f"; at 1 false positive per case it is {with_interval(at_one)}."
                if at_one is not None and _value(at_one) is not None
                else "."
            )
        )


def _extremes(document: dict[str, Any]) -> Iterator[str]:
    """The highest and the lowest algorithm by the first figure that all have."""
    for name in ("cpm", "recall"):
        found = [
            (algorithm["name"], figures[name])
            for algorithm in document["algorithms"]
            if (leading := leading_result(document, algorithm)) is not None
            and _value((figures := leading[1]["figures"]).get(name)) is not None
        ]
        if len(found) < 2:
            continue
        found.sort(key=lambda item: item[1]["value"])
        (low_name, low), (high_name, high) = found[0], found[-1]
        title = figure_words(name).title
        if low["value"] == high["value"]:
            yield f"All algorithms have the same {title}, {decimals(low['value'])}."
            return
        yield (
            f"By {title} the highest is {high_name} with {with_interval(high)} and the lowest "
            f"{low_name} with {with_interval(low)}."
        )
        if "high" in low and "low" in high and low["high"] >= high["low"]:
            yield (
                "Their intervals overlap. Since the algorithms were tested on the same cases, only "
                "a paired comparison can say whether they differ."
            )
        return


def _rules(document: dict[str, Any]) -> Iterator[str]:
    """Which rule gives the highest and which the lowest recall, and the relative differences."""
    for algorithm in document["algorithms"][:MOST_TOLD_SINGLY]:
        recall = {
            rule: result["figures"]["recall"]["value"]
            for rule, result in algorithm["rules"].items()
            if _value(result.get("figures", {}).get("recall")) is not None
        }
        if len(recall) < 2:
            continue
        high, low = (
            max(recall, key=lambda rule: recall[rule]),
            min(recall, key=lambda rule: recall[rule]),
        )
        if recall[high] == recall[low]:
            yield (
                f"The number of hits of {algorithm['name']} does not depend on the rule: recall is "
                f"{decimals(recall[high])} under each."
            )
            continue
        yield (
            f"What counts as a hit matters for {algorithm['name']}: recall is highest under "
            f"{in_words(high)} ({decimals(recall[high])}) and lowest under {in_words(low)} "
            f"({decimals(recall[low])}){_relative(document, algorithm)}."
        )
    yield from _outlier(document)


def _relative(document: dict[str, Any], algorithm: Result) -> str:
    base = baseline_rule(document)
    told = [
        f"{in_words(item['rule'])} gives {_more_or_fewer(item['relative_difference'])}"
        for item in algorithm["rule_differences"]
        if item["base_rule"] == base and item["relative_difference"] is not None
    ]
    return f"; measured against {in_words(base)}, {' and '.join(told)}" if told else ""


def _more_or_fewer(relative: float) -> str:
    if not relative:
        return "as many hits"
    change = "more" if relative > 0 else "fewer"
    return f"{decimals(100 * abs(relative), 1)}{PERCENT} {change} hits"


def _outlier(document: dict[str, Any]) -> Iterator[str]:
    """With many algorithms: the one whose hits depend most on the rule."""
    if len(document["algorithms"]) <= 2:
        return
    found = [
        (algorithm["name"], item)
        for algorithm in document["algorithms"]
        for item in algorithm["rule_differences"]
        if item["base_rule"] == baseline_rule(document) and item["relative_difference"]
    ]
    if found:
        name, item = max(found, key=lambda pair: abs(pair[1]["relative_difference"]))
        yield (
            f"The rule matters most for {name}: {in_words(item['rule'])} gives "
            f"{_more_or_fewer(item['relative_difference'])} than {in_words(item['base_rule'])}."
        )


def _hardest(document: dict[str, Any], division: str) -> Iterator[str]:
    """The strata missed most and least often; strata with too few nodules are not ranked."""
    ranked = {}
    for algorithm in document["algorithms"]:
        found = leading_result(document, algorithm)
        strata = {} if found is None else found[1]["strata"].get(division, {})
        usable = {
            name: one
            for name, one in strata.items()
            if not one["too_few"] and one["miss_rate"]["value"] is not None
        }
        if len(usable) > 1:
            ranked[algorithm["name"]] = sorted(
                usable.items(), key=lambda item: -item[1]["miss_rate"]["value"]
            )
    if len(ranked) == 1:
        ((name, order),) = ranked.items()
        (worst, most), (best, least) = order[0], order[-1]
        named = "It" if len(document["algorithms"]) == 1 else name
        yield (
            f"{named} missed nodules of {division} {in_words(worst)} most often, "
            f"{_misses(most)}, and of {division} {in_words(best)} least often, {_misses(least)}."
        )
        if (most["miss_rate"].get("low") or 0.0) <= (least["miss_rate"].get("high") or 0.0):
            yield "These two intervals overlap."
    elif ranked:
        worst, times = Counter(order[0][0] for order in ranked.values()).most_common(1)[0]
        by = "every algorithm" if times == len(ranked) else f"{times} of {len(ranked)} algorithms"
        yield f"Nodules of {division} {in_words(worst)} are those missed most often by {by}."


def _misses(stratum: dict[str, Any]) -> str:
    return (
        f"{whole(stratum['missed'])} of {whole(stratum['nodules'])}: "
        f"{with_interval(stratum['miss_rate'])}"
    )


def _intervals(document: dict[str, Any]) -> Iterator[str]:
    """What an interval means, once."""
    estimates = [
        figure
        for algorithm in document["algorithms"]
        for result in algorithm["rules"].values()
        for figure in result.get("figures", {}).values()
        if interval(figure)
    ]
    choice = document["protocol"]["interval"]
    if not estimates:
        yield "The numbers stand without intervals: none were asked for, or none could be made."
        return
    share = percent(choice["level"])
    yield (
        f"Numbers in brackets are {share} intervals. If the test were repeated on other "
        f"{choice['unit']}s drawn from the same population, about {share} of intervals made in "
        "this way would contain the true value. They do not speak of other populations, scanners "
        "or reference standards."
    )


def _value(estimate: dict[str, Any] | None) -> float | None:
    return None if estimate is None else estimate.get("value")
