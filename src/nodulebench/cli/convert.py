"""nodulebench convert: marks or a reference from one format to another."""

from pathlib import Path

import click

FILE = click.Path(path_type=Path)


@click.command("convert")
@click.argument("source", metavar="INPUT", type=FILE)
@click.argument("target", metavar="OUTPUT", type=FILE)
@click.option("--from", "from_format", metavar="FORMAT", help="Format of INPUT; else recognised.")
@click.option("--to", "to_format", metavar="FORMAT", required=True, help="Format of OUTPUT.")
@click.option(
    "--what",
    type=click.Choice(["marks", "reference"]),
    help="What INPUT holds; else what it looks like.",
)
@click.option("--cases", type=FILE, help="Table of cases with geometry, for formats in voxels.")
def command(
    source: Path,
    target: Path,
    from_format: str | None,
    to_format: str,
    what: str | None,
    cases: Path | None,
) -> None:
    """Convert marks or a reference between formats, and say what is lost."""
    from nodulebench.workflows.convert import convert

    done = convert(
        source,
        target,
        from_format=from_format,
        to_format=to_format,
        what="marks" if what == "marks" else "reference" if what == "reference" else None,
        cases=cases,
    )
    for notice in done.notices:
        click.echo(f"note: {notice}", err=True)
    for loss in done.losses:
        click.echo(f"lost: {loss}", err=True)
    kind = "marks" if done.what == "marks" else "nodules and ignored findings"
    click.echo(
        f"wrote {target}: {done.items} {kind} of {done.cases} cases, "
        f"{done.from_format} to {done.to_format}"
    )
