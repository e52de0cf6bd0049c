"""nodulebench algorithm: write an algorithm from a template, and try the contract before a test."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import COUNT, FILE, option, print_next, print_written, weights_option
from nodulebench.cli.run import ISOLATIONS, PROFILES
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.core.algorithm import RunProfile


@click.group("algorithm")
def command() -> None:
    """Write an algorithm from a template, or try it on phantoms."""


@command.command("new")
@click.argument("folder", type=FILE)
@option("--template", ["python", "shell"], "python", "Language of the program.", to="language")
def new(folder: Path, language: str) -> None:
    r"""Write a working algorithm into FOLDER: a manifest and a program.

    \b
    nodulebench algorithm new my_cad
    """
    from nodulebench.runner.template import new_algorithm

    print_written(*new_algorithm(folder, language))
    print_next(f"nodulebench algorithm check {folder}")


@command.command("check")
@click.argument("algorithm")
@option(
    "--isolation",
    ISOLATIONS,
    "auto",
    "Sandbox of the algorithm; none is only for your own program.",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Layout of an image archive that has no algorithm.toml.",
)
@weights_option
@option("--count", COUNT, 2, "Number of phantoms.", to="cases")
@json_option
def check(
    algorithm: str,
    isolation: str,
    profile: "RunProfile | None",
    weights: tuple[Path, ...],
    cases: int,
) -> int:
    r"""Try ALGORITHM on small phantoms.

    ALGORITHM is named as for `run`. The report shows whether it starts, whether its output can be
    read, its messages, which limits it came near, and whether the same scan gives the same marks
    twice. The exit status is 1 if a case is not ok.

    \b
    nodulebench algorithm check my_cad
    """
    from nodulebench.runner.algorithms import named_algorithm
    from nodulebench.runner.check import check_algorithm, report_lines

    chosen = named_algorithm(algorithm, profile, weights)
    with ProgressLine(f"trying {chosen.name}") as line:
        check = check_algorithm(chosen, isolation, cases, line.tell)
    click.echo(f"{chosen.name} in isolation '{check.isolation}'")
    print_json(
        {"algorithm": chosen.name, "isolation": check.isolation, "is_good": check.is_good}
        | {"is_repeatable": check.is_repeatable}
        | {"cases": [case.run.measured | {"case_id": case.case_id} for case in check.cases]}
    )
    for case in check.cases:
        seconds, memory = case.run.measured.get("seconds"), case.run.measured.get("peak_memory_mb")
        used = [f"{case.run.marks.height} marks"]
        used += [] if seconds is None else [f"{seconds:.2f} s"]
        used += [] if memory is None else [f"{memory:.0f} MB"]
        colour = "green" if case.run.state == "ok" else "red"
        click.echo(f"  {click.style(case.run.state, fg=colour)}  {case.case_id}  {', '.join(used)}")
        for notice in report_lines(case.run):
            click.echo(f"      {in_english(notice)}")
        for name, share in case.near.items():
            click.echo(f"      used {share:.0%} of {name}")
        for message in case.run.output.splitlines()[-5:] if case.run.state != "ok" else ():
            click.echo(f"      message: {message}")
    if check.is_repeatable is not None:
        words = "the same marks" if check.is_repeatable else "other marks"
        click.echo(f"the same scan twice gives {words}")
    return 0 if check.is_good else 1
