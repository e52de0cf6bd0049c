"""nodulebench conformance: golden edge cases against this scorer or any other."""

from pathlib import Path

import click

from nodulebench.cli.help import DONE, PROBLEM
from nodulebench.cli.options import FILE
from nodulebench.cli.terminal import json_option, print_done, print_json, with_progress


@click.group("conformance", invoke_without_command=True)
@click.option("--scorer", metavar="COMMAND", help="Scorer to test.  [default: NoduleBench]")
@click.option("--case", "cases", multiple=True, help="Name of a case; may be repeated.")
@click.option("--verbose", "-v", is_flag=True, help="Explain each case.")
@click.pass_context
@json_option
def command(
    context: click.Context, scorer: str | None, cases: tuple[str, ...], verbose: bool
) -> int | None:
    r"""Run the golden test cases, and print which ones the scorer passes.

    A scorer is called as COMMAND annotations excluded seriesuids submission FOLDER. It writes
    FOLDER/result.json with counts, sensitivity and cpm.

    \b
    nodulebench conformance
    nodulebench conformance --scorer 'python my_scorer.py' --verbose
    nodulebench conformance --scorer 'python my_scorer.py' --case boundary
    nodulebench conformance export golden/
    """
    if context.invoked_subcommand is not None:
        return None
    from nodulebench.evaluation.conformance import run_conformance

    passed = total = 0
    outcomes = []
    for outcome in with_progress("scoring golden cases", run_conformance(scorer, cases), 0):
        total += 1
        outcomes.append(outcome)
        passed += outcome.is_passed
        word = (
            click.style("pass", fg="green") if outcome.is_passed else click.style("FAIL", fg="red")
        )
        detail = f"  ({outcome.detail})" if outcome.detail else ""
        click.echo(f"{word}  {outcome.kit:<7} {outcome.case}{detail}")
        if verbose or not outcome.is_passed:
            click.echo(f"      {outcome.teaches}")
    click.echo(f"\n{passed} of {total} cases passed by {scorer or 'nodulebench'}")
    print_json({"passed": passed, "cases": outcomes})
    return DONE if passed == total else PROBLEM


@command.command("export")
@click.argument("out", metavar="FOLDER", type=FILE)
def export(out: Path) -> None:
    r"""Write the golden test cases and answers into FOLDER.

    \b
    nodulebench conformance export golden/
    """
    from nodulebench.evaluation.conformance import export_cases

    print_done(f"wrote {out}: {export_cases(out)} cases")
