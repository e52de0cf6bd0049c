"""A CT slice whose header names a made-up patient in every place that has been seen to do so."""

from pathlib import Path

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

NAME = "Zacharias^Quentin"
PATIENT = "KX-778213"
DATE = "20210317"
ROOT = "1.3.6.1.4.1.99999.7."
SECRETS = (
    "zacharias",
    "quentin",
    "778213",
    "mercyfield",
    "ottilie",
    "19480229",
    "harrowgate",
    "scanroom7",
)
"""Words that must not be in what is written."""


def identified_slice(number: int = 1, *, date: str = DATE, patient: str = PATIENT) -> Dataset:
    """One slice of 64 x 64 with identities in plain, nested, private and hidden places."""
    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.MediaStorageSOPClassUID = CTImageStorage
    data.file_meta.MediaStorageSOPInstanceUID = f"{ROOT}3.{number}"
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.file_meta.SourceApplicationEntityTitle = "HARROWGATE"
    data.preamble = b"Zacharias".ljust(128, b"\0")
    data.SpecificCharacterSet = "ISO_IR 192"
    data.SOPClassUID = CTImageStorage
    data.SOPInstanceUID = f"{ROOT}3.{number}"
    data.StudyInstanceUID = f"{ROOT}1.{date}"
    data.SeriesInstanceUID = f"{ROOT}2.{date}"
    data.FrameOfReferenceUID = f"{ROOT}4"
    data.Modality = "CT"
    data.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    _put_identities(data, date, patient)
    _put_hidden(data, date)
    data.Manufacturer, data.ManufacturerModelName = "SIEMENS", "Sensation 16"
    data.ConvolutionKernel, data.KVP = "B30f", "120"
    data.SliceThickness, data.PixelSpacing = "1.0", ["0.7", "0.7"]
    data.ImagePositionPatient, data.InstanceNumber = ["0", "0", str(number)], number
    data.ImageOrientationPatient = ["1", "0", "0", "0", "1", "0"]
    data.Rows = data.Columns = 64
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 16, 16, 15, 1
    data.RescaleSlope, data.RescaleIntercept = "1", "0"
    data.PixelData = body().tobytes()
    return data


def body() -> np.ndarray:
    """A round body in air, with noise."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[:64, :64] - 31.5
    hu = np.where(x**2 + y**2 < 20**2, 40, -1000) + random.normal(0, 10, (64, 64))
    return hu.astype("<i2")


def _put_identities(data: Dataset, date: str, patient: str) -> None:
    data.PatientName, data.PatientID, data.PatientBirthDate = NAME, patient, "19480229"
    data.PatientSex, data.PatientAge, data.PatientWeight = "M", "093Y", "71"
    data.OtherPatientIDs = "MRN778213"
    data.EthnicGroup, data.Occupation = "x", "Baker"
    data.InstitutionName, data.StationName = "Mercyfield General", "SCANROOM7"
    data.ReferringPhysicianName, data.OperatorsName = "Ottilie^A", "Ottilie^B"
    data.AccessionNumber, data.StudyID = "A778213", "778213"
    data.StudyDate = data.SeriesDate = data.ContentDate = date
    data.AcquisitionDateTime = f"{date}101500.25+0100"
    data.StudyTime, data.AcquisitionTime = "101500", "101533"
    data.StudyDescription = "CT Thorax Zacharias, low dose 1.5 mm"
    data.SeriesDescription = "Chest B30f 12/05/99 for Dr. Ottilie 555-1234"
    data.ProtocolName = "Mercyfield_Lung_LowDose"
    data.ImageComments = "discuss with Ottilie"
    data.DeviceSerialNumber = "SN-778213"
    data.PatientComments = "Zacharias is anxious"


def _put_hidden(data: Dataset, date: str) -> None:
    request = Dataset()
    request.RequestedProcedureDescription = "for Zacharias"
    request.ScheduledProcedureStepID = "778213"
    code = Dataset()
    code.CodeValue, code.CodingSchemeDesignator = "778213", "99MERCYFIELD"
    code.CodeMeaning = "Ottilie's protocol"
    request.ScheduledProtocolCodeSequence = [code]
    data.RequestAttributesSequence = [request]
    reference = Dataset()
    reference.ReferencedSOPClassUID = CTImageStorage
    reference.ReferencedSOPInstanceUID = f"{ROOT}3.77"
    purpose = Dataset()
    purpose.CodeValue, purpose.CodingSchemeDesignator = "121311", "DCM"
    purpose.CodeMeaning = "Localizer"
    reference.PurposeOfReferenceCodeSequence = [purpose]
    data.ReferencedImageSequence = [reference]
    block = data.private_block(0x0029, "MERCYFIELD PRIVATE", create=True)
    block.add_new(0x10, "LO", "Zacharias")
    block.add_new(0x11, "UN", b"Quentin 19480229")
    data.add_new(0x00104000, "LT", "Zacharias")
    data.add_new(0x60000010, "US", 8)
    data.add_new(0x60000011, "US", 8)
    data.add_new(0x60003000, "OW", b"Zachariasx" + bytes(6))
    data.add_new(0x60004000, "LT", "Quentin")
    data.add_new(0x50000005, "US", 1)
    data.add_new(0xFFFCFFFC, "OB", b"Zacharias ")
    data.add_new(0x00081111, "SQ", [_step(date)])


def _step(date: str) -> Dataset:
    step = Dataset()
    step.ReferencedSOPClassUID = "1.2.840.10008.3.1.2.3.3"
    step.ReferencedSOPInstanceUID = f"{ROOT}9"
    step.PerformedProcedureStepStartDate = date
    return step


def write_slice(data: Dataset, path: Path) -> Path:
    """Write a slice, preamble and all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pydicom.dcmwrite(path, data, enforce_file_format=True)
    return path
