"""nodulebench folds: make, check and merge the folds of a cross-validation."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import COUNT, FILE, PATH, WHOLE, option
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodulebench.evaluation.folds import FoldSize


@click.group("folds")
def command() -> None:
    """Make, check and merge the folds of a cross-validation."""


@command.command("make")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--reference", required=True, type=PATH, help="Test set.")
@click.option("--cases", type=PATH, help="Table of cases with their patients.")
@option("--count", COUNT, 10, "Number of folds.")
@option("--seed", WHOLE, 0, "Random seed.")
@json_option
def make(out: Path, reference: Path, cases: Path | None, count: int, seed: int) -> None:
    r"""Draw folds of equal size, and write them to the table OUT.

    All cases of a patient are in one fold. If every patient has one case, folds differ by at most
    one case; they have similar numbers of nodules.

    \b
    nodulebench folds make folds.csv --reference luna16/
    """
    from nodulebench.evaluation.folds import make_folds

    with ProgressLine("drawing"):
        sizes = make_folds(reference, out, count=count, seed=seed, cases=cases)
    _show(sizes)
    print_done(f"wrote {out}")


@command.command("merge")
@click.argument("submissions", nargs=-1, required=True, type=FILE)
@click.option("--folds", required=True, type=FILE, help="Table of series and folds.")
@click.option("--out", required=True, type=PATH, help="LUNA16 CSV, or a folder.")
@option("--name", str, "", "Name of the algorithm.  [default: that of --out]")
@json_option
def merge(submissions: tuple[Path, ...], folds: Path, out: Path, name: str) -> None:
    r"""Merge SUBMISSIONS, one for each fold, into one submission.

    The marked cases show the fold of a submission; a file with only a header belongs to a fold
    without marks. Errors are: a case that two files mark, a case in no fold, a submission of
    several folds, and a fold without a submission.

    \b
    nodulebench folds merge fold0.csv fold1.csv fold2.csv --folds folds.csv --out submission.csv
    """
    from nodulebench.evaluation.folds import merge_folds

    with ProgressLine("merging"):
        merged = merge_folds(submissions, folds, out, name=name)
    print_json(merged)
    for fold, path in merged.folds.items():
        click.echo(f"fold {fold}: {path}")
    none = f", {merged.without} cases have no mark" if merged.without else ""
    print_done(f"wrote {out}: {merged.marks} marks on {merged.cases} cases{none}")


@command.command("check")
@click.argument("folds", nargs=-1, required=True, type=FILE)
@click.option("--reference", required=True, type=PATH, help="Test set.")
@click.option("--cases", type=PATH, help="Table of cases with their patients.")
@json_option
def check(folds: tuple[Path, ...], reference: Path, cases: Path | None) -> None:
    r"""Check that every case is tested once and not trained on.

    FOLDS is one table with the columns seriesuid and fold (optionally part: test or train), or a
    list of cases for each fold.

    \b
    nodulebench folds check folds.csv --reference luna16/
    nodulebench folds check fold0.csv fold1.csv fold2.csv --reference luna16/
    """
    from nodulebench.evaluation.folds import check_folds

    with ProgressLine("checking"):
        sizes = check_folds(folds, reference, cases=cases)
    _show(sizes)
    total = sum(siz.cases for siz in sizes)
    click.echo(f"every one of {total} cases is tested once, in {len(sizes)} folds")


def _show(sizes: "Sequence[FoldSize]") -> None:
    width = max(4, *(len(siz.fold) for siz in sizes))
    click.secho(f"{'fold':<{width}} {'cases':>6} {'patients':>9} {'nodules':>8}", bold=True)
    for siz in sizes:
        patients = "-" if siz.unnamed == siz.cases else siz.patients
        click.echo(f"{siz.fold:<{width}} {siz.cases:>6} {patients:>9} {siz.nodules:>8}")
    print_json(sizes)
    unnamed, total = sum(siz.unnamed for siz in sizes), sum(siz.cases for siz in sizes)
    if unnamed:
        of = "no case names its patient" if unnamed == total else f"{unnamed} cases name no patient"
        click.echo(
            f"note: {of}; each of them counts as a separate patient. "
            "Name them with --cases, a table of case_id and patient_id."
        )
