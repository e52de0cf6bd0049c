"""nodulebench read: scans in the browser, for one person: a folder, an exam, a project, a study."""

import getpass
from functools import partial
from pathlib import Path

import click

from nodulebench.cli.options import FILE, address_shown, call_with, page_options


@click.command("read")
@click.argument("place", metavar="FOLDER", type=click.Path(path_type=Path, exists=True))
@click.option("--reader", "--as", "reader", help="Your name as a reader; default: your login name.")
@click.option(
    "--marks",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the readings; default: next to the scans, FOLDER-reading.",
)
@click.option(
    "--exam",
    "key",
    type=click.Path(path_type=Path, exists=True),
    help="The panel's key: its scans are an exam, which is scored when all are submitted.",
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
    place: Path,
    *,
    reader: str | None,
    folder: Path | None,
    images: Path | None,
    key: Path | None,
    own_key: Path | None,
    key_passphrase_file: Path | None,
    browser: bool,
    **options: object,
) -> None:
    r"""Read the scans in FOLDER: a CT viewer in the browser, for this machine only.

    FOLDER holds scans in any format: DICOM series, .mhd, .mha, .nii, .nii.gz, zips of DICOM, or a
    test set; it can also be a single file. Every change is saved at once, next to the scans: you
    can close the page or stop the command and continue later. The address contains a secret;
    pages and machines of other people cannot open it. The display is not calibrated for diagnosis.
    With --exam the page receives nothing of the key before the last scan is submitted.

    FOLDER can be an annotation project made by 'annotate review start'. The page then shows your
    cases and your task in each: read, choose types, review and correct, or arbitrate. Submitting a
    case is a step of the project. FOLDER can also be an observer study made by
    'annotate observer open', in which you classify locations one by one.

    \b
    nodulebench read scans/
    nodulebench read scans/ --reader anna --port 8040 --no-browser
    nodulebench read exam/ --reader anna --exam key.csv
    nodulebench read panel/ --images scans/ --as anna
    nodulebench read study/ --images scans/ --as anna
    """
    from nodulebench.annotation.observer_study import STUDY
    from nodulebench.annotation.project import PROJECT
    from nodulebench.cli.options import first_line
    from nodulebench.web.viewer.app import serve
    from nodulebench.web.viewer.exam import exam_of, open_exam_session
    from nodulebench.web.viewer.project import open_project_session
    from nodulebench.web.viewer.session import open_session
    from nodulebench.web.viewer.study import open_study_session

    is_project, is_study = (place / PROJECT).is_file(), (place / STUDY).is_file()
    if (is_project or is_study) and images is None:
        raise click.UsageError(f"{place} needs --images, the folder of its scans.")
    if not (is_project or is_study) and images is not None:
        raise click.UsageError(f"{place} is not a project or a study, which need --images.")
    if (images is not None and key is not None) or (not is_project and own_key is not None):
        raise click.UsageError("--exam goes with a folder of scans, --key with a project.")
    on_ready = address_shown("stop with Ctrl-C; all changes are saved", opens=browser)
    reader = reader or getpass.getuser()
    serve_session = partial(call_with, serve, options, on_ready=on_ready)
    if is_study and images is not None:
        serve_session(open_study_session(place, images, reader, folder))
    elif images is not None:
        phrase = "" if key_passphrase_file is None else first_line(key_passphrase_file)
        serve_session(open_project_session(place, images, reader, folder, own_key, phrase))
    elif key is not None:
        serve_session(open_exam_session(place, reader, exam_of(key), folder))
    else:
        serve_session(open_session(place, reader, folder))
