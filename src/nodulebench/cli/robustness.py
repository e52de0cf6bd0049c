"""nodulebench robustness: relations that the marks of any algorithm must satisfy."""

from pathlib import Path
from typing import Literal

import click

from nodulebench.cli.options import (
    FILE,
    NEW_FOLDER,
    POSITIVE,
    WHOLE,
    call_with,
    option,
    weights_option,
)
from nodulebench.cli.terminal import json_option, print_json, with_progress
from nodulebench.i18n.translator import in_english


@click.command("robustness")
@click.argument("algorithm")
@click.argument("case", type=FILE)
@click.option("--out", type=NEW_FOLDER, help="Folder for the table and the marks of every variant.")
@click.option("--test", "tests", multiple=True, help="Name of a test; may be repeated.")
@weights_option
@option(
    "--image-format",
    ["metaimage", "nifti", "dicom"],
    "metaimage",
    "Format of the images.",
    to="image",
)
@option("--distance", POSITIVE, 3.0, "Marks closer than this count as one.", to="tolerance_mm")
@option(
    "--nodule-hu",
    click.FloatRange(-800, 1000),
    20.0,
    "Density of the inserted nodules; -600 is ground glass.",
)
@option("--seed", WHOLE, 0, "Random seed.")
@json_option
def command(
    algorithm: str,
    case: Path,
    out: Path | None,
    tests: tuple[str, ...],
    weights: tuple[Path, ...],
    image: Literal["metaimage", "nifti", "dicom"],
    **strictness: object,
) -> int:
    r"""Test how marks of ALGORITHM change when the scan CASE changes.

    ALGORITHM is a built-in detector's name or several joined by '+', a folder with an
    algorithm.toml, or a command with {case} and {out}. No reference is needed. The exit
    status is 1 if a relation does not hold.

    \b
    nodulebench robustness isicad scan.mhd --out robustness/
    nodulebench robustness "my_detector {case} {out}" dicom_folder/ --test shift --test crop
    """
    from nodulebench.runner.robustness import TESTS, RobustnessChoice, check_case, write_outcomes

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
    print_json(outcomes)
    tested = [outcome for outcome in outcomes if outcome.verdict.is_passed is not None]
    click.echo(f"\n{len(tested) - len(failed)} of {len(tested)} relations hold for {algorithm}")
    if len(tested) < len(outcomes):
        click.echo(f"{len(outcomes) - len(tested)} could not be tested")
    return 1 if failed else 0
