"""nodulebench read: a folder of scans in the browser, for one reader."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.page_options import address_shown, page_options

if TYPE_CHECKING:
    from nodulebench.language import LanguageName


@click.command("read")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--reader", help="Who reads; default: the name you are logged in by.")
@click.option(
    "--marks",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the readings; default: beside the scans, FOLDER-reading.",
)
@click.option(
    "--exam",
    "key",
    type=click.Path(path_type=Path, exists=True),
    help="The panel's key: its scans are an exam, and the sheet comes when all are handed in.",
)
@page_options
def command(
    folder: Path,
    reader: str | None,
    marks: Path | None,
    key: Path | None,
    port: int,
    language: "LanguageName",
    browser: bool,
) -> None:
    r"""Open a FOLDER of scans to be read: a CT viewer in the browser, on this machine alone.

    FOLDER holds scans in any form: DICOM series, .mhd, .mha, .nii, .nii.gz, zips of DICOM, or a
    test set; one such file is read alone. What is drawn is saved as it is drawn, beside the
    scans: close the page, or stop the command, and go on later. The address has a secret in it,
    and nobody else's page or machine can open it. The display is not calibrated for diagnosis.
    With --exam nothing of the key reaches the page before the last scan was handed in.

    \b
    nodulebench read scans/
    nodulebench read scans/ --reader anna --port 8040 --no-browser
    nodulebench read exam/ --reader anna --exam key.csv
    """
    from nodulebench.workbench.app import serve
    from nodulebench.workbench.exam import exam_of

    serve(
        folder,
        reader=reader or getpass.getuser(),
        folder=marks,
        port=port,
        speaks=language,
        exam=None if key is None else exam_of(key),
        opened=address_shown("stop with Ctrl-C; everything that was drawn is saved", opens=browser),
    )
