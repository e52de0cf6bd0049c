"""nodulebench evaluate: score submissions against a reference under a protocol."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.help import DONE, PROBLEM, VERDICT_STATUS
from nodulebench.cli.options import (
    FILE,
    FOLDER,
    OwnKey,
    call_with,
    cases_option,
    checkpoints_option,
    columns_option,
    executor_options,
    nodules_option,
    own_key_options,
    print_next,
    print_written,
    reference_option,
    series_option,
)
from nodulebench.cli.output import print_evaluation, print_missed
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.executor import ExecutorChoice
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.custody.evaluate import SealedEvaluateOptions
    from nodulebench.evaluation.service import EvaluateOptions


@click.command("evaluate")
@click.argument("marks", nargs=-1, type=FILE)
@reference_option
@click.option("--protocol", help="Test protocol.  [default: luna16, or the plan's]")
@click.option("--plan", type=FILE, help="Frozen test plan; the result then includes a verdict.")
@click.option("--out", type=FOLDER, help="Folder for evaluation.json, report.html and tables.")
@click.option("--force", is_flag=True, help="Replace a result that is already in the folder.")
@click.option("--name", "names", multiple=True, help="Name of the algorithm; one for each MARKS.")
@series_option
@cases_option
@nodules_option
@columns_option
@click.option("--candidates", type=FILE, help="List of the candidates that the marks score.")
@click.option(
    "--at-fp",
    type=click.FloatRange(min=0, min_open=True),
    help="Report recall, precision and misses at this number of false positives per case.",
)
@click.option("--bootstraps", type=click.IntRange(min=0), help="Number of bootstrap samples.")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed.")
@own_key_options()
@click.option("--developer", help="Developer of the algorithm, whose evaluation budget is used.")
@click.option(
    "--submissions", "roster", type=FILE, help="CSV of submissions: file, developer, alias."
)
@checkpoints_option
@executor_options("1")
@json_option
def command(
    own_key: OwnKey,
    developer: str | None,
    roster: Path | None,
    checkpoints: tuple[Path, ...],
    executor: ExecutorChoice,
    **fields: object,
) -> int:
    r"""Score MARKS, one file or folder per algorithm, under a protocol.

    \b
    nodulebench evaluate my_marks.csv --reference luna16/ --protocol luna16 --out result/
    nodulebench evaluate my_marks.csv --reference sealed/ --plan plan.json \
        --key ~/.ssh/bo --developer "Example Ltd" --out feedback/
    nodulebench evaluate --submissions roster.csv --reference sealed/ --protocol nifdc-2022 \
        --key ~/.ssh/bo --out feedback/
    """
    from nodulebench.evaluation.service import EvaluateOptions, evaluate_files

    options = call_with(EvaluateOptions, fields)
    if not options.marks and roster is None:
        raise click.UsageError("Missing argument 'MARKS...'.")
    if developer is not None or roster is not None:
        if executor != ExecutorChoice():
            raise click.UsageError(
                "A sealed set is evaluated by this process only: leave out --executor."
            )
        is_single = len(options.marks) == 1 and bool(developer)
        has_others = any(getattr(options, name) for name in NOT_ON_SEALED)
        if has_others or not own_key.is_given or (is_single if roster else not is_single):
            raise click.UsageError(
                "a sealed set takes one submission, --key and --developer, or --key and "
                "--submissions, and neither tables of cases and nodules nor --name and --columns"
            )
        return evaluate_on_sealed(
            options, own_key, developer=developer or "", roster=roster, checkpoints=checkpoints
        )
    if checkpoints:
        raise click.UsageError("--checkpoint needs a sealed set, --key and --developer")
    from nodulebench.core.documents.evaluation import evaluation_document
    from nodulebench.core.executor import open_executor

    with ProgressLine("evaluating") as line, open_executor(executor, 1) as workers:
        evaluation, written = evaluate_files(options, executor=workers, progress=line.tell)
    print_evaluation(evaluation)
    print_json(lambda: evaluation_document(evaluation))
    print_written(*written)
    if options.out is not None:
        print_missed(evaluation, options.out)
    return DONE if evaluation.plan is None else VERDICT_STATUS[evaluation.plan.verdict]


NOT_ON_SEALED = ("series", "cases", "nodules", "columns", "candidates", "names")
"""Fields of ``EvaluateOptions`` that a sealed set does not accept."""
ON_SEALED = ("protocol", "plan", "bootstraps", "seed", "at_fp", "out", "force")


def evaluate_on_sealed(
    options: "EvaluateOptions",
    own_key: OwnKey,
    *,
    developer: str,
    roster: Path | None,
    checkpoints: tuple[Path, ...],
) -> int:
    """Score submissions on a sealed set, and print what their developers may know.

    The exit status depends only on what is printed: it discloses nothing else.
    """
    from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed

    order = SealedEvaluateOptions(
        marks=Path() if roster else options.marks[0],
        sealed=options.reference,
        own_key=own_key.required(),
        developer=developer,
        checkpoints=checkpoints,
        **{name: getattr(options, name) for name in ON_SEALED},
    )
    if roster is not None:
        return _evaluate_roster(roster, order, options.marks)
    with ProgressLine("evaluating"):
        feedback, written = evaluate_sealed(order)
    _print(feedback)
    print_json(feedback)
    print_written(*written)
    return _status(feedback)


def _evaluate_roster(roster: Path, order: "SealedEvaluateOptions", files: tuple[Path, ...]) -> int:
    """Score the submissions of a roster; if one cannot be scored, the others are continued."""
    from nodulebench.custody.evaluate import evaluate_roster

    has_failed = False
    with ProgressLine("evaluating") as line:
        results = list(evaluate_roster(roster, order, files, line.tell))
    for result in results:
        if result.feedback is None:
            has_failed = True
            click.echo(f"error: {result.entry.alias}: {result.problem}", err=True)
            continue
        click.echo(f"{result.entry.alias}: ", nl=False)
        _print(result.feedback)
        if result.was_done:
            click.echo("done before, and charged once")
        print_written(*result.written)
    print_json([{"alias": result.entry.alias, "feedback": result.feedback} for result in results])
    print_next(f"nodulebench report {order.sealed} --baseline … --out STUDY")
    return PROBLEM if has_failed else _status(*(result.feedback or {} for result in results))


def _status(*feedback: JsonObject) -> int:
    """The exit status for the verdicts that developers may know; the worst verdict counts."""
    verdicts = {answer.get("verdict") for answer in feedback}
    return next((code for verdict, code in VERDICT_STATUS.items() if verdict in verdicts), DONE)


def _print(feedback: JsonObject) -> None:
    from nodulebench.core.text import in_a_line

    click.echo(in_a_line(f"{feedback['algorithm']} on {feedback['test_set']}"))
    if "verdict" in feedback:
        has_reason = "verdict_reason" in feedback
        reason = f" ({in_english(feedback['verdict_reason'])})" if has_reason else ""
        click.echo(f"plan {feedback['plan']}: {feedback['verdict']}{reason}")
    for name, metric in feedback.get("metrics", {}).items():
        value = in_english(metric["reason"]) if metric["value"] is None else f"{metric['value']:g}"
        word = "at most" if metric.get("side") == "upper" else "at least"
        bound = f", {word} {metric['bound']:g}" if "bound" in metric else ""
        click.echo(f"{name} {value}{bound}")
    budget = feedback["budget"]
    click.echo(f"evaluation {budget['used']} of {budget['allowed']}")
    if "warning" in budget:
        click.echo(f"warning: {in_english(budget['warning'])}", err=True)
