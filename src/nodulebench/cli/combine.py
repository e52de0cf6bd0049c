"""nodulebench combine: candidate lists merged, or scores averaged on a common list."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    NOT_NEGATIVE,
    POSITIVE,
    call_with,
    option,
    print_notices,
    print_written,
)
from nodulebench.cli.output import print_rows
from nodulebench.cli.terminal import ProgressLine


@click.command("combine")
@click.argument("submissions", nargs=-1, required=True, type=FILE)
@click.option("--reference", required=True, type=FILE, help="Bundle, LUNA16 folder or NIFDC CSV.")
@click.option("--out", type=FILE, help="CSV for the combination of all submissions.")
@option(
    "--by",
    ["candidates", "scores"],
    "candidates",
    "Merge lists of candidates, or average scores on a common list.",
)
@option(
    "--distance", POSITIVE, 5.0, "Candidates closer than this are merged, mm.", to="distance_mm"
)
@option(
    "--linkage",
    ["nearest", "single", "greedy"],
    "nearest",
    "Merge the two nearest repeatedly, all that are linked through others, or candidate by "
    "candidate in order.",
)
@option(
    "--place",
    ["best", "mean"],
    "best",
    "Position of a merged candidate: that of its part with the highest score, or the mean of its "
    "parts, as in LUNA16.",
)
@click.option("--lung-masks", type=FILE, help="Folder of <case>.mhd: drop candidates far outside.")
@option(
    "--slack",
    NOT_NEGATIVE,
    10.0,
    "How far outside the lungs a candidate may be, mm.",
    to="slack_mm",
)
@click.option("--candidates", type=FILE, help="The common list; default: the first submission's.")
@click.option("--series", type=FILE, help="List of cases: restricts them.")
@option("--protocol", str, "luna16", "Name or TOML file.")
@click.option("--table", type=FILE, help="CSV for the table of all combinations.")
def command(
    submissions: tuple[Path, ...],
    reference: Path,
    by: str,
    out: Path | None,
    table: Path | None,
    **chosen: object,
) -> None:
    r"""Combine SUBMISSIONS, and tabulate the results of every combination.

    \b
    nodulebench combine a.csv b.csv c.csv --reference luna16/ --out candidates.csv
    nodulebench combine a.csv b.csv --by scores --reference luna16/ --out mean.csv
    """
    from nodulebench.evaluation.combine import (
        CombinationChoice,
        combine_files,
        write_rows,
    )

    shape = ("distance_mm", "linkage", "place", "lung_masks", "slack_mm")
    choice = call_with(CombinationChoice, {name: chosen.pop(name) for name in shape})
    with ProgressLine("combining"):
        both = (submissions, reference)
        combination = call_with(
            combine_files, chosen, *both, is_by_scores=by == "scores", choice=choice, out=out
        )
    print_notices("warning", combination.notices)
    print_rows(combination.rows, combination.operating_points)
    if out is not None:
        click.echo(f"wrote {out}: {combination.marks.height} candidates")
    if table is not None:
        write_rows(combination, table)
    print_written(table)
