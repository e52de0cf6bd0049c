"""Build the header of a CT series as a DICOM dataset."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def base_dataset(header: SeriesHeader, voxel_counts: tuple[int, int]) -> "Dataset":
    """The elements that all slices of a series share, as a pydicom dataset."""
    with needs("images", "DICOM"):
        import pydicom
    data = pydicom.Dataset()
    _put_patient_and_study(data, header)
    _put_equipment_and_exposure(data, header)
    _put_pixel_description(data, header, voxel_counts)
    return data


def _put_patient_and_study(data: "Dataset", header: SeriesHeader) -> None:
    data.SpecificCharacterSet = "ISO_IR 192"
    data.SOPClassUID = CT_IMAGE_STORAGE
    data.StudyInstanceUID = header.study_uid
    data.SeriesInstanceUID = header.series_uid
    data.FrameOfReferenceUID = header.frame_of_reference_uid
    data.PositionReferenceIndicator = ""
    data.PatientID = header.patient_id
    data.PatientName = header.patient_name or header.patient_id
    data.PatientBirthDate = ""
    data.PatientSex = header.patient_sex
    data.PatientAge = header.patient_age
    for part in ("Study", "Series", "Acquisition", "Content"):
        setattr(data, f"{part}Date", header.study_date)
        setattr(data, f"{part}Time", header.study_time)
    data.AccessionNumber = ""
    data.ReferringPhysicianName = ""
    data.StudyID = "1"
    data.StudyDescription = header.study_description
    data.SeriesNumber = header.series_number
    data.SeriesDescription = header.series_description
    data.AcquisitionNumber = 1
    data.Modality = "CT"
    data.BodyPartExamined = "CHEST"
    data.PatientPosition = header.patient_position
    if header.comment:
        data.ImageComments = header.comment


def _put_equipment_and_exposure(data: "Dataset", header: SeriesHeader) -> None:
    data.Manufacturer = header.manufacturer
    data.ManufacturerModelName = header.model
    data.StationName = header.station
    data.InstitutionName = header.institution
    data.SoftwareVersions = header.software
    data.ConvolutionKernel = header.kernel
    data.KVP = f"{header.kvp:g}"
    data.XRayTubeCurrent = header.tube_current_ma
    data.ExposureTime = header.exposure_time_ms
    data.Exposure = header.exposure_mas
    data.SliceThickness = f"{header.slice_thickness_mm:g}"
    data.GantryDetectorTilt = "0"
    data.RotationDirection = "CW"
    data.ScanOptions = "HELICAL MODE"
    data.FilterType = "BODY FILTER"
    if header.contrast_agent:
        data.ContrastBolusAgent = header.contrast_agent
        data.ContrastBolusRoute = "IV"


def _put_pixel_description(
    data: "Dataset", header: SeriesHeader, voxel_counts: tuple[int, int]
) -> None:
    data.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    data.SamplesPerPixel = 1
    data.PhotometricInterpretation = "MONOCHROME2"
    data.Rows, data.Columns = voxel_counts
    data.BitsAllocated = 16
    data.BitsStored = 16 if header.is_signed else 12
    data.HighBit = data.BitsStored - 1
    data.PixelRepresentation = int(header.is_signed)
    data.RescaleIntercept = str(header.rescale_intercept)
    data.RescaleSlope = "1"
    data.RescaleType = "HU"
    if header.padding_hu is not None:
        data.PixelPaddingValue = header.padding_hu - header.rescale_intercept
    data.WindowCenter = ["40", "-600"]
    data.WindowWidth = ["400", "1500"]
    data.WindowCenterWidthExplanation = ["MEDIASTINUM", "LUNG"]
