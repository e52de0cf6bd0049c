"""nodulebench read: read scans in the browser: a folder, an exam, a project or a study."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE, address_shown, page_options

if TYPE_CHECKING:
    from nodulebench.i18n.translator import LanguageName


@click.command("read")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--reader", "--as", "reader", help="Reader; default: your login name.")
@click.option(
    "--marks",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the readings; default: FOLDER-reading, next to the scans.",
)
@click.option(
    "--exam",
    "key",
    type=click.Path(path_type=Path, exists=True),
    help="The panel's key: its scans are an exam; the result appears after all are submitted.",
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
    r"""Open a FOLDER of scans for reading: a CT viewer in the browser, on this machine only.

    FOLDER holds scans in any form: DICOM series, .mhd, .mha, .nii, .nii.gz, zips of DICOM, or a
    test set; a single such file is possible, too. Drawings are saved at once, next to the scans:
    close the page or stop the command, and continue later. The address contains a secret; other
    pages and machines cannot open it. The display is not calibrated for diagnosis. With --exam the
    key stays hidden until the last scan is submitted.

    FOLDER may also be an annotation project that 'annotate review start' made: the page then shows
    your cases and tasks: read, state types, review and correct, arbitrate. Submissions are steps of
    the project. Or it is an observer study that 'annotate observer open' opened: you classify
    positions one by one.

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
        what = "needs --images, the folder of its scans" if images is None else "is not a project"
        raise click.UsageError(f"{folder} {what}.")
    if (images is not None and key is not None) or (not is_project and own_key is not None):
        raise click.UsageError("--exam needs a folder of scans, --key needs a project.")
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
