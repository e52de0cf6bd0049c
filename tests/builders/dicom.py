"""DICOM for tests: small CT series, headers only, and programs that check what was written."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nodulebench.core.tables import MARK_SLICES, MARKS, Submission
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.header import CT_IMAGE_STORAGE, SeriesHeader, uid_from
from nodulebench.io.dicom.slices import ENHANCED_CT
from nodulebench.io.dicom.volumes import images_of_cases, write_volume

TURNED = np.array([[0.0, -0.96, 0.28], [1.0, 0.0, 0.0], [0.0, 0.28, 0.96]])
"""Rows run to the back, and slices lie 16 degrees off the axial plane."""
MIRRORED = np.diag([-1.0, -1.0, 1.0])
OUTLINE = ((17.5, 16.5), (24.5, 16.5), (24.5, 21.5), (20.5, 24.5))
"""Corners in pixels, none of them at a pixel centre."""


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


def as_enhanced(folder: Path, out: Path, order: Sequence[int] | None = None) -> Path:
    """A series of single files as one enhanced multi-frame file; the order of frames may differ."""
    import pydicom

    files = [pydicom.dcmread(path) for path in sorted(folder.iterdir())]
    files = [files[at] for at in order] if order is not None else files
    data = pydicom.Dataset()
    first = files[0]
    for element in first:
        if element.keyword not in (*PLACING, "PixelData", "SOPInstanceUID"):
            data.add(element)
    data.SOPClassUID, data.SOPInstanceUID = ENHANCED_CT[0], uid_from("enhanced", folder.name)
    data.file_meta = pydicom.dataset.FileMetaDataset()
    data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    data.file_meta.MediaStorageSOPClassUID = data.SOPClassUID
    data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID
    shared, groups = pydicom.Dataset(), []
    shared.PixelMeasuresSequence = [_part(first, "PixelSpacing", "SliceThickness")]
    shared.PlaneOrientationSequence = [_part(first, "ImageOrientationPatient")]
    shared.PixelValueTransformationSequence = [_part(first, "RescaleSlope", "RescaleIntercept")]
    for file in files:
        group = pydicom.Dataset()
        group.PlanePositionSequence = [_part(file, "ImagePositionPatient")]
        groups.append(group)
    data.SharedFunctionalGroupsSequence = [shared]
    data.PerFrameFunctionalGroupsSequence = groups
    data.NumberOfFrames = len(files)
    data.PixelData = b"".join(file.PixelData for file in files)
    out.mkdir(parents=True)
    data.save_as(out / "enhanced.dcm", enforce_file_format=True)
    return out


PLACING = (
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "SliceThickness",
    "SpacingBetweenSlices",
    "SliceLocation",
    "InstanceNumber",
    "RescaleSlope",
    "RescaleIntercept",
    "RescaleType",
)
"""What an enhanced file says of each frame, not of itself."""


def _part(data: Any, *names: str) -> Any:
    import pydicom

    part = pydicom.Dataset()
    for name in names:
        setattr(part, name, data[name].value)
    return part


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


CHECKERS = {"dciodvfy": "Error", "dsrdump": "E: "}
"""Programs that check DICOM objects (dicom3tools, DCMTK), and how their complaints start."""


def needs(checker: str) -> pytest.MarkDecorator:
    """Skip where a program that checks DICOM objects is absent."""
    return pytest.mark.skipif(shutil.which(checker) is None, reason=f"{checker} is not installed")


def complaints(checker: str, path: Path) -> list[str]:
    """What such a program finds wrong with a file."""
    options = ["-new"] if checker == "dciodvfy" else []
    done = subprocess.run([checker, *options, str(path)], capture_output=True, check=False)
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    assert any("SR" in line or "Segmentation" in line for line in lines), lines
    failed = [f"{checker} ended with {done.returncode}"] if done.returncode else []
    return failed + [line for line in lines if line.startswith(CHECKERS[checker])]


CHECKED = pytest.mark.parametrize(
    "checker", [pytest.param(checker, marks=needs(checker)) for checker in CHECKERS]
)
"""Runs a test once for each program that checks reports."""


def grid_of(cases: pl.DataFrame) -> Geometry:
    (series,) = images_of_cases(cases).values()
    return series.geometry


def world(grid: Geometry, pixels: Any, k: int) -> np.ndarray:
    corners = np.array(pixels, dtype=np.float64)
    return grid.to_world(np.column_stack([corners, np.full(len(corners), float(k))]))


def contour(points: np.ndarray) -> str:
    return ";".join(f"{x:.6f} {y:.6f}" for x, y, _ in points)


def slice_row(grid: Geometry, key: dict[str, Any], k: int, *, has_contour: bool) -> dict[str, Any]:
    points = world(grid, OUTLINE, k)
    low, high = points.min(axis=0), points.max(axis=0)
    return key | {
        "slice_index": k,
        "z_mm": float((low[2] + high[2]) / 2),
        "center_x_mm": float((low[0] + high[0]) / 2),
        "center_y_mm": float((low[1] + high[1]) / 2),
        "length_mm": float(high[0] - low[0]),
        "width_mm": float(high[1] - low[1]),
        "contour": contour(points) if has_contour else None,
    }


def marks_on(cases: pl.DataFrame, *, has_contour: bool = True) -> Submission:
    """A mark with every column, one of a single slice, one that is a point."""
    grid, case_id = grid_of(cases), cases["case_id"][0]
    x, y, z = grid.to_world(np.array([[20.2, 20.7, 5.3]]))[0].tolist()
    key = {"case_id": case_id, "x_mm": x, "y_mm": y, "z_mm": z}
    rows = [
        key
        | {
            "mark_id": "whole",
            "score": 0.123456789012345,
            "diameter_mm": 7.25,
            "long_mm": 8.1,
            "short_mm": 6.4,
            "type": "part_solid",
            "density": "ground_glass",
            "malignancy": 0.3,
            "category": "4A",
        },
        key | {"mark_id": "flat", "score": -3.5, "x_mm": x + 2},
        key | {"mark_id": "point", "x_mm": x + 4},
    ]
    boxes = [
        slice_row(grid, {"case_id": case_id, "mark_id": name}, k, has_contour=has_contour)
        for name, numbers in (("whole", (4, 5, 6)), ("flat", (5,)))
        for k in numbers
    ]
    return Submission(
        "my 算法",
        MARKS.conform(pl.DataFrame(rows, schema_overrides={"score": pl.Float64}), "marks"),
        MARK_SLICES.conform(pl.DataFrame(boxes), "slices"),
    )
