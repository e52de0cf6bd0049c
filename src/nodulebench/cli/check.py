"""nodulebench check: report problems of submissions, without scoring them."""

from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import (
    FILE,
    call_with,
    cases_option,
    columns_option,
    reference_option,
    series_option,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.errors import folded_problems
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.evaluation.check import Checked


@click.command("check")
@click.argument("marks", nargs=-1, required=True, type=FILE)
@reference_option
@click.option("--protocol", help="Test protocol.  [default: luna16]")
@series_option
@cases_option
@columns_option
@json_option
def command(**options: object) -> int:
    r"""Check MARKS without scoring them.

    Reports duplicate rows, unknown or missing cases, marks outside the scan, inverted scores, and
    coordinate errors that would explain why few nodules are hit. A sealed test set is not opened.
    The exit status is 1 if a file cannot be scored.

    \b
    nodulebench check my_marks.csv --reference luna16/
    """
    from nodulebench.evaluation.check import CheckOptions, check_files

    with ProgressLine("checking"):
        checks, cases_in_set = check_files(call_with(CheckOptions, options))
    if cases_in_set is None:
        click.echo("the test set is sealed: only the files are checked")
    for check in checks:
        _print(check, cases_in_set)
    print_json({"cases": cases_in_set, "files": checks})
    return int(any(check.problems for check in checks))


def _print(check: "Checked", cases_in_set: int | None) -> None:
    name = check.path.name
    for problem in folded_problems(check.problems):
        click.echo(f"error: {problem}", err=True)
    for notice in check.notices:
        click.echo(f"warning: {name}: {in_english(notice)}", err=True)
    if check.problems:
        click.echo(f"{name}: cannot be scored")
        return
    of = "" if cases_in_set is None else f" of {cases_in_set:,}"
    count = len(check.notices)
    verdict = f"{count} warning{'s' if count > 1 else ''}" if count else "no problems"
    click.echo(
        f"{name}: {check.format}, {check.marks:,} marks in {check.cases:,}{of} cases: {verdict}"
    )
