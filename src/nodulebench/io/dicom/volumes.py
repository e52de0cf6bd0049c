"""Read and write a folder of DICOM CT images, one file per slice or many in one, as a volume."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.core.tables import CASES, IMAGES
from nodulebench.imaging.geometry import geometry_columns, is_orthonormal
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.dicom.header import (
    CT_IMAGE_STORAGE,
    IMPLEMENTATION_UID,
    SeriesHeader,
    base_dataset,
    uid_from,
)
from nodulebench.io.dicom.pixels import stored_values
from nodulebench.io.dicom.series import Series, ct_series, stack_problems
from nodulebench.io.dicom.slices import SliceHeader


def read_series(folder: Path, series_uid: str | None = None) -> Series:
    held = ct_series(folder)
    if series_uid is None and len(held) > 1:
        some = sorted(held.values(), key=lambda series: -len(series.slices))[:5]
        listed = "; ".join(f"{series.uid} ({len(series.slices)} slices)" for series in some)
        raise InputError.at(folder, f"holds {len(held)} series: {listed}.", "Name the one to read.")
    if series_uid is not None and series_uid not in held:
        raise InputError.at(folder, f"does not hold the series {series_uid}.")
    return held[series_uid] if series_uid else next(iter(held.values()))


def read_volume(folder: Path, series_uid: str | None = None) -> Volume:
    return series_volume(read_series(folder, series_uid), str(folder))


def series_volume(series: Series, where: str, *, allows_tilt: bool = False) -> Volume:
    """Read the voxels of a series; InputError names everything that prevents a volume.

    With ``allows_tilt`` slices may shift sideways, as those of a tilted gantry do; the third axis
    then leans, so only methods for any grid may use the volume.
    """
    wrong = stack_problems(series, where, allows_tilt=allows_tilt)
    raise_problems([*wrong, *_value_problems(series, where)])
    grid = series.geometry
    hu = np.stack([_hounsfield(slice_) for slice_ in series.slices])
    if allows_tilt and not is_orthonormal(grid.direction):
        return replace(make_volume(hu, spacing_mm=grid.spacing_mm, where=where), geometry=grid)
    return make_volume(
        hu,
        spacing_mm=grid.spacing_mm,
        origin_mm=grid.origin_mm,
        direction=grid.direction,
        where=where,
    )


def write_volume(volume: Volume, folder: Path, header: SeriesHeader) -> None:
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
        raise InputError.at(
            folder,
            f"the voxels ({volume.hu.min():.0f} to {volume.hu.max():.0f} HU) do not fit into "
            f"the stored range {low + header.rescale_intercept} to "
            f"{high + header.rescale_intercept} HU.",
            "Clip them, or store signed values.",
        )
    return stored.astype("<i2" if header.is_signed else "<u2")


def _decimal(value: float) -> str:
    for digits in range(16, 0, -1):
        text = f"{value + 0.0:.{digits}g}"
        if len(text) <= 16:
            return text
    raise AssertionError(value)


def _value_problems(series: Series, where: str) -> list[Problem]:
    problems = Problems()
    bits = series.slices[0].pixels.bits_allocated
    if bits != 16:
        problems.add(
            where,
            f"its voxels have {bits} bits, which cannot hold Hounsfield units.",
            "Export the CT with 16 bits per voxel, without a display window.",
        )
    if any(not slice_.slope or slice_.intercept is None for slice_ in series.slices):
        problems.add(where, "has no RescaleSlope and RescaleIntercept: HU are unknown.")
    return problems


def _hounsfield(header: SliceHeader) -> npt.NDArray[np.generic]:
    """The voxels of a slice in HU, as integers if the rescaling keeps them whole."""
    stored = stored_values(header)
    slope, intercept = header.slope or 1.0, header.intercept or 0.0
    if slope.is_integer() and intercept.is_integer():
        return stored.astype(np.int32) * np.int32(slope) + np.int32(intercept)
    return (stored * slope + intercept).astype(np.float32)


def read_image_series(folder: Path, wanted: Collection[str] | None = None) -> dict[str, Series]:
    """Find every CT series in a folder that forms a volume; ``wanted`` as in ``ct_series``."""
    series_by_uid = ct_series(folder, wanted)
    raise_problems(
        problem
        for uid, series in series_by_uid.items()
        for problem in stack_problems(series, f"{folder} series {uid}")
    )
    return series_by_uid


def cases_of_images(folder: Path) -> pl.DataFrame:
    rows = [case_row(series) for series in read_image_series(folder).values()]
    return CASES.conform(pl.DataFrame(rows), folder.name)


def case_row(series: Series) -> JsonObject:
    first = series.slices[0]
    return {
        "case_id": series.uid,
        "patient_id": first.patient_id or None,
        **geometry_columns(series.geometry),
        IMAGES: str(Path(first.path).parent),
    }


def images_of_cases(
    cases: pl.DataFrame | None, case_ids: Iterable[str] | None = None
) -> dict[str, Series]:
    if cases is None or IMAGES not in cases.columns:
        return {}
    wanted = None if case_ids is None else set(case_ids)
    series_by_case: dict[str, Series] = {}
    seen: dict[str, dict[str, Series]] = {}
    for case_id, folder in cases.select("case_id", IMAGES).drop_nulls().iter_rows():
        if wanted is not None and case_id not in wanted:
            continue
        if folder not in seen:
            seen[folder] = read_image_series(Path(folder))
        series_by_case[case_id] = _series_of_case(case_id, folder, seen[folder])
    return series_by_case


def _series_of_case(case_id: str, folder: str, held: dict[str, Series]) -> Series:
    if case_id in held:
        return held[case_id]
    if len(held) > 1:
        what = f"its folder {folder} holds {len(held)} series, but none of that name."
        remedy = "Put every series into a separate folder, or name cases by SeriesInstanceUID."
        raise InputError.at(f"case '{case_id}'", what, remedy)
    return next(iter(held.values()))
