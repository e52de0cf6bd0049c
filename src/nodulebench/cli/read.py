"""nodulebench read: scans in the browser, for one person: a folder, an exam, a project, a study."""

import getpass
from functools import partial
from pathlib import Path

import click

from nodulebench.cli.options import (
    EXISTING,
    FILE,
    KEY,
    NEW_FOLDER,
    OPENS_KEY,
    address_shown,
    call_with,
    page_options,
)


@click.command("read")
@click.argument("place", metavar="FOLDER", type=EXISTING)
@click.option("--by", "reader", help="Your name.  [default: your login name]")
@click.option(
    "--readings",
    "folder",
    type=NEW_FOLDER,
    help="Folder for your readings.  [default: FOLDER-reading]",
)
@click.option(
    "--exam-key", "key", type=EXISTING, help="Answers of the panel: the scans are then an exam."
)
@click.option("--images", type=EXISTING, help="Folder of scans, for a project or a study.")
@click.option(
    "--key", "own_key", type=KEY, help="Your private OpenSSH key, if the project uses keys."
)
@click.option("--key-passphrase-file", type=FILE, help=OPENS_KEY)
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
    r"""Mark nodules on the scans in FOLDER, in the browser.

    FOLDER contains scans in any format: DICOM series, .mhd, .mha, .nii, .nii.gz, zips of DICOM, or
    a test set; it can also be a single file. Every change is saved at once, next to the scans: you
    can close the page or stop the command and continue later. Only this machine can open the page,
    because its address contains a secret. The display is not calibrated for diagnosis. With
    --exam-key the page receives no answers before the last scan is submitted.

    FOLDER can be an annotation project made by 'annotate review start'. The page then shows your
    cases and your task in each: read, choose types, review and correct, or arbitrate. Submitting a
    case is a step of the project. FOLDER can also be an observer study made by
    'annotate observer open', in which you classify locations one by one.

    \b
    nodulebench read scans/
    nodulebench read scans/ --by anna --port 8040 --no-browser
    nodulebench read exam/ --by anna --exam-key key.csv
    nodulebench read panel/ --images scans/ --by anna
    nodulebench read study/ --images scans/ --by anna
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
        raise click.UsageError("--exam-key goes with a folder of scans, --key with a project.")
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
