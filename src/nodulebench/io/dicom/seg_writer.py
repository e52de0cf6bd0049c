"""Outlines of marks, nodules or findings + their image series -> DICOM segmentations."""

from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.optional_packages import needs
from nodulebench.core.readings import Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import MARK_SLICES, NODULE_SLICES, Reference, Submission
from nodulebench.imaging.rasters import DrawnOutline, voxels_of
from nodulebench.io.dicom.codes import KINDS, LUNG, Concept
from nodulebench.io.dicom.drawn_outlines import (
    drawn_by_owner,
    drawn_by_session,
    refuse_upright,
)
from nodulebench.io.dicom.header import uid_from
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.writing import (
    MAKER,
    coded,
    made,
    moment,
    person_name,
    save_objects,
    series_of_cases,
    settle,
)
from nodulebench.io.marks.boxes import complete_slices

SERIES_NUMBER = 902
MOST_BYTES = 1 << 30
"""Of a stack of overlapping segments; more nodules that overlap are not written into one object."""
_ABNORMAL = Concept("49755003", "SCT", "Morphologically Abnormal Structure")
_WHAT = "a DICOM segmentation"


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one segmentation per case with marks into a folder; a single one may be a .dcm file.

    A mark without outlines is filled as its box, one without slices as a box of its diameter.
    """
    algorithm = _algorithm(submission.name)
    _write_owners(submission, submission.marks, cases, path, MARK_SLICES, algorithm)


def write_reference(reference: Reference, path: Path) -> None:
    """Write one segmentation per case with nodules; ignored findings are left out."""
    nodules = reference.nodules.filter(~pl.col("is_ignored"))
    _write_owners(reference, nodules, reference.cases, path, NODULE_SLICES, None)


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one segmentation per case and reader with outlined findings; points are left out."""
    sessions = drawn_by_session(readings)
    known = readings.cases if cases is None else cases
    series = series_of_cases(known, list(dict.fromkeys(case for case, _ in sessions)), _WHAT)
    written = moment()
    save_objects(
        path,
        (
            (f"{case}-{reader}", _segmentation(series[case], reader, findings, None, written))
            for (case, reader), findings in sessions.items()
        ),
    )


def _write_owners(
    held: Submission | Reference,
    owners: pl.DataFrame,
    cases: pl.DataFrame | None,
    path: Path,
    schema: TableSchema,
    algorithm: Any,
) -> None:
    key = schema.key[1]
    case_ids = list(dict.fromkeys(owners["case_id"]))
    if not case_ids:
        raise InputError.at(
            f"'{held.name}'",
            "has nothing to fill: a DICOM segmentation needs at least one segment.",
            "Write a DICOM report (dicom_sr), which can say that nothing was found.",
        )
    series = series_of_cases(cases, case_ids, _WHAT)
    grids = {case_id: one.geometry for case_id, one in series.items()}
    given = schema.empty() if held.slices is None else held.slices
    given = given.join(owners, on=["case_id", key], how="semi", maintain_order="left")
    drawn = drawn_by_owner(complete_slices(owners, given, schema, grids, held.name), key)
    written = moment()
    by_case: dict[str, dict[str, list[DrawnOutline]]] = {case_id: {} for case_id in case_ids}
    for case_id, owner in owners.select("case_id", key).iter_rows():
        by_case[case_id][owner] = drawn[case_id, owner]
    save_objects(
        path,
        (
            (case, _segmentation(series[case], held.name, found, algorithm, written))
            for case, found in by_case.items()
        ),
    )


def _algorithm(name: str) -> Any:
    with needs("dicom", "writing DICOM segmentations"):
        import highdicom
    family = coded(Concept("123110", "DCM", "Artificial Intelligence"))
    return highdicom.AlgorithmIdentificationSequence(name=name[:64], version="-", family=family)


