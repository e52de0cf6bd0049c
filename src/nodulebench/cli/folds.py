"""nodulebench folds: is a cross-validation what it should be?"""

from pathlib import Path

import click

from nodulebench.cli.options import FILE
from nodulebench.cli.progress import ProgressLine


@click.group("folds")
def command() -> None:
    """Check the folds of a cross-validation."""


@command.command("check")
@click.argument("folds", nargs=-1, required=True, type=FILE)
@click.option("--reference", required=True, type=FILE, help="The test set, all of it tested.")
@click.option("--cases", type=FILE, help="Table of cases with their patients.")
def check(folds: tuple[Path, ...], reference: Path, cases: Path | None) -> None:
    r"""Check that every case is tested exactly once, and never where it was trained on.

    FOLDS is one table with the columns seriesuid and fold (and perhaps part: test or train), or a
    list of cases for each fold.

    \b
    nodulebench folds check folds.csv --reference luna16/
    nodulebench folds check fold0.csv fold1.csv fold2.csv --reference luna16/
    """
    from nodulebench.workflows.compare.check_folds import check_folds

    with ProgressLine("checking"):
        sizes = check_folds(folds, reference, cases=cases)
    width = max(4, *(len(one.fold) for one in sizes))
    click.secho(f"{'fold':<{width}} {'cases':>6} {'patients':>9} {'nodules':>8}", bold=True)
    for one in sizes:
        click.echo(f"{one.fold:<{width}} {one.cases:>6} {one.patients:>9} {one.nodules:>8}")
    total = sum(one.cases for one in sizes)
    click.echo(f"every one of {total} cases is tested once, in {len(sizes)} folds")
