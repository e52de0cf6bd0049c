"""nodulebench plan: calculators for whoever plans a test."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.options import FILE, NOT_NEGATIVE, POSITIVE, SHARE, option
from nodulebench.cli.sizes import COMMANDS
from nodulebench.i18n.translator import english


@click.group("plan")
def command() -> None:
    """Plan a test: calculators."""


for one in COMMANDS:
    command.add_command(one)


@command.command("size-error")
@option("--minimum", POSITIVE, 4.0, "Smallest size, mm.", to="minimum_mm")
@click.option("--error-sd", type=POSITIVE, help="SD of reported - true size, mm.")
@option("--error-mean", float, 0.0, "Mean of it (bias), mm.")
@click.option(
    "--reference",
    type=FILE,
    help="Take the nodule sizes from this reference instead of a distribution.",
)
@click.option(
    "--errors",
    type=FILE,
    help="Observed instead of normal errors: a table of true_mm, reported_mm.",
)
@click.option(
    "--edge",
    "edges",
    type=POSITIVE,
    multiple=True,
    help="With --errors: sizes in mm that part nodules whose errors differ.",
)
@option(
    "--mean-excess",
    POSITIVE,
    2.0,
    "Sizes above the smallest fall off exponentially with this mean, mm.",
    to="mean_excess_mm",
)
@option(
    "--tolerance",
    NOT_NEGATIVE,
    (0.0, 0.25, 0.5, 1.0, 2.0),
    "Tolerance for size error, mm; may be given several times.",
    to="tolerances_mm",
    multiple=True,
)
@option("--sensitivity", SHARE, 1.0)
def size_error(
    error_sd: float | None,
    error_mean: float,
    errors: Path | None,
    edges: tuple[float, ...],
    **chosen: Any,
) -> None:
    r"""What a smallest size to report costs when sizes are measured with error (Fotin 2008).

    \b
    nodulebench plan size-error --minimum 4 --error-sd 0.6
    """
    from nodulebench.evaluation.plans.size_error import (
        normal_errors,
        observed_errors,
        plan_size_error,
    )

    if errors is not None and error_sd is None:
        model = observed_errors(errors, edges)
    elif error_sd is not None and errors is None:
        model = normal_errors(error_mean, error_sd)
    else:
        raise click.UsageError("give --error-sd or --errors, and not both")
    plan = plan_size_error(model, **chosen)
    for assumption in plan.assumptions:
        click.echo(english(assumption))
    columns = f"{'tolerance mm':>12} {'lost':>8} {'sensitivity':>12} {'shown though too small':>23}"
    click.secho(f"\n{columns}", bold=True)
    for row in plan.rows:
        small = "–" if row.overestimated is None else f"{row.overestimated:.4f}"
        click.echo(f"{row.tolerance_mm:>12g} {row.lost:>8.5f} {row.sensitivity:>12.4f} {small:>23}")
