"""nodulebench check: tell what may be wrong with submissions, without scoring them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE
from nodulebench.cli.terminal import ProgressLine
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.evaluation.check.service import Checked


@click.command("check")
@click.argument("marks", nargs=-1, required=True, type=FILE)
@click.option("--reference", required=True, type=FILE, help="Bundle, LUNA16 folder or NIFDC CSV.")
@click.option("--protocol", help="Name or TOML file.  [default: luna16]")
@click.option("--series", type=FILE, help="List of cases: restricts and orders them (a fold).")
@click.option("--cases", type=FILE, help="Table of cases (geometry, patients, strata), or CT.")
@click.option("--columns", help="Own columns: case=...,x=...,y=...,z=...,score=..., or TOML file.")
def command(
    marks: tuple[Path, ...],
    reference: Path,
    protocol: str | None,
    series: Path | None,
    cases: Path | None,
    columns: str | None,
) -> int:
    r"""Look through MARKS as evaluate would read them; nothing is scored.

    Told are rows given twice, cases without a mark, names that nearly match, marks outside the
    scan, inverted scores, and slips of coordinates that would explain why few nodules are hit.
    Of a sealed test set nothing is opened. The exit status is 1 if anything could not be scored.

    \b
    nodulebench check my_marks.csv --reference luna16/
    """
    from nodulebench.evaluation.check.service import check_files

    with ProgressLine("looking through"):
        found, cases_in_set = check_files(
            marks, reference, protocol, series=series, cases=cases, columns=columns
        )
    if cases_in_set is None:
        click.echo("the test set is sealed: the files alone are looked through")
    for one in found:
        _print(one, cases_in_set)
    return int(any(one.problems for one in found))


def _print(one: "Checked", cases_in_set: int | None) -> None:
    for problem in one.problems:
        click.echo(f"error: {problem}", err=True)
    for notice in one.notices:
        click.echo(f"warning: {one.path.name}: {in_english(notice)}", err=True)
    if one.problems:
        click.echo(f"{one.path.name}: cannot be scored")
        return
    of = "" if cases_in_set is None else f" of {cases_in_set:,}"
    verdict = "nothing wrong was found" if not one.notices else f"{len(one.notices)} warning(s)"
    click.echo(
        f"{one.path.name}: {one.format}, {one.marks:,} marks in {one.cases:,}{of} cases: {verdict}"
    )
