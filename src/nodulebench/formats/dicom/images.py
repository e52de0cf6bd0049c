"""A folder of DICOM CT images -> ImageSeries: where each image lies, and CASES made of them."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats.dicom.file import dicom_files, read_image_header
from nodulebench.formats.dicom.header import CT_IMAGE_STORAGE
from nodulebench.imaging.geometry import Geometry, checked_geometry
from nodulebench.model.arrays import FloatArray
from nodulebench.model.tables import CASES, IMAGES

LARGEST_SHIFT = 0.05
"""How far an image may be from its place among the others, as a share of their distance."""
_NEEDED = {
    "ImagePositionPatient": 3,
    "ImageOrientationPatient": 6,
    "PixelSpacing": 2,
    "Rows": 1,
    "Columns": 1,
}
"""What places an image, and how many numbers that is."""
_ALIKE = ("ImageOrientationPatient", "PixelSpacing", "Rows", "Columns", "FrameOfReferenceUID")


@dataclass(frozen=True)
class ImageSeries:
    """One CT series without its voxels: images in the order of the geometry's third axis."""

    uid: str
    folder: Path
    images: tuple[Any, ...]
    """Headers, as pydicom datasets."""
    geometry: Geometry

    @cached_property
    def number_of(self) -> dict[str, int]:
        """SOP Instance UID -> place of the image among the images."""
        return {str(one.SOPInstanceUID): k for k, one in enumerate(self.images)}

    @property
    def frame_of_reference(self) -> str:
        """The coordinate system that positions in this series are in."""
        return str(self.images[0].get("FrameOfReferenceUID", ""))

    def world_of(self, sop_uid: str, pixels: FloatArray) -> FloatArray:
        """Millimetres of image-relative points (column, row) of a report.

        These count from the corner of the first pixel, whose centre is (0.5, 0.5)
        (DICOM PS3.3 C.18.6.1.2).
        """
        level = np.full(len(pixels), float(self.number_of[sop_uid]))
        return self.geometry.to_world(np.column_stack([pixels - 0.5, level]))


def read_image_series(
    folder: Path, wanted: Collection[str] | None = None
) -> dict[str, ImageSeries]:
    """Every CT series in a folder and its subfolders, by Series Instance UID.

    Args:
        folder: looked through; other files are passed over.
        wanted: only these series, as far as they are there; files that cannot be read are then
            passed over, as they may be anything.

    Raises:
        InputError: if there is none, or images of one series do not make a volume.
    """
    headers: dict[str, list[Any]] = {}
    for path in dicom_files(folder):
        try:
            header = read_image_header(path)
        except InputError:
            if wanted is None:
                raise
            continue
        uid = str(header.get("SeriesInstanceUID", ""))
        if header.get("SOPClassUID") == CT_IMAGE_STORAGE and (wanted is None or uid in wanted):
            headers.setdefault(uid, []).append(header)
    if not headers and wanted is None:
        raise InputError(
            Problem(str(folder), "holds no DICOM CT images.", "Give the folder of a CT series.")
        )
    problems: list[Problem] = []
    found = {}
    for uid, images in headers.items():
        try:
            found[uid] = _series(uid, folder, images)
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return found


def cases_of_images(folder: Path) -> pl.DataFrame:
    """CASES with one row per CT series in a folder, which the column ``images`` names."""
    rows = [case_row(series) for series in read_image_series(folder).values()]
    return CASES.conform(pl.DataFrame(rows), folder.name)


def case_row(series: ImageSeries) -> dict[str, Any]:
    """A series as a row of CASES."""
    grid, first = series.geometry, series.images[0]
    return {
        "case_id": series.uid,
        "patient_id": str(first.get("PatientID", "")) or None,
        **_by_axis("size_{}", grid.size),
        **_by_axis("spacing_{}_mm", grid.spacing_mm),
        **_by_axis("origin_{}_mm", grid.origin_mm),
        "direction": " ".join(f"{cosine:.9g}" for cosine in grid.direction.flat),
        IMAGES: str(Path(str(first.filename)).parent),
    }


