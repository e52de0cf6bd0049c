"""nodulebench evaluate: score submissions against a reference under a protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodulebench.cli.help import DONE, PROBLEM, VERDICT_STATUS
from nodulebench.cli.options import (
    FILE,
    Opening,
    executor_options,
    nodules_option,
    opening_options,
    print_next,
    print_written,
)
from nodulebench.cli.output.evaluation import print_evaluation, print_missed
from nodulebench.cli.terminal import ProgressLine
from nodulebench.core.executor import ExecutorChoice
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.custody.evaluate import SealedEvaluateOptions


@click.command("evaluate")
@click.argument("marks", nargs=-1, type=FILE)
@click.option("--reference", required=True, type=FILE, help="Bundle, LUNA16 folder or NIFDC CSV.")
@click.option("--protocol", help="Name or TOML file.  [default: luna16, or the plan's]")
@click.option("--plan", type=FILE, help="Frozen test plan: its protocol, and a verdict.")
@click.option("--out", type=FILE, help="Folder for evaluation.json, report.html and tables.")
@click.option("--force", is_flag=True, help="Replace a result that lies in the folder of --out.")
@click.option("--name", "names", multiple=True, help="Name of the algorithm, one for each MARKS.")
@click.option("--series", type=FILE, help="List of cases: restricts and orders them (a fold).")
@click.option("--cases", type=FILE, help="Table of cases (geometry, patients, strata), or CT.")
@nodules_option
@click.option("--columns", help="Own columns: case=...,x=...,y=...,z=...,score=..., or TOML file.")
@click.option("--candidates", type=FILE, help="Candidate list whose scores are judged.")
@click.option(
    "--at-fp",
    type=click.FloatRange(min=0, min_open=True),
    help="Read recall, precision, misses, strata at so many false positives per case.",
)
@click.option("--bootstraps", type=click.IntRange(min=0), help="Number of bootstrap replicates.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the bootstrap.")
@opening_options
@click.option(
    "--developer", help="On a sealed set: whose algorithm it is; evaluations are counted."
)
@click.option("--roster", type=FILE, help="On a sealed set: CSV of file, developer, alias.")
@click.option(
    "--checkpoint",
    "checkpoints",
    type=FILE,
    multiple=True,
    help="On a sealed set: its log holds this.",
)
@executor_options("1", "Rules of algorithms that are estimated at the same time.")
def command(
    marks: tuple[Path, ...],
    reference: Path,
    protocol: str | None,
    plan: Path | None,
    out: Path | None,
    force: bool,
    names: tuple[str, ...],
    series: Path | None,
    cases: Path | None,
    nodules: Path | None,
    columns: str | None,
    candidates: Path | None,
    at_fp: float | None,
    bootstraps: int | None,
    seed: int | None,
    opening: Opening,
    developer: str | None,
    roster: Path | None,
    checkpoints: tuple[Path, ...],
    executor: ExecutorChoice,
) -> int:
    r"""Score MARKS, one file or folder per algorithm, under every rule of a protocol.

    \b
    nodulebench evaluate my_marks.csv --reference luna16/ --protocol luna16 --out result/
    nodulebench evaluate my_marks.csv --reference sealed/ --plan plan.json \
        --key ~/.ssh/bo --developer "Example Ltd" --out feedback/
    nodulebench evaluate --roster roster.csv --reference sealed/ --protocol nifdc-2022 \
        --key ~/.ssh/bo --out feedback/
    """
    if not marks and roster is None:
        raise click.UsageError("Missing argument 'MARKS...'.")
    if opening.person or developer is not None or roster is not None:
        pass

        if executor != ExecutorChoice():
            raise click.UsageError("a sealed set is evaluated by this process alone")
        others = (series, cases, nodules, columns, candidates, names)
        is_one = len(marks) == 1 and bool(developer)
        if any(others) or not opening.is_named or (is_one if roster else not is_one):
            raise click.UsageError(
                "a sealed set takes one submission, --key (or --as) and --developer, or --key and "
                "--roster, and neither tables of cases and nodules nor --name and --columns"
            )
        return evaluate_on_sealed(
            marks,
            reference,
            roster=roster,
            opening=opening,
            developer=developer,
            protocol=protocol,
            plan=plan,
            bootstraps=bootstraps,
            seed=seed,
            at_fp=at_fp,
            out=out,
            force=force,
            checkpoints=checkpoints,
        )
    if checkpoints:
        raise click.UsageError(
            "--checkpoint goes with a sealed set, --key (or --as) and --developer"
        )
    from nodulebench.core.executors import open_executor
    from nodulebench.evaluation.service import evaluate_files

    with ProgressLine("evaluating") as line, open_executor(executor, 1) as workers:
        evaluation, written = evaluate_files(
            marks,
            reference,
            protocol,
            plan=plan,
            series=series,
            cases=cases,
            nodules=nodules,
            columns=columns,
            candidates=candidates,
            bootstraps=bootstraps,
            seed=seed,
            at_fp=at_fp,
            out=out,
            names=names,
            force=force,
            executor=workers,
            progress=line.tell,
        )
    print_evaluation(evaluation)
    print_written(*written)
    if out is not None:
        print_missed(evaluation, out)
    return DONE if evaluation.plan is None else VERDICT_STATUS[evaluation.plan.verdict]


def evaluate_on_sealed(
    marks: tuple[Path, ...],
    sealed: Path,
    *,
    roster: Path | None,
    developer: str | None,
    opening: Opening,
    **order: Any,
) -> int:
    """Score submissions on a sealed set, and say what their developers may be told.

    The exit status follows from what is told alone: nobody learns more from it.
    """
    from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed

    secret, order["person"] = opening.required(), opening.person
    if roster is not None:
        blank = SealedEvaluateOptions(Path(), sealed, secret, developer="", **order)
        return _evaluate_roster(roster, blank, marks)
    one = SealedEvaluateOptions(marks[0], sealed, secret, developer=developer or "", **order)
    with ProgressLine("evaluating"):
        told, written = evaluate_sealed(one)
    _print(told)
    print_written(*written)
    return _status(told)


def _evaluate_roster(roster: Path, order: "SealedEvaluateOptions", files: tuple[Path, ...]) -> int:
    """Score the submissions of a roster; where one cannot be scored, the others go on."""
    from nodulebench.custody.evaluate_roster import evaluate_roster

    has_failed = False
    with ProgressLine("evaluating") as line:
        found = list(evaluate_roster(roster, order, files, line.tell))
    for one in found:
        if one.feedback is None:
            has_failed = True
            click.echo(f"error: {one.entry.alias}: {one.problem}", err=True)
            continue
        click.echo(f"{one.entry.alias}: ", nl=False)
        _print(one.feedback)
        if one.was_done:
            click.echo("done before, and charged once")
        print_written(*one.written)
    print_next(f"nodulebench report {order.sealed} --baseline … --out STUDY")
    return PROBLEM if has_failed else _status(*(result.feedback or {} for result in found))


def _status(*feedback: JsonObject) -> int:
    """The exit status after the verdicts that developers may know; the worst one counts."""
    verdicts = {answer.get("verdict") for answer in feedback}
    return next((code for verdict, code in VERDICT_STATUS.items() if verdict in verdicts), DONE)


def _print(told: JsonObject) -> None:
    from nodulebench.core.text import in_a_line

    click.echo(in_a_line(f"{told['algorithm']} on {told['test_set']}"))
    if "verdict" in told:
        reason = f" ({in_english(told['verdict_reason'])})" if "verdict_reason" in told else ""
        click.echo(f"plan {told['plan']}: {told['verdict']}{reason}")
    for name, one in told.get("metrics", {}).items():
        value = in_english(one["reason"]) if one["value"] is None else f"{one['value']:g}"
        word = "at most" if one.get("side") == "upper" else "at least"
        bound = f", {word} {one['bound']:g}" if "bound" in one else ""
        click.echo(f"{name} {value}{bound}")
    budget = told["budget"]
    click.echo(f"evaluation {budget['used']} of {budget['allowed']}")
    if "warning" in budget:
        click.echo(f"warning: {in_english(budget['warning'])}", err=True)
