"""Plan of a sample size -> lines on the terminal: answer, assumptions, curve."""

from typing import TYPE_CHECKING

import click

from nodulebench.i18n.translator import english, language

if TYPE_CHECKING:
    from nodulebench.evaluation.plans.sample_size import Plan

BAR_WIDTH = 40


def print_sample_size(plan: "Plan", wanted: float | None = None) -> None:
    """Print a plan.

    Args:
        plan: what was found.
        wanted: the value of the curve that was asked for; sizes that reach it are marked.
    """
    word = language().word
    click.echo(english(plan.question))
    if plan.answer is None:
        click.secho("No size that was tried suffices.", bold=True)
    else:
        click.secho(f"{plan.answer} {word(plan.unit)}", bold=True)
    for name, value in plan.details.items():
        click.echo(f"  {word(name)}: {value:.6g}")
    click.echo()
    click.secho("assumptions", bold=True)
    for assumption in plan.assumptions:
        click.echo(f"  {english(assumption)}")
    click.echo(f"  Method: {english(plan.method)}.")
    click.echo()
    for line in curve_lines(plan, wanted):
        click.echo(line)


def curve_lines(plan: "Plan", wanted: float | None) -> list[str]:
    """The curve as a table with a bar for each size; ``*`` marks sizes that suffice."""
    is_power = plan.curve_name == "power"
    top = 1.0 if is_power else max(point.value for point in plan.curve)
    unit, shows = language().word(plan.unit), language().word(plan.curve_name)
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
