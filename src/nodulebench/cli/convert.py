"""nodulebench convert: marks, a reference or readings from one format to another."""

import click

from nodulebench.cli.options import (
    FILE,
    call_with,
    cases_option,
    columns_option,
    print_notices,
    reader_table_option,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json


@click.command("convert")
@click.argument("source", metavar="INPUT", type=FILE)
@click.argument("target", metavar="OUTPUT", type=FILE)
@click.option(
    "--from", "from_format", metavar="FORMAT", help="Format of INPUT.  [default: recognised]"
)
@click.option("--to", "to_format", metavar="FORMAT", required=True, help="Format of OUTPUT.")
@click.option(
    "--what",
    type=click.Choice(["marks", "reference", "readings"]),
    help="Content of INPUT.  [default: recognised]",
)
@cases_option
@columns_option
@click.option("--rule", help="Mark rule whose labels are written.  [default: the first]")
@reader_table_option
@json_option
def command(**options: object) -> None:
    r"""Convert marks, a reference or readings, and report what is lost.

    DICOM reports and segmentations refer to the images: give their folder as --cases. A workbook
    for RJafroc, points for 3D Slicer and a worklist are made from the folder of a result:

    \b
    nodulebench convert result study.xlsx --to jafroc_xlsx
    nodulebench convert result study.xlsx --to jafroc_xlsx --reader-table who.csv
    nodulebench convert result points --to slicer_markups
    nodulebench convert result worklist.csv --to worklist_csv
    """
    from nodulebench.evaluation.convert import ConvertOptions, convert

    with ProgressLine("converting"):
        done = convert(call_with(ConvertOptions, options))
    print_notices("note", done.notices)
    print_notices("lost", done.losses)
    print_json(done)
    kinds = {"marks": "marks", "readings": "findings", "result": "nodules"}
    kind = kinds.get(done.what, "nodules and ignored findings")
    print_done(
        f"wrote {options['target']}: {done.items} {kind} of {done.cases} cases, "
        f"{done.from_format} to {done.to_format}"
    )
