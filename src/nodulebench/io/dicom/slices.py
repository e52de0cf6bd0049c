"""Read the CT slices that a DICOM header describes, or why there are none; pixels stay unread."""

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from nodulebench.core.errors import first_line
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.io.dicom.files import (
    bounded_memory,
    many_of,
    number_of,
    numbers_of,
    shared_item,
    text_of,
    whole_of,
)
from nodulebench.io.dicom.header import CT_IMAGE_STORAGE

if TYPE_CHECKING:
    from pydicom import Dataset, FileDataset

DICOMDIR_STORAGE = "1.2.840.10008.1.3.10"
ENHANCED_CT = ("1.2.840.10008.5.1.4.1.1.2.1", "1.2.840.10008.5.1.4.1.1.2.2")
"""Enhanced CT, and legacy CT converted to it: many frames in one file."""
CT_CLASSES = frozenset({CT_IMAGE_STORAGE, *ENHANCED_CT})
IMPLICIT_LITTLE, EXPLICIT_LITTLE = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
DICOM_SUFFIXES = (".dcm", ".dicom", ".ima")
MOST_FRAMES = 10_000
UID = re.compile(r"[0-9]+(\.[0-9]+)*")
"""Series UIDs become names of cases and folders, so no other text is accepted."""
_ZIP = b"PK\x03\x04"
DEFLATED = b"1.2.840.10008.1.2.1.99"
_PREAMBLE = 128
_PIXEL_TAG = b"\xe0\x7f\x10\x00"

FACTS = {
    "manufacturer": "Manufacturer",
    "model": "ManufacturerModelName",
    "institution": "InstitutionName",
    "kernel": "ConvolutionKernel",
    "kvp": "KVP",
    "tube_current_ma": "XRayTubeCurrent",
    "exposure_mas": "Exposure",
    "contrast_agent": "ContrastBolusAgent",
    "body_part": "BodyPartExamined",
    "sex": "PatientSex",
    "age": "PatientAge",
    "study_date": "StudyDate",
    "description": "SeriesDescription",
    "study_description": "StudyDescription",
    "ctdi_vol_mgy": "CTDIvol",
    "irradiation_events": "IrradiationEventUID",
}
"""Stored facts of a header in addition to its geometry -> the DICOM keyword."""
FRAME_FACTS = {
    "kernel": ("CTReconstructionSequence", "ConvolutionKernel"),
    "kvp": ("CTXRayDetailsSequence", "KVP"),
    "tube_current_ma": ("CTExposureSequence", "XRayTubeCurrentInmA"),
    "exposure_mas": ("CTExposureSequence", "ExposureInmAs"),
    "ctdi_vol_mgy": ("CTExposureSequence", "CTDIvol"),
    "irradiation_events": ("IrradiationEventIdentificationSequence", "IrradiationEventUID"),
}
"""Facts of a frame -> its functional group, and the keyword in it (PS3.3, C.8.15.3)."""


