"""AlgorithmComparison -> lines on the terminal."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import print_notices
from nodulebench.cli.output.tables import p_text, print_columns, verdict_text
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.core.documents.comparison import MissedNodule
    from nodulebench.core.results import Estimate
    from nodulebench.evaluation.comparison.compare import AlgorithmComparison, MetricDifference
    from nodulebench.evaluation.comparison.nodules import DetectionDifference
    from nodulebench.evaluation.comparison.replicates import Reading
    from nodulebench.evaluation.comparison.rule_effects import RuleEffects
    from nodulebench.evaluation.comparison.service import Gate
    from nodulebench.statistics.ranking import Ranking


LAST = "every difference, rank and nodule: --all"


def print_leaderboards(comparison: "AlgorithmComparison") -> bool:
    """Print the rankings with differences and P values; False if nothing can be ranked."""
    from nodulebench.evaluation.comparison.service import deciding_readings

    boards = [
        (reading, by_rule)
        for reading in deciding_readings(comparison)
        if (by_rule := _rankings_of(comparison, reading))
    ]
    for number, (reading, by_rule) in enumerate(boards):
        if number:
            click.echo()
        _print_board(comparison, reading, by_rule)
    if boards:
        click.echo(
            f"  {comparison.level:.0%} intervals from {comparison.bootstraps} paired resamples of "
            f"{comparison.unit}s; P adjusted (Holm)"
        )
        click.echo(f"  {LAST}")
    return bool(boards)


def _rankings_of(comparison: "AlgorithmComparison", reading: "Reading") -> "dict[str, Ranking]":
    """The rankings by a reading, by rule; the first rule determines the order."""
    rankings = comparison.rankings.items()
    return {rule: ranking for (rule, ranked), ranking in rankings if ranked == reading}


def _print_board(
    comparison: "AlgorithmComparison", reading: "Reading", by_rule: "dict[str, Ranking]"
) -> None:
    first, baseline = next(iter(by_rule)), comparison.choice.baseline
    differences = {
        difference.algorithm: difference
        for difference in comparison.differences
        if (difference.rule, difference.reading) == (first, reading)
    }
    ranking = by_rule[first]
    best = ranking.lines[0].name
    names = [line.name for line in ranking.lines]
    unranked = [name for name in differences if name not in names]
    columns = {
        "rank": {line.name: str(line.rank) for line in ranking.lines},
        "algorithm": {name: name for name in [*names, *unranked]},
        str(reading): {line.name: f"{line.value:.3f}" for line in ranking.lines},
    }
    pairs = {}
    if best != baseline:
        pairs[f"from {best} (best)"] = {
            name: (gap.difference, gap.adjusted_p_value) for name, gap in ranking.from_best.items()
        }
    pairs[f"from {baseline} (baseline)"] = {
        name: (compared.difference, compared.adjusted_p_value)
        for name, difference in differences.items()
        if (compared := difference.comparison) is not None
    }
    heads = [*columns]
    cells = [*columns.values()]
    for head, of_pair in pairs.items():
        heads += [head, "P adj."]
        cells += [*_difference_columns(of_pair)]
    if comparison.choice.margin is not None:
        heads.append(f"margin {comparison.choice.margin:g}")
        cells.append({name: verdict_text(difference) for name, difference in differences.items()})
    for rule, of_rule in list(by_rule.items())[1:]:
        heads.append(rule)
        cells.append({line.name: f"{line.value:.3f} ({line.rank})" for line in of_rule.lines})
    click.secho(f"{reading} under {first}, best first", bold=True)
    print_columns(
        heads, [[column.get(name, "") for column in cells] for name in [*names, *unranked]]
    )
    for line in _reasons(differences, unranked):
        click.echo(line)


def _difference_columns(
    pairs: "dict[str, tuple[Estimate, float]]",
) -> Iterator[dict[str, str]]:
    yield {name: difference.signed for name, (difference, _) in pairs.items()}
    yield {name: p_text(p_value) for name, (_, p_value) in pairs.items()}


def _reasons(differences: "dict[str, MetricDifference]", names: list[str]) -> Iterator[str]:
    """Why some algorithms have no rank."""
    for name in names:
        yield f"  {name}: {in_english(differences[name].reason)}"


MOST_NODULES = 3
"""The number of nodules missed by only one of two algorithms that are named."""


def print_comparison(comparison: "AlgorithmComparison", *, is_all: bool) -> None:
    """Print the rankings; for two algorithms, or with ``is_all``, also every difference."""
    print_notices("warning", comparison.notices)
    if len({difference.algorithm for difference in comparison.differences}) > 1:
        if print_leaderboards(comparison) and not is_all:
            return
        click.echo()
    choice = comparison.choice
    click.secho(f"differences from {choice.baseline}", bold=True)
    click.echo(
        f"  {comparison.level:.0%} intervals from {comparison.bootstraps} paired resamples of "
        f"{comparison.unit}s; P adjusted (Holm) over algorithms and rules"
    )
    _print_differences(comparison)
    _print_detection(comparison)
    for (rule, reading), ranking in comparison.rankings.items():
        if len(ranking.lines) > 2 and not reading.point:
            _print_ranking(f"ranks by {reading}, rule {rule}", ranking)
    if comparison.effects is not None:
        _print_effects(comparison.effects)


def _print_differences(comparison: "AlgorithmComparison") -> None:
    rows = [_difference_cells(difference) for difference in comparison.differences]
    has_margin = comparison.choice.margin is not None
    heads = ["rule", "algorithm", "metric", "value", "difference", "P", "P adj.", "P perm."]
    heads += ["P DeLong", f"margin {comparison.choice.margin or 0:g}"]
    has_delong = any(difference.delong is not None for difference in comparison.differences)
    shown = [True] * 8 + [has_delong, has_margin]
    print_columns(list(compress(heads, shown)), [list(compress(row, shown)) for row in rows])


def _difference_cells(difference: "MetricDifference") -> list[str]:
    named = [difference.rule, difference.algorithm, str(difference.reading)]
    comparison = difference.comparison
    if comparison is None or difference.value is None:
        return [*named, "–", f"–  ({in_english(difference.reason)})", "", "", "", "", ""]
    permutation, delong = difference.permutation, difference.delong
    reason = comparison.difference.reason
    because = f"  ({in_english(reason)})" if reason else ""
    return [
        *named,
        f"{difference.value:.3f}",
        f"{comparison.difference.signed}{because}",
        p_text(comparison.p_value),
        p_text(comparison.adjusted_p_value),
        "" if permutation is None else p_text(permutation.p_value),
        "" if delong is None else p_text(delong.p_value),
        verdict_text(difference),
    ]


def print_gate(gate: "Gate", margin: float) -> None:
    """Print the deciding differences of the gate and whether it is met."""
    from nodulebench.evaluation.comparison.service import is_shown

    click.echo()
    click.secho(f"no worse than {margin:g}", bold=True)
    for difference in gate.differences:
        word = "shown" if is_shown(difference) else "NOT SHOWN"
        comparison = difference.comparison
        shown = "–" if comparison is None else comparison.difference.signed
        test = None if comparison is None else comparison.margin
        because = "" if test is None or test.reason is None else f"  ({in_english(test.reason)})"
        click.echo(
            f"  {word:<9}  {difference.algorithm}, {difference.rule}, "
            f"{difference.reading}: {shown}{because}"
        )
    colour, word = ("green", "met") if gate.is_met else ("red", "not met")
    click.echo(f"  {click.style(word, fg=colour, bold=True)}")


def _print_detection(comparison: "AlgorithmComparison") -> None:
    click.echo()
    click.secho("nodules found by only one of the two (McNemar)", bold=True)
    counts = ["both", "only this", "only baseline", "neither"]
    print_columns(
        ["rule", "algorithm", *counts, "P clustered", "P adj.", "P exact"],
        [_detection_cells(difference) for difference in comparison.detection],
    )
    baseline = comparison.choice.baseline
    for difference in comparison.detection:
        for name, missed in (
            (difference.algorithm, difference.missed_by_one.algorithm),
            (baseline, difference.missed_by_one.baseline),
        ):
            if missed:
                click.echo(f"  {difference.rule}: missed only by {name}: {_nodules(missed)}")


def _nodules(missed: "Sequence[MissedNodule]") -> str:
    """The names of the largest nodules, and the number of the others."""
    named = [
        f"{nodule.case_id} {nodule.nodule_id}"
        + ("" if nodule.diameter_mm is None else f" ({nodule.diameter_mm:.1f} mm)")
        for nodule in missed[:MOST_NODULES]
    ]
    more = len(missed) - len(named)
    return ", ".join(named) + (f", and {more} more" if more > 0 else "")


def _detection_cells(difference: "DetectionDifference") -> list[str]:
    counts = (
        difference.both,
        difference.algorithm_only,
        difference.baseline_only,
        difference.neither,
    )
    counted = [difference.rule, difference.algorithm, *map(str, counts)]
    tests = difference.tests
    if tests is None:
        return [*counted, f"–  ({in_english(difference.reason)})", "", ""]
    p_values = (tests.obuchowski.p_value, difference.adjusted["holm"], tests.exact.p_value)
    return [*counted, *map(p_text, p_values)]


def _print_ranking(title: str, ranking: "Ranking") -> None:
    click.echo()
    click.secho(title, bold=True)
    print_columns(
        ["rank", "algorithm", "value", "rank interval", "first in", "tie group"],
        [
            [
                str(line.rank),
                line.name,
                f"{line.value:.3f}",
                f"{line.best_rank}–{line.worst_rank}",
                f"{line.share_first:.0%}",
                str(line.group),
            ]
            for line in ranking.lines
        ],
    )


def _print_effects(effects: "RuleEffects") -> None:
    click.echo()
    click.secho(f"effect of the rule on {len(effects.algorithms)} algorithms", bold=True)
    rows = []
    for reading, effect in effects.effects.items():
        groups = "  ".join(
            f"{rule} {group.mean:.3f} ± {group.sd:.3f}" for rule, group in effect.groups.items()
        )
        published = "–" if effect.one_way is None else p_text(effect.one_way.p_value)
        sound = "–" if effect.repeated is None else p_text(effect.repeated.corrected.p_value)
        rank = "–" if effect.friedman is None else p_text(effect.friedman.p_value)
        rows.append([str(reading), groups, published, sound, rank])
    print_columns(["metric", "mean ± SD", "P one-way", "P repeated", "P Friedman"], rows)
    click.echo()
    print_columns(
        ["algorithm", *(f"hits, {rule}" for rule in effects.relative_differences)],
        [[name, *_percentages(effects, name)] for name in effects.algorithms],
    )
    click.echo(f"  relative to {effects.baseline_rule}")


def _percentages(effects: "RuleEffects", name: str) -> Iterator[str]:
    for of_rule in effects.relative_differences.values():
        share = of_rule[name]
        yield "–" if share is None else f"{share:+.2%}"
