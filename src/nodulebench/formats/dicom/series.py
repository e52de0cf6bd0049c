"""A folder of DICOM CT Image Storage files, one per slice <-> Volume."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.errors import InputError, Problem
from nodulebench.formats.dicom.header import (
    CT_IMAGE_STORAGE,
    IMPLEMENTATION_UID,
    SeriesHeader,
    base_dataset,
    uid_from,
)
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.model.arrays import FloatArray
from nodulebench.optional_package import needs
from nodulebench.storage.staging import staged_folder

SPACING_TOLERANCE_MM = 0.05
"""How far a slice may be from its place: headers round positions to a hundredth or so."""
TILT_TOLERANCE = 0.01
"""How far successive slices may shift sideways, as a share of their distance."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """The header of one file, and its place along the slices' normal."""

    path: Path
    data: Any
    place_mm: float


def read_volume(folder: Path, series_uid: str | None = None) -> Volume:
    """Read one CT series.

    Args:
        folder: looked through with its subfolders; other files and other modalities are passed
            over.
        series_uid: which series, where there are several.

    Raises:
        InputError: with everything that keeps the slices from being one volume: several series,
            missing or repeated slices, slices of different size or orientation, a tilted gantry,
            8-bit voxels.
    """
    slices = _one_series(folder, _read_headers(folder), series_uid)
    problems = [*_likeness_problems(folder, slices), *_position_problems(folder, slices)]
    if problems:
        raise InputError(problems)
    first, last = slices[0].data, slices[-1].data
    begin, end = (_floats(data.ImagePositionPatient) for data in (first, last))
    cosines = _floats(first.ImageOrientationPatient)
    across, down = cosines[:3], cosines[3:]
    row_step, column_step = _floats(first.PixelSpacing)
    distance = _slice_distance(slices)
    normal = (
        np.cross(across, down) if len(slices) == 1 else (end - begin) / np.linalg.norm(end - begin)
    )
    return make_volume(
        np.stack([_hounsfield(one) for one in slices]),
        spacing_mm=(column_step, row_step, distance),
        origin_mm=begin,
        direction=np.column_stack([across, down, normal]),
        where=str(folder),
    )


def series_of(folder: Path) -> str:
    """The UID of the one CT series in a folder.

    Raises:
        InputError: if there is none, or more than one.
    """
    slices = _one_series(folder, _read_headers(folder), None)
    return str(slices[0].data.SeriesInstanceUID)


def write_volume(volume: Volume, folder: Path, header: SeriesHeader) -> None:
    """Write one file per slice, ``0001.dcm`` being the first.

    Raises:
        InputError: if the voxels do not fit into the bits that the header asks for.
    """
    with needs("images", "DICOM"):
        import pydicom
    stored = _stored_values(volume, folder, header)
    geometry = volume.geometry
    slice_count, rows, columns = stored.shape
    data = base_dataset(header, (rows, columns))
    data.ImageOrientationPatient = [_decimal(cosine) for cosine in geometry.direction[:, :2].T.flat]
    data.PixelSpacing = [_decimal(geometry.spacing_mm[1]), _decimal(geometry.spacing_mm[0])]
    data.SpacingBetweenSlices = _decimal(geometry.spacing_mm[2])
    corner = np.zeros((slice_count, 3))
    corner[:, 2] = np.arange(slice_count)
    positions = geometry.to_world(corner)
    meta = pydicom.dataset.FileMetaDataset()
    meta.MediaStorageSOPClassUID = pydicom.uid.UID(CT_IMAGE_STORAGE)
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.ImplementationClassUID = pydicom.uid.UID(IMPLEMENTATION_UID)
    meta.ImplementationVersionName = "NODULEBENCH"
    data.file_meta = meta
    with staged_folder(folder) as stage:
        for number, position in enumerate(positions, start=1):
            data.SOPInstanceUID = meta.MediaStorageSOPInstanceUID = pydicom.uid.UID(
                uid_from(header.series_uid, number)
            )
            data.InstanceNumber = number
            data.ImagePositionPatient = [_decimal(coordinate) for coordinate in position]
            data.SliceLocation = _decimal(position @ geometry.direction[:, 2])
            data.PixelData = stored[number - 1].tobytes()
            data.save_as(stage / f"{number:04d}.dcm", enforce_file_format=True)


