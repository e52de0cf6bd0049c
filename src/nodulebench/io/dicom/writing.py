"""Fill in what every DICOM object we write must state: time, program, series."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.optional_packages import needs
from nodulebench.io.atomic import staged_file, staged_folder
from nodulebench.io.cases import file_of_case
from nodulebench.io.dicom.codes import Concept
from nodulebench.io.dicom.header import IMPLEMENTATION_UID
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.volumes import images_of_cases

if TYPE_CHECKING:
    from highdicom.sr import CodedConcept
    from pydicom import Dataset

Made = TypeVar("Made")
MAKER = "NoduleBench"
MOST_NAMED = 5
LONGEST_NAME = 64
_REPEATED = {
    "Modality": "CT",
    "PatientID": "",
    "PatientName": "",
    "PatientBirthDate": "",
    "PatientSex": "",
    "StudyInstanceUID": "",
    "StudyDate": "",
    "StudyTime": "",
    "StudyID": "",
    "AccessionNumber": "",
    "ReferringPhysicianName": "",
}
"""Attributes that an object repeats from its images."""


def moment() -> datetime:
    return datetime.now().astimezone().replace(microsecond=0, tzinfo=None)


def coded(concept: Concept) -> "CodedConcept":
    with needs("dicom", "writing DICOM objects"):
        from highdicom import sr
    return sr.CodedConcept(concept.value, concept.scheme, concept.meaning)


def person_name(name: str) -> str:
    """A name as DICOM writes it: a name of a single part ends with a caret."""
    if set(name) & set("\\=") or not 0 < len(name) < LONGEST_NAME:
        raise InputError.at(
            f"reader '{name[:LONGEST_NAME]}'",
            "cannot be a person's name in DICOM.",
            f"Leave out '\\' and '='; use at most {LONGEST_NAME - 1} characters.",
        )
    return name if "^" in name else f"{name}^"


def create_quietly(maker: Callable[..., Made], **parts: object) -> Made:
    """Create a highdicom object without warnings about what it repeats from the images."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return maker(**parts)


def settle(data: "Dataset", written: datetime) -> None:
    """Give an object one time of writing, UTF-8 (for names of readers), and our name."""
    from pydicom.uid import UID

    data.SpecificCharacterSet = "ISO_IR 192"
    date, time = f"{written:%Y%m%d}", f"{written:%H%M%S}"
    for part in ("Content", "Series", "InstanceCreation"):
        if f"{part}Date" in data:
            setattr(data, f"{part}Date", date)
        if f"{part}Time" in data:
            setattr(data, f"{part}Time", time)
    for equipment in data.get("ContributingEquipmentSequence") or ():
        if "ContributionDateTime" in equipment:
            equipment.ContributionDateTime = date + time
    data.file_meta.ImplementationClassUID = UID(IMPLEMENTATION_UID)
    data.file_meta.ImplementationVersionName = "NODULEBENCH"


def series_of_cases(
    cases: pl.DataFrame | None, case_ids: Sequence[str], what: str
) -> dict[str, Series]:
    described = {
        case_id: _described(series) for case_id, series in images_of_cases(cases, case_ids).items()
    }
    missing = [case_id for case_id in case_ids if case_id not in described]
    raise_problems(
        Problem(
            f"case '{case_id}'",
            f"has no images, but {what} must refer to its images.",
            "Give the folder of the DICOM series as cases, or a table of cases whose column "
            "'images' names the folder of each.",
        )
        for case_id in missing[:MOST_NAMED]
    )
    return described


def _described(series: Series) -> Series:
    """The series with all attributes that objects must repeat; unknown ones are left blank."""
    if not series.frame_of_reference:
        raise InputError.at(
            f"{Path(series.files[0]).parent} series {series.uid}",
            "has no FrameOfReferenceUID, so positions in it are undefined.",
            "Export the series with it.",
        )
    if len(series.files) < len(series.slices):
        raise InputError.at(
            f"{Path(series.files[0]).parent} series {series.uid}",
            "has many frames in one file; DICOM objects need one file per slice.",
            "Convert it to CT Image Storage, or write another format.",
        )
    for image in series.images:
        for keyword, value in _REPEATED.items():
            if keyword not in image:
                setattr(image, keyword, value)
        if not image.get("SliceThickness"):
            image.SliceThickness = f"{series.geometry.spacing_mm[2]:.6g}"
    return series


def save_objects(path: Path, objects: "Iterable[tuple[str, Dataset]]") -> None:
    held = list(objects)
    if path.suffix.lower() != ".dcm":
        with staged_folder(path, is_new=True) as stage:
            for name, data in held:
                data.save_as(stage / file_of_case(name, ".dcm"), enforce_file_format=True)
        return
    if len(held) != 1:
        raise InputError.at(
            path, f"is one file, and there are {len(held)} objects to write.", "Give a folder."
        )
    with staged_file(path) as stage:
        held[0][1].save_as(stage, enforce_file_format=True)
