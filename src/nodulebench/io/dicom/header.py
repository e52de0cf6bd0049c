"""Build the header of a CT series as a DICOM dataset."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs

if TYPE_CHECKING:
    from pydicom import Dataset

CT_IMAGE_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
IMPLEMENTATION_UID = "2.25.172310954301287562350923810246893158077"


def uid_from(*words: object) -> str:
    """A DICOM UID computed only from the words, so that a series can be made again."""
    return uid_of_digest(hashlib.sha256("\n".join(map(str, words)).encode()).digest())


def uid_of_digest(digest: bytes) -> str:
    """A DICOM UID made of the first sixteen bytes of a digest."""
    # DICOM PS3.5 B.2: 2.25. and a UUID as one decimal number; bits set as for a random UUID
    number = bytearray(digest[:16])
    number[6] = number[6] & 0x0F | 0x40
    number[8] = number[8] & 0x3F | 0x80
    return f"2.25.{int.from_bytes(number, 'big')}"


@dataclass(frozen=True, slots=True)
class SeriesHeader:
    """Patient, study, scanner and exposure of a CT series, in DICOM's terms."""

    series_uid: str
    study_uid: str
    frame_of_reference_uid: str
    patient_id: str
    patient_name: str = ""
    patient_sex: str = ""
    patient_age: str = ""
    """As DICOM writes it: '061Y'."""
    patient_position: str = "HFS"
    study_date: str = "20240101"
    study_time: str = "080000"
    study_description: str = "CT CHEST"
    series_description: str = "CHEST"
    series_number: int = 1
    institution: str = ""
    manufacturer: str = ""
    model: str = ""
    station: str = ""
    software: str = ""
    kernel: str = ""
    kvp: float = 120.0
    tube_current_ma: int = 200
    exposure_time_ms: int = 500
    exposure_mas: int = 100
    slice_thickness_mm: float = 1.0
    contrast_agent: str = ""
    is_signed: bool = True
    """Whether stored values are signed; then 16 bits are used, else 12."""
    rescale_intercept: int = -1024
    padding_hu: int | None = None
    """Value outside the round field of view; None if it is not marked."""
    comment: str = ""


_TABLES: JsonObject = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def base_dataset(header: SeriesHeader, voxel_counts: tuple[int, int]) -> "Dataset":
    with needs("images", "DICOM"):
        import pydicom
    data = pydicom.Dataset()
    data.SOPClassUID = CT_IMAGE_STORAGE
    for keyword, value in _TABLES["constants"].items():
        setattr(data, keyword, value)
    for keyword, field in _TABLES["fields"].items():
        setattr(data, keyword, getattr(header, field))
    for part in ("Study", "Series", "Acquisition", "Content"):
        setattr(data, f"{part}Date", header.study_date)
        setattr(data, f"{part}Time", header.study_time)
    data.PatientName = header.patient_name or header.patient_id
    data.KVP, data.SliceThickness = f"{header.kvp:g}", f"{header.slice_thickness_mm:g}"
    data.Rows, data.Columns = voxel_counts
    data.BitsStored = 16 if header.is_signed else 12
    data.HighBit = data.BitsStored - 1
    data.PixelRepresentation = int(header.is_signed)
    data.RescaleIntercept = str(header.rescale_intercept)
    if header.padding_hu is not None:
        data.PixelPaddingValue = header.padding_hu - header.rescale_intercept
    if header.comment:
        data.ImageComments = header.comment
    if header.contrast_agent:
        data.ContrastBolusAgent, data.ContrastBolusRoute = header.contrast_agent, "IV"
    return data