def _stored_values(volume: Volume, folder: Path, header: SeriesHeader) -> npt.NDArray[np.generic]:
    stored = np.rint(volume.hu).astype(np.int32) - header.rescale_intercept
    low, high = (-(1 << 15), (1 << 15) - 1) if header.is_signed else (0, (1 << 12) - 1)
    if stored.min() < low or stored.max() > high:
        raise InputError(
            Problem(
                str(folder),
                f"the voxels ({volume.hu.min():.0f} to {volume.hu.max():.0f} HU) do not fit into "
                f"the stored range {low + header.rescale_intercept} to "
                f"{high + header.rescale_intercept} HU.",
                "Clip them, or store signed values.",
            )
        )
    return stored.astype("<i2" if header.is_signed else "<u2")


def _decimal(value: float) -> str:
    """A number as a DICOM decimal string: the most digits that fit into sixteen characters."""
    for digits in range(16, 0, -1):
        text = f"{value + 0.0:.{digits}g}"
        if len(text) <= 16:
            return text
    raise AssertionError(value)


def _read_headers(folder: Path) -> list[Any]:
    """The headers of all CT images in a folder."""
    with needs("images", "DICOM"):
        import pydicom
    if not folder.is_dir():
        raise InputError(Problem(str(folder), "is not a folder.", "Give the folder of a series."))
    headers = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            data = pydicom.dcmread(path, stop_before_pixels=True)
        except (pydicom.errors.InvalidDicomError, OSError, EOFError):
            continue
        if data.get("SOPClassUID") == CT_IMAGE_STORAGE:
            headers.append(data)
    if not headers:
        raise InputError(
            Problem(str(folder), "holds no DICOM CT images.", "Give the folder of a CT series.")
        )
    return headers


def _one_series(folder: Path, headers: list[Any], series_uid: str | None) -> list[_Slice]:
    """The slices of one series in the order of their positions."""
    counts = Counter(str(data.SeriesInstanceUID) for data in headers)
    if series_uid is None and len(counts) > 1:
        listed = "; ".join(f"{uid} ({count} slices)" for uid, count in counts.most_common(5))
        raise InputError(
            Problem(str(folder), f"holds {len(counts)} series: {listed}.", "Name the one to read.")
        )
    wanted = series_uid or next(iter(counts))
    if wanted not in counts:
        raise InputError(Problem(str(folder), f"does not hold the series {wanted}."))
    chosen = [data for data in headers if data.SeriesInstanceUID == wanted]
    problems = [
        Problem(str(data.filename), f"has no {name}.", "It cannot be placed in the patient.")
        for data in chosen
        for name in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing")
        if name not in data
    ]
    if problems:
        raise InputError(problems)
    cosines = _floats(chosen[0].ImageOrientationPatient)
    normal = np.cross(cosines[:3], cosines[3:])
    slices = [
        _Slice(Path(data.filename), data, float(_floats(data.ImagePositionPatient) @ normal))
        for data in chosen
    ]
    return sorted(slices, key=lambda one: one.place_mm)


def _likeness_problems(folder: Path, slices: Sequence[_Slice]) -> list[Problem]:
    problems = []
    for name in ("Rows", "Columns", "BitsAllocated", "PixelSpacing", "ImageOrientationPatient"):
        counts = Counter(str(one.data.get(name)) for one in slices)
        if len(counts) > 1:
            found = " and ".join(f"{value} ({count} slices)" for value, count in counts.items())
            problems.append(Problem(str(folder), f"its slices differ in {name}: {found}."))
    first = slices[0].data
    if first.BitsAllocated != 16:
        problems.append(
            Problem(
                str(folder),
                f"its voxels have {first.BitsAllocated} bits, which cannot hold Hounsfield units.",
                "Export the CT with 16 bits per voxel, without a display window.",
            )
        )
    if "RescaleSlope" not in first or "RescaleIntercept" not in first:
        problems.append(
            Problem(str(folder), "has no RescaleSlope and RescaleIntercept: HU are unknown.")
        )
    return problems