def _segmentation(
    series: Series,
    maker: str,
    findings: Mapping[str, list[DrawnOutline]],
    algorithm: Any,
    written: datetime,
) -> Any:
    """A segmentation as a DICOM object: one segment per finding, in order."""
    with needs("dicom", "writing DICOM segmentations"):
        from highdicom import seg
    where = f"series {series.uid}"
    refuse_upright(series.geometry, where)
    voxels = {name: voxels_of(drawn, series.geometry) for name, drawn in findings.items()}
    empty = [name for name, held in voxels.items() if not len(held)]
    refuse_any(
        Problem(
            f"{where} '{name}'",
            "holds no voxel of the image, so it cannot be a segment.",
            "Does it belong to another series? Leave it out.",
        )
        for name in empty
    )
    words = (series.uid, maker, written.isoformat())
    descriptions = [
        _description(number, name, algorithm, words) for number, name in enumerate(voxels, start=1)
    ]
    images, stack = _stack(list(voxels.values()), series, where)
    data = made(
        seg.Segmentation,
        source_images=[series.images[k] for k in images],
        pixel_array=stack,
        segmentation_type="BINARY",
        segment_descriptions=descriptions,
        series_instance_uid=uid_from("segmentation series", *words),
        series_number=SERIES_NUMBER,
        sop_instance_uid=uid_from("segmentation", *words),
        instance_number=1,
        manufacturer=MAKER,
        manufacturer_model_name=MAKER,
        software_versions=version("nodulebench"),
        device_serial_number="0",
        content_label="NODULES",
        content_description="Nodules, one segment each",
        content_creator_name=person_name(maker) if algorithm is None else None,
        series_description=f"Nodules by {maker}"[:64],
    )
    for name in ("DimensionOrganizationSequence", "DimensionIndexSequence"):
        for item in data.get(name) or ():
            item.DimensionOrganizationUID = uid_from("dimensions", *words)
    settle(data, written)
    return data


def _description(number: int, name: str, algorithm: Any, words: tuple[str, ...]) -> Any:
    with needs("dicom", "writing DICOM segmentations"):
        from highdicom import seg
    return seg.SegmentDescription(
        segment_number=number,
        segment_label=name[:64],
        segmented_property_category=coded(_ABNORMAL),
        segmented_property_type=coded(KINDS["nodule"]),
        algorithm_type="MANUAL" if algorithm is None else "AUTOMATIC",
        algorithm_identification=algorithm,
        tracking_uid=uid_from("segment", *words, name),
        tracking_id=name,
        anatomic_regions=[coded(LUNG)],
    )


def _stack(
    voxels: list[IntArray], series: Series, where: str
) -> tuple[list[int], npt.NDArray[Any]]:
    """The images with any voxel, and for these the segments: a label map, or one by one.

    A label map takes little memory; where segments overlap it cannot be.
    """
    images = sorted({int(k) for held in voxels for k in np.unique(held[:, 2])})
    number = np.full(len(series.images), -1)
    number[images] = np.arange(len(images))
    columns, rows, _ = series.geometry.size if series.geometry.size is not None else (0, 0, 0)
    labels = np.zeros((len(images), rows, columns), dtype=np.uint16)
    is_overlapping = False
    for segment, held in enumerate(voxels, start=1):
        place = (number[held[:, 2]], held[:, 1], held[:, 0])
        is_overlapping |= bool(labels[place].any())
        labels[place] = segment
    if not is_overlapping:
        return images, labels
    if labels.size * len(voxels) > MOST_BYTES:
        raise InputError.at(
            where,
            f"has {len(voxels)} nodules that overlap, too many for one segmentation.",
            "Write fewer: leave out marks of low score, or those that repeat others.",
        )
    stack = np.zeros((*labels.shape, len(voxels)), dtype=np.bool_)
    for segment, held in enumerate(voxels):
        stack[number[held[:, 2]], held[:, 1], held[:, 0], segment] = True
    return images, stack
