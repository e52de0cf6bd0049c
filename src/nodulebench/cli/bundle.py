"""nodulebench bundle: a test set as a folder with images, datasheet and digests of every file."""

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    call_with,
    cases_option,
    nodules_option,
    option,
    print_next,
    print_notices,
    series_option,
)
from nodulebench.cli.terminal import ProgressLine, print_done
from nodulebench.core.text import counted


@click.command("bundle")
@click.argument("reference", type=FILE)
@click.option("--out", required=True, type=FOLDER, help="New folder for the bundle.")
@click.option("--curated", type=FOLDER, help="Folder that 'curate' wrote, with cases and images.")
@click.option("--images", type=FOLDER, help="Folder of scans, named by case or DICOM.")
@series_option
@click.option(
    "--list-images",
    "lists_images",
    is_flag=True,
    help="List the images with their digests instead of copying them.",
)
@cases_option
@option("--set-name", str, "", "Name of the test set.  [default: that of the reference]", to="name")
@nodules_option
@click.option("--datasheet", "answers", type=FILE, help="Answers for the datasheet (TOML).")
def command(**options: object) -> None:
    r"""Write the test set REFERENCE as a bundle for testing and sealing.

    The bundle is a BagIt bag with tables, images, a datasheet and the digest of every file.

    \b
    nodulebench bundle reference/ --curated curated/ --out lung-2026a
    nodulebench bundle luna16/ --images scans/ --datasheet datasheet.toml --out lung-2026a
    nodulebench verify lung-2026a
    """
    from nodulebench.custody.bundle import BundleOptions, write_bundle

    out = options["out"]
    with ProgressLine() as line:
        made = write_bundle(call_with(BundleOptions, options), progress=line.tell)
    print_notices("note", made.notices)
    print_done(f"wrote {out}: {made.cases} cases, {made.images} image files")
    if made.passed_over:
        click.echo(
            f"skipped {counted(made.passed_over, 'DICOM file')} of series that are not a case"
        )
    print_gaps(made.gaps)
    if made.without_images:
        shown = ", ".join(made.without_images[:5])
        click.echo(
            f"warning: {counted(len(made.without_images), 'case')} without images: {shown}",
            err=True,
        )
    print_next(f"nodulebench seal {out} --key … --policy … --out SEALED")


def print_gaps(gaps: tuple[str, ...]) -> None:
    """Print the questions that the datasheet does not answer."""
    if gaps:
        click.echo(
            f"datasheet   {counted(len(gaps), 'question')} without an answer: {', '.join(gaps)}"
        )
