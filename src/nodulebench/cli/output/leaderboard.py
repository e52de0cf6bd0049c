"""AlgorithmComparison of three or more -> one table for each figure that decides, best first."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nodulebench.cli.output.tables import p_text, print_columns, verdict_text
from nodulebench.i18n.translator import english

if TYPE_CHECKING:
    from nodulebench.core.results import Estimate
    from nodulebench.evaluation.comparison.compare import (
        AlgorithmComparison,
        FigureDifference,
        Ranking,
    )
    from nodulebench.evaluation.comparison.replicates import Reading

LAST = "every difference, rank and nodule: --all"


def print_leaderboards(comparison: "AlgorithmComparison") -> bool:
    """Print who is best, by how much and how surely; False where nothing can be ranked."""
    from nodulebench.evaluation.comparison.regression_gate import deciding_readings

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
    """The rankings by one reading, by rule; that of the first rule gives the order."""
    every = comparison.rankings.items()
    return {rule: ranking for (rule, one), ranking in every if one == reading}


def _print_board(
    comparison: "AlgorithmComparison", reading: "Reading", by_rule: "dict[str, Ranking]"
) -> None:
    first, baseline = next(iter(by_rule)), comparison.choice.baseline
    differences = {
        one.algorithm: one
        for one in comparison.differences
        if (one.rule, one.reading) == (first, reading)
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
            name: (one.difference, one.adjusted_p_value) for name, one in ranking.from_best.items()
        }
    pairs[f"from {baseline} (baseline)"] = {
        name: (found.difference, found.adjusted_p_value)
        for name, one in differences.items()
        if (found := one.comparison) is not None
    }
    heads = [*columns]
    cells = [*columns.values()]
    for head, of_pair in pairs.items():
        heads += [head, "P adj."]
        cells += [*_difference_columns(of_pair)]
    if comparison.choice.margin is not None:
        heads.append(f"margin {comparison.choice.margin:g}")
        cells.append({name: verdict_text(one) for name, one in differences.items()})
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


def _reasons(differences: "dict[str, FigureDifference]", names: list[str]) -> Iterator[str]:
    """Why some algorithms have no rank."""
    for name in names:
        yield f"  {name}: {english(differences[name].reason)}"
