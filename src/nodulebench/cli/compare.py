"""nodulebench compare: how algorithms of an evaluation differ from one of them."""

from pathlib import Path

import click

from nodulebench.cli.help import DONE, NOT_MET
from nodulebench.cli.options import (
    FILE,
    FOLDER,
    POSITIVE,
    WHOLE,
    OwnKey,
    call_with,
    option,
    own_key_options,
    print_written,
)
from nodulebench.cli.output import comparison_json, print_comparison, print_gate
from nodulebench.cli.stored_results import (
    compare_on_sealed,
    evaluation_option,
    is_sealed_set,
    study_options,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_json


@click.command("compare")
@click.argument("folder", metavar="NEW", type=FILE)
@click.argument("old", metavar="[OLD]", required=False, type=FILE)
@click.option("--baseline", help="Algorithm to compare with, instead of OLD.")
@click.option(
    "--margin", type=POSITIVE, help="Margin of the tests for non-inferiority and equivalence."
)
@click.option(
    "--no-worse-than",
    "gate",
    metavar="MARGIN",
    type=POSITIVE,
    help="As --margin; the exit status is 3 unless non-inferiority is shown for each metric.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Metric; may be repeated.  [default: those of the protocol]",
)
@click.option("--bootstraps", type=click.IntRange(min=2), help="Number of bootstrap samples.")
@option("--permutations", WHOLE, 2000, "Number of random permutations; 0 skips the test.")
@click.option("--all", "is_all", is_flag=True, help="Print every difference, rank and nodule.")
@own_key_options()
@evaluation_option
@click.option("--out", type=FOLDER, help="Sealed test set: new folder for the laboratory's report.")
@json_option
def command(
    folder: Path,
    old: Path | None,
    gate: float | None,
    is_all: bool,
    own_key: OwnKey,
    evaluations: tuple[str, ...],
    out: Path | None,
    **options: object,
) -> int:
    r"""Compare NEW with OLD, or the algorithms in NEW with a baseline.

    Both are folders that `evaluate` wrote, for the same test set and protocol. NEW may be a sealed
    set: its stored results are then compared. Without --metric, --no-worse-than tests the CPM, or
    the first metric that is better when higher.

    \b
    nodulebench evaluate new.csv old.csv --reference luna16/ --out result/
    nodulebench compare result/ --baseline old --margin 0.05
    nodulebench compare this-release/ last-release/ --no-worse-than 0.01
    nodulebench compare sealed/ --key ~/.ssh/dee --baseline A1
    """
    from nodulebench.evaluation.comparison.compare import ComparisonChoice
    from nodulebench.evaluation.comparison.service import (
        compare_folder,
        compare_folders,
        gate_of,
        is_signed,
    )

    if (old is None) == (options["baseline"] is None):
        raise click.UsageError("give either OLD or --baseline")
    if options["margin"] is not None and gate is not None:
        raise click.UsageError("--no-worse-than is a --margin: give only one of them")
    options["baseline"], options["margin"] = options["baseline"] or "", options["margin"] or gate
    choice = call_with(ComparisonChoice, options)
    if is_sealed_set(folder):
        if old is not None:
            raise click.UsageError("a sealed set needs --baseline instead of OLD")
        order = study_options(folder, own_key, evaluations)
        comparison, written = compare_on_sealed(order, choice, out)
        print_comparison(comparison, is_all=is_all)
        print_written(*written)
    elif old is not None:
        with ProgressLine("comparing"):
            comparison = compare_folders(folder, old, choice)
        print_comparison(comparison, is_all=is_all)
    else:
        was_signed = is_signed(folder)
        with ProgressLine("comparing"):
            comparison, written = compare_folder(folder, choice)
        print_comparison(comparison, is_all=is_all)
        print_written(*written)
        if was_signed:
            click.echo("warning: the folder changed; its signature was removed.", err=True)
    print_json(lambda: comparison_json(comparison))
    if gate is None:
        return DONE
    answer = gate_of(comparison)
    print_gate(answer, gate)
    return DONE if answer.is_met else NOT_MET
