"""DICOM objects from a network -> files in a folder, one folder per series, whole or not at all.

Nothing that was sent decides where a file goes but its UIDs, and these must be UIDs.
"""

from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.core.text import in_a_line
from nodulebench.io.atomic import staged_file
from nodulebench.io.dicom.slices import UID

LONGEST_UID = 64
PURPOSE = "receiving from a PACS"


def store_object(dataset: Any, folder: Path) -> Path:
    """Write a received object to ``folder/<series>/<object>.dcm``; the path.

    An object that is there already is kept if it has the same bytes, and refused if it has not.

    Raises:
        InputError: if its UIDs are none, or another object with its UID is there.
    """
    series = checked_uid(dataset, "SeriesInstanceUID")
    name = checked_uid(dataset, "SOPInstanceUID")
    path = folder / series / f"{name}.dcm"
    path.parent.mkdir(parents=True, exist_ok=True)
    with needs("pacs", PURPOSE):
        import pydicom
    with staged_file(path) as stage:
        pydicom.dcmwrite(stage, dataset, enforce_file_format=True)
        if path.exists() and path.read_bytes() != stage.read_bytes():
            raise InputError.at(
                path,
                "is there with other content; the object that was sent was not kept.",
                "Receive into an empty folder, and ask the sender which one is right.",
            )
    return path


def checked_uid(dataset: Any, keyword: str) -> str:
    """A UID of an object.

    Raises:
        InputError: if it is missing or is no UID; it would become the name of a file.
    """
    uid = str(dataset.get(keyword, "") or "")
    if len(uid) > LONGEST_UID or not UID.fullmatch(uid):
        shown = f"'{in_a_line(uid[:LONGEST_UID])}' is no UID" if uid else "is missing"
        raise InputError.at("received object", f"its {keyword} {shown}; it was not kept.")
    return uid