def _slice_distance(slices: Sequence[_Slice]) -> float:
    if len(slices) == 1:
        return float(slices[0].data.get("SpacingBetweenSlices") or slices[0].data.SliceThickness)
    return (slices[-1].place_mm - slices[0].place_mm) / (len(slices) - 1)


def _position_problems(folder: Path, slices: Sequence[_Slice]) -> list[Problem]:
    """Slices that are absent, repeated, unevenly spaced or shifted sideways."""
    if len(slices) == 1:
        return []
    places = np.array([one.place_mm for one in slices])
    gaps = np.diff(places)
    problems = []
    repeated = np.flatnonzero(gaps < SPACING_TOLERANCE_MM).tolist()
    for at in repeated:
        problems.append(
            Problem(
                str(folder),
                f"{slices[at].path.name} and {slices[at + 1].path.name} lie at the same place "
                f"({places[at]:.2f} mm).",
                "Remove the repeated slice.",
            )
        )
    usual = float(np.median(gaps[gaps >= SPACING_TOLERANCE_MM], axis=None)) if gaps.any() else 0.0
    for at in np.flatnonzero(np.abs(gaps - usual) > SPACING_TOLERANCE_MM).tolist():
        if at in repeated:
            continue
        missing = round(gaps[at] / usual) - 1
        what = f"{missing} slices are missing" if missing > 1 else "a slice is missing"
        if missing < 1 or abs(gaps[at] - (missing + 1) * usual) > SPACING_TOLERANCE_MM:
            what = "the spacing is uneven"
        problems.append(
            Problem(
                str(folder),
                f"{what} between {slices[at].path.name} and {slices[at + 1].path.name}: "
                f"{gaps[at]:.2f} mm apart, elsewhere {usual:.2f} mm.",
                "Export the whole series.",
            )
        )
    return problems or _tilt_problems(folder, slices)


def _tilt_problems(folder: Path, slices: Sequence[_Slice]) -> list[Problem]:
    cosines = _floats(slices[0].data.ImageOrientationPatient)
    positions = [_floats(one.data.ImagePositionPatient) for one in slices]
    worst = 0.0
    for here, there in pairwise(positions):
        step = there - here
        sideways = max(abs(step @ cosines[:3]), abs(step @ cosines[3:]))
        worst = max(worst, float(sideways / np.linalg.norm(step)))
    if worst <= TILT_TOLERANCE:
        return []
    return [
        Problem(
            str(folder),
            f"its slices shift sideways by up to {np.degrees(np.arcsin(worst)):.1f} degrees "
            "(a tilted gantry).",
            "Resample it to slices at right angles to the table.",
        )
    ]


def _hounsfield(one: _Slice) -> npt.NDArray[np.generic]:
    """The voxels of a slice in HU."""
    with needs("images", "DICOM"):
        import pydicom
    is_compressed = one.data.file_meta.TransferSyntaxUID.is_compressed
    try:
        data = pydicom.dcmread(one.path)
        stored = data.pixel_array
    except (AttributeError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        if is_compressed:
            return _decompressed(one.path)
        raise InputError(
            Problem(str(one.path), f"its voxels cannot be read ({error}).", "Copy it anew.")
        ) from error
    slope, intercept = float(data.RescaleSlope), float(data.RescaleIntercept)
    if slope.is_integer() and intercept.is_integer():
        return stored.astype(np.int32) * int(slope) + int(intercept)
    return (stored * slope + intercept).astype(np.float32)


def _decompressed(path: Path) -> npt.NDArray[np.generic]:
    """A slice that pydicom has no decoder for; SimpleITK decodes and rescales it."""
    with needs("images", "compressed DICOM"):
        import SimpleITK
    try:
        array: npt.NDArray[np.generic] = SimpleITK.GetArrayFromImage(
            SimpleITK.ReadImage(str(path))
        )[0]
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(Problem(str(path), f"cannot be decompressed ({reason}).")) from error
    return array


def _floats(values: Any) -> FloatArray:
    return np.array([float(value) for value in values], dtype=np.float64)
