"""Cells and columns of tables on a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nodulebench.i18n.translator import in_english, translator

if TYPE_CHECKING:
    from nodulebench.core.notices import Notice
    from nodulebench.evaluation.combine import CandidateRow, ScoreRow
    from nodulebench.evaluation.comparison.compare import MetricDifference
    from nodulebench.evaluation.sample_size import Plan


def print_columns(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table with columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for is_head, row in [(True, heads), *((False, row) for row in rows)]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.secho(("  " + "  ".join(cells)).rstrip(), bold=is_head or None)


def p_text(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def verdict_text(difference: "MetricDifference") -> str:
    """The verdict of a margin on a difference, in few words."""
    test = None if difference.comparison is None else difference.comparison.margin
    if test is None:
        return ""
    if test.reason is not None:
        return _open_verdict(test.reason)
    if test.is_superior:
        return "superior"
    if test.is_equivalent:
        return "equivalent"
    return "not inferior" if test.is_non_inferior else "not shown"


def _open_verdict(reason: "Notice") -> str:
    """The reason why a margin has no verdict, in few words."""
    needed, unit = reason.values.get("needed"), reason.values.get("unit")
    return "not assessable" + (f": {needed} {unit}s needed" if needed else "")


def print_rows(
    rows: "Sequence[CandidateRow | ScoreRow]", operating_points: Sequence[float]
) -> None:
    """Print one line for each algorithm and combination."""
    rates = [f"{rate:g}" for rate in operating_points]
    heads = (
        ["algorithms", *rates, "CPM", "best single", "difference"]
        if rates
        else ["algorithms", "sensitivity", "best single", "difference", "candidates", "per case"]
    )
    print_columns(heads, [_cells(row) for row in rows])


def _cells(row: "CandidateRow | ScoreRow") -> list[str]:
    from nodulebench.evaluation.combine import ScoreRow

    return _score_cells(row) if isinstance(row, ScoreRow) else _candidate_cells(row)


def _candidate_cells(row: "CandidateRow") -> list[str]:
    return [
        "+".join(row.members),
        f"{row.sensitivity:.3f}",
        *_best_single_cells(row.best_single, row.difference),
        str(row.candidates),
        f"{row.candidates_per_case:.1f}",
    ]


def _score_cells(row: "ScoreRow") -> list[str]:
    sensitivities = [f"{value:.3f}" for value in row.sensitivities]
    best = _best_single_cells(row.best_single, row.difference)
    return ["+".join(row.members), *sensitivities, f"{row.cpm:.3f}", *best]


def _best_single_cells(best: float | None, difference: float | None) -> list[str]:
    if best is None or difference is None:
        return ["", ""]
    return [f"{best:.3f}", f"{difference:+.3f}"]


BAR_WIDTH = 40


def print_sample_size(plan: "Plan", wanted: float | None = None) -> None:
    """Print a plan.

    Args:
        plan: the plan.
        wanted: the required value of the curve; sizes that reach it are marked.
    """
    word = translator().word
    click.echo(in_english(plan.question))
    if plan.answer is None:
        click.secho("None of the sizes is sufficient.", bold=True)
    else:
        click.secho(f"{plan.answer} {word(plan.unit)}", bold=True)
    for name, value in plan.details.items():
        click.echo(f"  {word(name)}: {value:.6g}")
    click.echo()
    click.secho("assumptions", bold=True)
    for assumption in plan.assumptions:
        click.echo(f"  {in_english(assumption)}")
    click.echo(f"  Method: {in_english(plan.method)}.")
    click.echo()
    for line in curve_lines(plan, wanted):
        click.echo(line)


def curve_lines(plan: "Plan", wanted: float | None) -> list[str]:
    """The curve as a table with a bar for each size; ``*`` marks sufficient sizes."""
    is_power = plan.curve_name == "power"
    top = 1.0 if is_power else max(point.value for point in plan.curve)
    unit, shows = translator().word(plan.unit), translator().word(plan.curve_name)
    width = max(len(unit), *(len(str(point.size)) for point in plan.curve))
    lines = [click.style(f"{unit:>{width}}  {shows}", bold=True)]
    for point in plan.curve:
        reached = wanted is not None and (
            point.value >= wanted if is_power else point.value <= wanted
        )
        bar = "█" * round(BAR_WIDTH * point.value / top) if top > 0 else ""
        shown = f"{point.size:>{width}}  {point.value:<{len(shows)}.3f}"
        lines.append(f"{shown} {'*' if reached else ' '} {bar}".rstrip())
    if wanted is not None:
        lines.append(f"*: {shows} {'at least' if is_power else 'at most'} {wanted:g}")
    return lines