def images_of_cases(
    cases: pl.DataFrame | None, case_ids: Iterable[str] | None = None
) -> dict[str, ImageSeries]:
    """The series of every case whose images are known, by case.

    Args:
        cases: CASES; those with a folder in the column ``images`` are looked up.
        case_ids: only these.

    Raises:
        InputError: if a folder does not hold the case's series, or several and none of its name.
    """
    if cases is None or IMAGES not in cases.columns:
        return {}
    wanted = None if case_ids is None else set(case_ids)
    found: dict[str, ImageSeries] = {}
    seen: dict[str, dict[str, ImageSeries]] = {}
    for case_id, folder in cases.select("case_id", IMAGES).drop_nulls().iter_rows():
        if wanted is not None and case_id not in wanted:
            continue
        if folder not in seen:
            seen[folder] = read_image_series(Path(folder))
        found[case_id] = _series_of_case(case_id, folder, seen[folder])
    return found


def _series_of_case(case_id: str, folder: str, held: dict[str, ImageSeries]) -> ImageSeries:
    if case_id in held:
        return held[case_id]
    if len(held) > 1:
        raise InputError(
            Problem(
                f"case '{case_id}'",
                f"its folder {folder} holds {len(held)} series, none of that name.",
                "Give every series a folder of its own, or name cases by SeriesInstanceUID.",
            )
        )
    return next(iter(held.values()))


def _series(uid: str, folder: Path, images: list[Any]) -> ImageSeries:
    where = f"{folder} series {uid}"
    problems = [
        Problem(str(one.filename), f"has no usable {name}.", "It cannot be placed in the patient.")
        for one in images
        for name, count in _NEEDED.items()
        if not _is_usable(one.get(name), count)
    ]
    for name in _ALIKE if not problems else ():
        counts = Counter(str(one.get(name)) for one in images)
        if len(counts) > 1:
            told = " and ".join(f"{value} ({count} images)" for value, count in counts.items())
            problems.append(Problem(where, f"its images differ in {name}: {told}."))
    if problems:
        raise InputError(problems)
    cosines = _floats(images[0].ImageOrientationPatient)
    normal = np.cross(cosines[:3], cosines[3:])
    images = sorted(images, key=lambda one: float(_floats(one.ImagePositionPatient) @ normal))
    return ImageSeries(uid, folder, tuple(images), _geometry(images, cosines, normal, where))


def _geometry(images: list[Any], cosines: FloatArray, normal: FloatArray, where: str) -> Geometry:
    position = np.array([_floats(one.ImagePositionPatient) for one in images])
    first, steps = images[0], np.diff(position, axis=0)
    if len(images) == 1:
        distance = float(first.get("SpacingBetweenSlices") or first.get("SliceThickness") or 1.0)
    else:
        distance = float(np.linalg.norm(position[-1] - position[0])) / (len(images) - 1)
        usual = float(np.median(np.linalg.norm(steps, axis=1)))
        shift = np.linalg.norm(steps - normal * usual, axis=1)
        at = int(np.argmax(shift))
        if usual == 0 or shift[at] > LARGEST_SHIFT * usual:
            names = " and ".join(Path(str(one.filename)).name for one in images[at : at + 2])
            raise InputError(
                Problem(
                    where,
                    f"its images are not evenly stacked: {names} are "
                    f"{np.linalg.norm(steps[at]):.2f} mm apart, elsewhere {usual:.2f} mm.",
                    "Give the whole series, each image once, without gantry tilt.",
                )
            )
    row_step, column_step = _floats(first.PixelSpacing)
    return checked_geometry(
        np.array([column_step, row_step, distance]),
        position[0],
        np.column_stack([cosines[:3], cosines[3:], normal]),
        np.array([first.Columns, first.Rows, len(images)], dtype=np.int64),
        where,
    )


def _is_usable(value: Any, count: int) -> bool:
    try:
        numbers = _floats([value] if count == 1 else value)
    except (TypeError, ValueError):
        return False
    return len(numbers) == count and bool(np.all(np.isfinite(numbers)))


def _by_axis(name: str, values: Any) -> dict[str, Any]:
    return {name.format(axis): value.item() for axis, value in zip("xyz", values, strict=True)}


def _floats(values: Any) -> FloatArray:
    return np.array([float(value) for value in values], dtype=np.float64)
