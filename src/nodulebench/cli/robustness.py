"""nodulebench robustness: relations that the marks of any algorithm must satisfy."""

from pathlib import Path
from typing import Literal

import click

from nodulebench.cli.options import FILE, POSITIVE, WHOLE, call_with, option, weights_option
from nodulebench.cli.terminal import with_progress
from nodulebench.i18n.translator import in_english

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("robustness")
@click.argument("algorithm")
@click.argument("case", type=FILE)
@click.option("--out", type=FOLDER, help="Folder for the table and the marks of every variant.")
@click.option("--test", "tests", multiple=True, help="Only this test; may be given several times.")
@weights_option
@option(
    "--image", ["metaimage", "nifti", "dicom"], "metaimage", "What a command is given as {case}."
)
@option(
    "--tolerance", POSITIVE, 3.0, "How far apart in mm the same mark may be.", to="tolerance_mm"
)
@option(
    "--nodule-hu",
    click.FloatRange(-800, 1000),
    20.0,
    "Density of the inserted nodules; -600 for ground glass.",
)
@option("--seed", WHOLE, 0)
def command(
    algorithm: str,
    case: Path,
    out: Path | None,
    tests: tuple[str, ...],
    weights: tuple[Path, ...],
    image: Literal["metaimage", "nifti", "dicom"],
    **strictness: object,
) -> int:
    r"""Test how ALGORITHM's marks change when the image CASE is changed in known ways.

    ALGORITHM is a built-in detector's name or several joined by '+', a folder with an
    algorithm.toml, or a command with {case} and {out}. No reference is needed. Ends with 1 if a
    relation does not hold.

    \b
    nodulebench robustness isicad scan.mhd --out robustness/
    nodulebench robustness "my_detector {case} {out}" dicom_folder/ --test shift --test crop
    """
    from nodulebench.runner.robustness import (
        TESTS,
        RobustnessChoice,
        check_case,
        write_outcomes,
    )

    choice = call_with(RobustnessChoice, strictness)
    asked = tests or tuple(TESTS)
    runs = check_case(algorithm, case, choice, asked, image, weights)
    outcomes = []
    for outcome, bench in with_progress("testing relations", runs, len(asked)):
        outcomes.append(outcome)
        colour = {"pass": "green", "FAIL": "red"}.get(outcome.word, "yellow")
        click.echo(
            f"{click.style(f'{outcome.word:<10}', fg=colour)}  {outcome.name:<13}  "
            f"{in_english(outcome.relation)}"
        )
        click.echo(f"{'':<12}{in_english(outcome.verdict.measured)}")
        if out is not None:
            write_outcomes(out, outcomes, bench)
    failed = [outcome.name for outcome in outcomes if outcome.verdict.is_passed is False]
    tested = [outcome for outcome in outcomes if outcome.verdict.is_passed is not None]
    click.echo(f"\n{len(tested) - len(failed)} of {len(tested)} relations hold for {algorithm}")
    if len(tested) < len(outcomes):
        click.echo(f"{len(outcomes) - len(tested)} could not be tested")
    return 1 if failed else 0
