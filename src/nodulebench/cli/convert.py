"""nodulebench convert: marks, a reference or readings from one format to another."""

import click

from nodulebench.cli.options import FILE, call_with, print_notices
from nodulebench.cli.terminal import ProgressLine


@click.command("convert")
@click.argument("source", metavar="INPUT", type=FILE)
@click.argument("target", metavar="OUTPUT", type=FILE)
@click.option(
    "--from", "from_format", metavar="FORMAT", help="Format of INPUT; default: recognised."
)
@click.option("--to", "to_format", metavar="FORMAT", required=True, help="Format of OUTPUT.")
@click.option(
    "--what",
    type=click.Choice(["marks", "reference", "readings"]),
    help="What INPUT holds; default: recognised.",
)
@click.option("--cases", type=FILE, help="Table of cases with geometry, or folder of CT.")
@click.option("--columns", help="Own columns: case=...,x=...,y=...,z=...,score=..., or TOML file.")
@click.option("--rule", help="Rule of a result whose labels are written; default: the first.")
@click.option(
    "--readers", type=FILE, help="Readers of a result: table of algorithm, treatment, reader_id."
)
def command(**options: object) -> None:
    r"""Convert marks, a reference or readings between formats, and report losses.

    DICOM reports and segmentations refer to the images: give their folder as --cases. A workbook
    for RJafroc, points for 3D Slicer and a worklist are made from the folder of an evaluation:

    \b
    nodulebench convert result study.xlsx --to jafroc_xlsx
    nodulebench convert result study.xlsx --to jafroc_xlsx --readers who.csv
    nodulebench convert result points --to slicer_markups
    nodulebench convert result worklist.csv --to worklist_csv
    """
    from nodulebench.evaluation.convert import ConvertOptions, convert

    with ProgressLine("converting"):
        done = convert(call_with(ConvertOptions, options))
    print_notices("note", done.notices)
    print_notices("lost", done.losses)
    kinds = {"marks": "marks", "readings": "findings", "result": "nodules"}
    kind = kinds.get(done.what, "nodules and ignored findings")
    click.echo(
        f"wrote {options['target']}: {done.items} {kind} of {done.cases} cases, "
        f"{done.from_format} to {done.to_format}"
    )
