"""nodulebench read: scans in the browser, for one person: a folder, an exam, a project, a study."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE, address_shown, page_options

if TYPE_CHECKING:
    from nodulebench.i18n.translator import LanguageName


@click.command("read")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--reader", "--as", "reader", help="Who reads; default: the name you are logged in by."
)
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
@click.option(
    "--images",
    type=click.Path(path_type=Path, exists=True),
    help="Scans of an annotation project or an observer study, if FOLDER is one.",
)
@click.option("--key", "own_key", type=FILE, help="Your OpenSSH key, if the project names keys.")
@click.option("--key-passphrase-file", type=FILE, help="File whose first line opens that key.")
@page_options
def command(
    folder: Path,
    reader: str | None,
    marks: Path | None,
    key: Path | None,
    images: Path | None,
    own_key: Path | None,
    key_passphrase_file: Path | None,
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

    FOLDER may be an annotation project, too, that 'annotate review start' made: the page then shows
    the cases in which you have a part and what is asked there: to read, to say types, to review and
    correct, to arbitrate. What you hand in are steps of the project. Or it is an observer study
    that 'annotate observer open' gave you: places that you judge one by one.

    \b
    nodulebench read scans/
    nodulebench read scans/ --reader anna --port 8040 --no-browser
    nodulebench read exam/ --reader anna --exam key.csv
    nodulebench read panel/ --images scans/ --as anna
    nodulebench read study/ --images scans/ --as anna
    """
    from nodulebench.annotation.observer_study.study import STUDY
    from nodulebench.annotation.project import PROJECT
    from nodulebench.web.viewer.app import ServeOptions, serve_folder, serve_project, serve_study
    from nodulebench.web.viewer.exam import exam_of

    is_project, is_study = (folder / PROJECT).is_file(), (folder / STUDY).is_file()
    if (is_project or is_study) != (images is not None):
        told = "needs --images, the folder of its scans" if images is None else "is no project"
        raise click.UsageError(f"{folder} {told}.")
    if (images is not None and key is not None) or (not is_project and own_key is not None):
        raise click.UsageError("--exam goes with a folder of scans, --key with a project.")
    options = ServeOptions(
        reader=reader or getpass.getuser(),
        folder=marks,
        port=port,
        language=language,
        on_ready=address_shown(
            "stop with Ctrl-C; everything that was drawn is saved", opens=browser
        ),
    )
    if images is None:
        serve_folder(folder, options, exam=None if key is None else exam_of(key))
        return
    if is_study:
        serve_study(folder, images, options)
        return
    from nodulebench.cli.options import first_line

    phrase = "" if key_passphrase_file is None else first_line(key_passphrase_file)
    serve_project(folder, images, options, key=own_key, passphrase=phrase)
