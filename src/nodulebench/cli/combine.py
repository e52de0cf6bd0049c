"""nodulebench combine: candidate lists merged, or scores averaged on a common list."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    NOT_NEGATIVE,
    POSITIVE,
    call_with,
    option,
    print_notices,
    print_written,
    reference_option,
    series_option,
)
from nodulebench.cli.output import print_rows
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json


@click.command("combine")
@click.argument("submissions", nargs=-1, required=True, type=FILE)
@reference_option
@click.option("--out", type=FILE, help="CSV for the combination of all submissions.")
@option(
    "--method",
    ["candidates", "scores"],
    "candidates",
    "Merge candidate lists, or average scores on a common list.",
)
@option("--distance", POSITIVE, 5.0, "Marks closer than this count as one.", to="distance_mm")
@option(
    "--linkage",
    ["nearest", "single", "greedy"],
    "nearest",
    "How to merge: nearest pairs first, linked chains, or one by one in order.",
)
@option(
    "--position",
    ["best", "mean"],
    "best",
    "Position of a merged candidate: that of the highest score, or the mean (LUNA16).",
    to="place",
)
@click.option(
    "--lung-masks", type=FOLDER, help="Folder of lung masks <case>.mhd; drops candidates outside."
)
@option("--slack", NOT_NEGATIVE, 10.0, "Largest distance outside the lungs.", to="slack_mm")
@click.option(
    "--candidates", type=FILE, help="Common list of candidates.  [default: the first submission]"
)
@series_option
@option("--protocol", str, "luna16", "Test protocol.")
@click.option("--table", type=FILE, help="CSV for the scores of all combinations.")
@json_option
def command(
    submissions: tuple[Path, ...],
    reference: Path,
    method: str,
    out: Path | None,
    table: Path | None,
    **chosen: object,
) -> None:
    r"""Combine SUBMISSIONS, and score every combination.

    \b
    nodulebench combine a.csv b.csv c.csv --reference luna16/ --out candidates.csv
    nodulebench combine a.csv b.csv --method scores --reference luna16/ --out mean.csv
    """
    from nodulebench.evaluation.combine import CombinationChoice, combine_files, write_rows

    shape = ("distance_mm", "linkage", "place", "lung_masks", "slack_mm")
    choice = call_with(CombinationChoice, {name: chosen.pop(name) for name in shape})
    with ProgressLine("combining"):
        both = (submissions, reference)
        combination = call_with(
            combine_files, chosen, *both, is_by_scores=method == "scores", choice=choice, out=out
        )
    print_notices("warning", combination.notices)
    print_rows(combination.rows, combination.operating_points)
    rates = combination.operating_points
    print_json({"operating_points": rates, "combinations": combination.rows})
    if out is not None:
        print_done(f"wrote {out}: {combination.marks.height} candidates")
    if table is not None:
        write_rows(combination, table)
    print_written(table)