@dataclass(frozen=True, slots=True)
class PixelLayout:
    """The location and encoding of the pixels of a file."""

    transfer_syntax: str
    rows: int
    columns: int
    frames: int
    samples: int
    bits_allocated: int
    bits_stored: int
    is_signed: bool
    photometric: str
    offset: int
    """First byte of the pixels in the file; 0 if there are none."""
    length: int
    """Bytes according to the header; -1 if compressed, of undefined length."""
    available: int
    """Bytes from the first pixel to the end of the file."""

    @property
    def frame_bytes(self) -> int:
        return self.rows * self.columns * self.samples * (self.bits_allocated // 8)

    @property
    def is_plain(self) -> bool:
        return self.transfer_syntax in (IMPLICIT_LITTLE, EXPLICIT_LITTLE)


@dataclass(frozen=True, slots=True)
class SliceHeader:
    """The header of one slice: a file, or a frame of a file. None means unknown."""

    path: str
    frame: int
    size_bytes: int
    series_uid: str
    sop_uid: str
    sop_class: str
    modality: str
    study_uid: str
    patient_id: str
    image_type: tuple[str, ...]
    pixels: PixelLayout
    frame_of_reference: str = ""
    instance_number: int | None = None
    position_mm: tuple[float, ...] | None = None
    orientation: tuple[float, ...] | None = None
    pixel_spacing_mm: tuple[float, ...] | None = None
    """Between rows, between columns."""
    thickness_mm: float | None = None
    slice_spacing_mm: float | None = None
    """According to the header; positions take precedence."""
    field_of_view_mm: float | None = None
    tilt_degrees: float | None = None
    slope: float | None = None
    intercept: float | None = None
    has_conversion_type: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    """The known entries of ``FACTS``."""


@dataclass(frozen=True, slots=True)
class NoSlices:
    """A file without slices, and why."""

    path: str
    notice: Notice
    is_damaged: bool
    """Whether it is a DICOM file that cannot be read, not another kind of file."""


def read_slices(path: Path) -> list[SliceHeader] | NoSlices:
    """Read the slices of any file; no content of it raises an error."""
    with needs("images", "DICOM"):
        import pydicom
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # later checks report what matters in a header
            kind = _kind(file, path)
            if kind is not None:
                return kind
            with bounded_memory(8 * path.stat().st_size) if _is_packed(file) else nullcontext():
                data = pydicom.dcmread(file, stop_before_pixels=True, force=True)
            return _slices(data, path, file)
    except MemoryError:
        return NoSlices(str(path), Notice("header_too_large"), is_damaged=True)
    except Exception as error:
        notice = Notice("header_unreadable", {"error": first_line(error)})
        return NoSlices(str(path), notice, is_damaged=True)


def _is_packed(file: BinaryIO) -> bool:
    """Whether the whole dataset is deflated, so that it is unpacked before any check."""
    head = file.read(1 << 10)
    file.seek(0)
    return DEFLATED in head


def _kind(file: BinaryIO, path: Path) -> NoSlices | None:
    head = file.read(_PREAMBLE + 4)
    file.seek(0)
    if head[_PREAMBLE:] == b"DICM":
        return None
    if head[:2] in (b"\x02\x00", b"\x08\x00") and head[3:4] == b"\x00":
        return None  # a dataset without preamble, as from old archives
    if path.suffix.lower() in DICOM_SUFFIXES:
        notice = Notice("file_empty" if not head else "not_dicom_despite_its_name")
        return NoSlices(str(path), notice, is_damaged=True)
    notice = Notice("zip_archive" if head[:4] == _ZIP else "not_dicom")
    return NoSlices(str(path), notice, is_damaged=False)


def _slices(data: "FileDataset", path: Path, file: BinaryIO) -> list[SliceHeader] | NoSlices:
    sop_class = text_of(data, "SOPClassUID")
    meta_class = str(data.file_meta.get("MediaStorageSOPClassUID", ""))
    if DICOMDIR_STORAGE in (sop_class, meta_class):
        return NoSlices(str(path), Notice("is_dicomdir"), is_damaged=False)
    series = text_of(data, "SeriesInstanceUID")
    if not UID.fullmatch(series):
        notice = Notice("series_unnamed", {"name": series[:64] or None})
        return NoSlices(str(path), notice, is_damaged=True)
    pixels = _pixel_layout(data, path, file)
    common = _common(data, path, sop_class, pixels)
    if "PerFrameFunctionalGroupsSequence" in data:
        frames = list(data.PerFrameFunctionalGroupsSequence)
        if len(frames) != pixels.frames:
            notice = Notice("frames_undescribed", {"count": len(frames), "of": pixels.frames})
            return NoSlices(str(path), notice, is_damaged=True)
        shared = next(iter(data.get("SharedFunctionalGroupsSequence") or []), None)
        groups = [partial(shared_item, frame, shared) for frame in frames]
        facts = common.pop("facts")
        return [
            SliceHeader(**common, frame=number, facts=facts | _frame_facts(group), **_plane(group))
            for number, group in enumerate(groups)
        ]
    return [SliceHeader(**common, frame=0, **_plane(lambda _: data))]


def _common(data: "Dataset", path: Path, sop_class: str, pixels: PixelLayout) -> JsonObject:
    facts = {name: text_of(data, keyword) for name, keyword in FACTS.items()}
    return {
        "path": str(path),
        "size_bytes": path.stat().st_size,
        "series_uid": text_of(data, "SeriesInstanceUID"),
        "sop_uid": text_of(data, "SOPInstanceUID"),
        "sop_class": sop_class,
        "modality": text_of(data, "Modality"),
        "study_uid": text_of(data, "StudyInstanceUID"),
        "patient_id": text_of(data, "PatientID"),
        "image_type": tuple(str(part) for part in many_of(data, "ImageType")),
        "pixels": pixels,
        "frame_of_reference": text_of(data, "FrameOfReferenceUID"),
        "instance_number": whole_of(data, "InstanceNumber"),
        "field_of_view_mm": number_of(data, "ReconstructionDiameter"),
        "has_conversion_type": "ConversionType" in data,
        "facts": {name: text for name, text in facts.items() if text},
    }


def _frame_facts(group: Callable[[str], "Dataset | None"]) -> dict[str, str]:
    facts = {name: text_of(group(part), keyword) for name, (part, keyword) in FRAME_FACTS.items()}
    return {name: text for name, text in facts.items() if text}


def _plane(group: Callable[[str], "Dataset | None"]) -> JsonObject:
    measures, values = group("PixelMeasuresSequence"), group("PixelValueTransformationSequence")
    return {
        "position_mm": numbers_of(group("PlanePositionSequence"), "ImagePositionPatient", 3),
        "orientation": numbers_of(group("PlaneOrientationSequence"), "ImageOrientationPatient", 6),
        "pixel_spacing_mm": numbers_of(measures, "PixelSpacing", 2),
        "thickness_mm": number_of(measures, "SliceThickness"),
        "slice_spacing_mm": number_of(measures, "SpacingBetweenSlices"),
        "tilt_degrees": number_of(group("CTAcquisitionDetailsSequence"), "GantryDetectorTilt"),
        "slope": number_of(values, "RescaleSlope"),
        "intercept": number_of(values, "RescaleIntercept"),
    }


def _pixel_layout(data: "FileDataset", path: Path, file: BinaryIO) -> PixelLayout:
    syntax = str(data.file_meta.get("TransferSyntaxUID", "")) or (
        IMPLICIT_LITTLE if data.is_implicit_VR else EXPLICIT_LITTLE
    )
    offset, length = 0, 0
    if syntax in (IMPLICIT_LITTLE, EXPLICIT_LITTLE):
        offset, length = _pixel_element(file, is_explicit=syntax == EXPLICIT_LITTLE)
    elif whole_of(data, "Rows"):
        offset, length = 1, -1
    size = path.stat().st_size
    frames = whole_of(data, "NumberOfFrames")
    if frames is not None and not 0 < frames <= MOST_FRAMES:
        raise ValueError(f"{frames} frames")
    bits = whole_of(data, "BitsAllocated") or 0
    return PixelLayout(
        transfer_syntax=syntax,
        rows=whole_of(data, "Rows") or 0,
        columns=whole_of(data, "Columns") or 0,
        frames=frames or 1,
        samples=whole_of(data, "SamplesPerPixel") or 1,
        bits_allocated=bits,
        bits_stored=whole_of(data, "BitsStored") or bits,
        is_signed=whole_of(data, "PixelRepresentation") == 1,
        photometric=text_of(data, "PhotometricInterpretation"),
        offset=offset,
        length=length,
        available=max(0, size - offset) if offset else 0,
    )


def _pixel_element(file: BinaryIO, *, is_explicit: bool) -> tuple[int, int]:
    place = file.tell()
    head = file.read(12)
    if head[:4] != _PIXEL_TAG:
        return 0, 0
    start, size = (12, head[8:12]) if is_explicit else (8, head[4:8])
    length = int.from_bytes(size, "little")
    return (place + start, -1 if length == 0xFFFFFFFF else length)
