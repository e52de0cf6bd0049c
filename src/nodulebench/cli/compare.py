"""nodulebench compare: how algorithms of an evaluation differ from one of them."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, POSITIVE, WHOLE, option, print_written
from nodulebench.cli.show.comparison import print_comparison


@click.command("compare")
@click.argument("folder", metavar="DIR", type=FILE)
@click.option("--baseline", required=True, help="The algorithm that the others are compared with.")
@click.option(
    "--margin",
    type=POSITIVE,
    help="Largest loss that does not matter: tests non-inferiority and equivalence.",
)
@click.option(
    "--figure",
    "figures",
    multiple=True,
    help="Figure of merit; may be given several times. Default: those of the protocol.",
)
@click.option("--bootstraps", type=click.IntRange(min=2), help="Number of paired resamples.")
@option("--permutations", WHOLE, 2000, "Random swaps of each permutation test; 0: none.")
def command(
    folder: Path,
    baseline: str,
    margin: float | None,
    figures: tuple[str, ...],
    bootstraps: int | None,
    permutations: int,
) -> None:
    r"""Compare the algorithms in DIR, the folder that evaluate wrote, with one of them.

    \b
    nodulebench evaluate new.csv old.csv --reference luna16/ --out result/
    nodulebench compare result/ --baseline old --margin 0.05
    """
    from nodulebench.workflows.compare.compare import ComparisonChoice
    from nodulebench.workflows.compare.files import compare_folder, is_signed

    was_signed = is_signed(folder)
    choice = ComparisonChoice(baseline, figures, margin, bootstraps, permutations)
    comparison, written = compare_folder(folder, choice)
    print_comparison(comparison)
    print_written(*written)
    if was_signed:
        click.echo("warning: the folder has changed, its signature was removed.", err=True)
