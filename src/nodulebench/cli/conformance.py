"""nodulebench conformance: golden edge cases against our scorer or any other."""

import click


@click.command("conformance")
@click.option(
    "--scorer",
    metavar="COMMAND",
    help="Called as COMMAND annotations excluded seriesuids submission OUTDIR; "
    "writes OUTDIR/result.json with counts, sensitivity and cpm.",
)
@click.option("--verbose", "-v", is_flag=True, help="Say what each case teaches.")
def command(scorer: str | None, verbose: bool) -> int:
    r"""Run the golden edge cases and print which ones the scorer passes.

    \b
    nodulebench conformance
    nodulebench conformance --scorer 'python my_scorer.py' --verbose
    """
    from nodulebench.workflows.verify.conformance import run_conformance

    passed = total = 0
    for outcome in run_conformance(scorer):
        total += 1
        passed += outcome.is_passed
        word = (
            click.style("pass", fg="green") if outcome.is_passed else click.style("FAIL", fg="red")
        )
        detail = f"  ({outcome.detail})" if outcome.detail else ""
        click.echo(f"{word}  {outcome.kit:<7} {outcome.case}{detail}")
        if verbose or not outcome.is_passed:
            click.echo(f"      {outcome.teaches}")
    click.echo(f"\n{passed} of {total} cases passed by {scorer or 'nodulebench'}")
    return 0 if passed == total else 1
