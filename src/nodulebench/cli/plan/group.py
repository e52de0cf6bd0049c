"""nodulebench plan: calculators for whoever plans a test."""

from pathlib import Path

import click

from nodulebench.cli.plan.sizes import COMMANDS, POSITIVE


@click.group("plan")
def command() -> None:
    """Plan a test: calculators."""


for one in COMMANDS:
    command.add_command(one)


@command.command("size-error")
@click.option("--minimum", type=POSITIVE, default=4.0, show_default=True, help="Smallest size, mm.")
@click.option("--error-sd", type=POSITIVE, help="SD of reported - true size, mm.")
@click.option("--error-mean", default=0.0, show_default=True, help="Mean of it (bias), mm.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    help="Take the nodule sizes from this reference instead of a distribution.",
)
@click.option(
    "--errors",
    type=click.Path(path_type=Path),
    help="Observed instead of normal errors: a table of true_mm, reported_mm.",
)
@click.option(
    "--edge",
    "edges",
    type=POSITIVE,
    multiple=True,
    help="With --errors: sizes in mm that part nodules whose errors differ.",
)
@click.option(
    "--mean-excess",
    type=POSITIVE,
    default=2.0,
    show_default=True,
    help="Sizes above the smallest fall off exponentially with this mean, mm.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    multiple=True,
    default=(0.0, 0.25, 0.5, 1.0, 2.0),
    show_default=True,
    help="Tolerance for size error, mm; may be given several times.",
)
@click.option("--sensitivity", type=click.FloatRange(0, 1), default=1.0, show_default=True)
def size_error(
    minimum: float,
    error_sd: float | None,
    error_mean: float,
    reference: Path | None,
    errors: Path | None,
    edges: tuple[float, ...],
    mean_excess: float,
    tolerance: tuple[float, ...],
    sensitivity: float,
) -> None:
    """What a smallest size to report costs when sizes are measured with error (Fotin 2008)."""
    from nodulebench.workflows.plan.size_error import (
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
    plan = plan_size_error(
        model,
        minimum_mm=minimum,
        tolerances_mm=tolerance,
        sensitivity=sensitivity,
        mean_excess_mm=mean_excess,
        reference=reference,
    )
    for assumption in plan.assumptions:
        click.echo(assumption)
    columns = f"{'tolerance mm':>12} {'lost':>8} {'sensitivity':>12} {'shown though too small':>23}"
    click.secho(f"\n{columns}", bold=True)
    for row in plan.rows:
        small = "–" if row.overestimated is None else f"{row.overestimated:.4f}"
        click.echo(f"{row.tolerance_mm:>12g} {row.lost:>8.5f} {row.sensitivity:>12.4f} {small:>23}")
