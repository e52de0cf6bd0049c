"""nodulebench demo: the whole journey on made-up data."""

from pathlib import Path

import click

from nodulebench.cli.show import print_table


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("nodulebench-demo"),
    show_default=True,
    help="Folder for the report and the tables.",
)
def command(out: Path) -> None:
    """Make a small test set, test three algorithms under three rules, write a report."""
    from nodulebench.workflows.demo import run_demo

    evaluation = run_demo(out)
    print_table(evaluation)
    click.echo(f"\nOpen {out / 'report.html'} in a browser; the numbers are in evaluation.json.")
