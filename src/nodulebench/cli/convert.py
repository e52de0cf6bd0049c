"""nodulebench convert: marks, a reference or readings from one format to another."""

from pathlib import Path
from typing import Literal

import click

from nodulebench.language import english

FILE = click.Path(path_type=Path)


@click.command("convert")
@click.argument("source", metavar="INPUT", type=FILE)
@click.argument("target", metavar="OUTPUT", type=FILE)
@click.option("--from", "from_format", metavar="FORMAT", help="Format of INPUT; else recognised.")
@click.option("--to", "to_format", metavar="FORMAT", required=True, help="Format of OUTPUT.")
@click.option(
    "--what",
    type=click.Choice(["marks", "reference", "readings"]),
    help="What INPUT holds; else what it looks like.",
)
@click.option("--cases", type=FILE, help="Table of cases with geometry, or folder of CT.")
def command(
    source: Path,
    target: Path,
    from_format: str | None,
    to_format: str,
    what: Literal["marks", "reference", "readings"] | None,
    cases: Path | None,
) -> None:
    """Convert marks, a reference or readings between formats, and say what is lost.

    DICOM reports and segmentations refer to the images: give their folder as --cases.
    """
    from nodulebench.workflows.convert import convert

    done = convert(
        source,
        target,
        from_format=from_format,
        to_format=to_format,
        what=what,
        cases=cases,
    )
    for notice in done.notices:
        click.echo(f"note: {english(notice)}", err=True)
    for loss in done.losses:
        click.echo(f"lost: {english(loss)}", err=True)
    kind = {"marks": "marks", "readings": "findings"}.get(done.what, "nodules and ignored findings")
    click.echo(
        f"wrote {target}: {done.items} {kind} of {done.cases} cases, "
        f"{done.from_format} to {done.to_format}"
    )
