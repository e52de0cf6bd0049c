"""nodulebench combine: candidate lists merged, or scores averaged on a common list."""

from pathlib import Path
from typing import Literal

import click

from nodulebench.cli.show.combination import print_rows
from nodulebench.language import english

FILE = click.Path(path_type=Path)


@click.command("combine")
@click.argument("submissions", nargs=-1, required=True, type=FILE)
@click.option("--reference", required=True, type=FILE, help="Bundle, LUNA16 folder or NIFDC CSV.")
@click.option("--out", type=FILE, help="CSV for the combination of all submissions.")
@click.option(
    "--by",
    type=click.Choice(["candidates", "scores"]),
    default="candidates",
    show_default=True,
    help="Merge lists of candidates, or average scores on a common list.",
)
@click.option(
    "--distance",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Candidates closer than this are merged, mm.",
)
@click.option(
    "--linkage",
    type=click.Choice(["single", "greedy", "nearest"]),
    default="single",
    show_default=True,
    help="Merge what is linked through others, candidate by candidate in order, or the two nearest "
    "again and again.",
)
@click.option("--lung-masks", type=FILE, help="Folder of <case>.mhd: drop candidates far outside.")
@click.option(
    "--slack",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="How far outside the lungs a candidate may lie, mm.",
)
@click.option("--candidates", type=FILE, help="The common list; default: the first submission's.")
@click.option("--series", type=FILE, help="List of cases: restricts them.")
@click.option("--protocol", default="luna16", show_default=True, help="Name or TOML file.")
@click.option("--table", type=FILE, help="CSV for the table of all combinations.")
def command(
    submissions: tuple[Path, ...],
    reference: Path,
    out: Path | None,
    by: str,
    distance: float,
    linkage: Literal["single", "greedy", "nearest"],
    lung_masks: Path | None,
    slack: float,
    candidates: Path | None,
    series: Path | None,
    protocol: str,
    table: Path | None,
) -> None:
    r"""Combine SUBMISSIONS, and tabulate what every combination of them reaches.

    \b
    nodulebench combine a.csv b.csv c.csv --reference luna16/ --out candidates.csv
    nodulebench combine a.csv b.csv --by scores --reference luna16/ --out mean.csv
    """
    from nodulebench.workflows.compare.combine import CombinationChoice, combine_files, write_rows

    choice = CombinationChoice(distance, linkage, lung_masks, slack)
    combination = combine_files(
        submissions,
        reference,
        is_by_scores=by == "scores",
        choice=choice,
        candidates=candidates,
        series=series,
        protocol=protocol,
        out=out,
    )
    for notice in combination.notices:
        click.echo(f"warning: {english(notice)}", err=True)
    print_rows(combination.rows, combination.operating_points)
    if out is not None:
        click.echo(f"wrote {out}: {combination.marks.height} candidates")
    if table is not None:
        write_rows(combination, table)
        click.echo(f"wrote {table}")
