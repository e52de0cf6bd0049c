"""DICOM for tests: small CT series, headers alone, and a Chest CAD report as products emit them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.formats.dicom_header import CT_IMAGE_STORAGE, SeriesHeader, uid_from
from nodulebench.formats.dicom_series import write_volume
from nodulebench.model.geometry import geometries
from nodulebench.model.volume import make_volume

TURNED = np.array([[0.0, -0.96, 0.28], [1.0, 0.0, 0.0], [0.0, 0.28, 0.96]])
"""Rows run to the back, and slices lie 16 degrees off the axial plane."""
MIRRORED = np.diag([-1.0, -1.0, 1.0])


def series_header(name: str = "series") -> SeriesHeader:
    return SeriesHeader(
        series_uid=uid_from(name),
        study_uid=uid_from("study", name),
        frame_of_reference_uid=uid_from("frame", name),
        patient_id="P1",
        patient_name="PHANTOM^P1",
        patient_sex="F",
        patient_age="061Y",
        manufacturer="SIEMENS",
        model="Sensation 16",
        kernel="B30f",
        slice_thickness_mm=1.8,
    )


def write_series(folder: Path, name: str = "series", direction: Any = None) -> str:
    """A CT series of 12 slices of 40 rows and 50 columns; its UID."""
    volume = make_volume(
        np.full((12, 40, 50), -800, dtype=np.int16),
        spacing_mm=(0.7, 0.8, 1.8),
        origin_mm=(-164.66, -107.2, 694.9),
        direction=direction,
    )
    header = series_header(name)
    write_volume(volume, folder, header)
    return header.series_uid


def image_headers(cases: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """The cases with folders of CT images that have no pixels, only headers."""
    import pydicom

    folders = []
    for number, (case_id, grid) in enumerate(geometries(cases).items()):
        place = folder / str(number)
        place.mkdir()
        folders.append(str(place))
        size = (1, 1, 1) if grid.size is None else grid.size
        data = pydicom.Dataset()
        data.SOPClassUID = CT_IMAGE_STORAGE
        data.StudyInstanceUID, data.SeriesInstanceUID = (
            uid_from("study", case_id),
            uid_from(case_id),
        )
        data.FrameOfReferenceUID = uid_from("frame", case_id)
        data.Columns, data.Rows = int(size[0]), int(size[1])
        data.ImageOrientationPatient = grid.direction[:, :2].T.ravel().tolist()
        data.PixelSpacing = [float(grid.spacing_mm[1]), float(grid.spacing_mm[0])]
        data.file_meta = pydicom.dataset.FileMetaDataset()
        data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
        data.file_meta.MediaStorageSOPClassUID = CT_IMAGE_STORAGE
        for k, position in enumerate(grid.to_world(np.array([[0, 0, k] for k in range(size[2])]))):
            data.SOPInstanceUID = uid_from(case_id, k)
            data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID
            data.ImagePositionPatient = [round(float(value), 6) for value in position]
            data.save_as(place / f"{k:04d}.dcm", enforce_file_format=True)
    return cases.with_columns(images=pl.Series(folders))
