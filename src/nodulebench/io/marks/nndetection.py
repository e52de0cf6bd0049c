"""Read and write nnDetection predictions: a folder of <case>_boxes.pkl in voxels."""

import pickle
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, Problems, collect_problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Submission
from nodulebench.imaging.geometry import (
    FARTHEST_MM,
    Geometry,
    GeometryProblem,
    checked_geometry,
    geometries,
)
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import algorithm_name, file_of_case
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import BOXES, boxes_of_marks, submission_of
from nodulebench.io.marks.safe_pickle import read_pickle

SUFFIX = "_boxes.pkl"
_LOW, _HIGH = [4, 1, 0], [5, 3, 2]
"""nnDetection's boxes are (z1, y1, z2, y2, x1, x2) of the array [z, y, x]; here as x, y, z."""
_MARGIN = 1.0
"""Its boxes reach from one voxel before the first to one after the last: n voxels span n + 1."""


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read predictions: ``<case>_boxes.pkl`` per case, with ``pred_boxes`` and ``pred_scores``.

    The geometry comes from ``cases``, else from the file (``itk_origin``,
    ``itk_spacing``, ``itk_direction``). Cases are looked up by the file's name, also if the
    points of a LUNA16 series are written as underscores.
    """
    known = geometries(cases)
    listed = {} if cases is None else {case.replace(".", "_"): case for case in cases["case_id"]}
    parts = [BOXES.empty()]
    problems = Problems()
    for file in sorted(path.glob(f"*{SUFFIX}")):
        stem = file.name.removesuffix(SUFFIX)
        case_id = stem if stem in known else listed.get(stem, stem)
        with collect_problems(problems):
            parts.append(_boxes(file, case_id, known.get(case_id)))
    raise_problems(problems)
    return submission_of(
        pl.concat(parts), name=algorithm_name(path), digest=file_digest(path), cases=cases
    )


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one file per case of ``cases``, whose geometry must be known."""
    boxes, known = boxes_of_marks(submission), geometries(cases)
    problems = Problems(
        Problem(f"case '{case_id}'", "has no geometry; nnDetection's boxes are in voxels.")
        for case_id in boxes["case_id"].unique(maintain_order=True)
        if case_id not in known
    )
    if boxes["score"].null_count():
        problems.add(f"submission '{submission.name}'", "has marks without a score.")
    raise_problems(problems)
    parts = boxes.partition_by("case_id", as_dict=True, maintain_order=True)
    with staged_folder(path, is_new=True) as stage:
        for case_id, grid in known.items():
            content = _content(parts.get((case_id,), boxes.clear()), grid)
            file = stage / file_of_case(case_id, SUFFIX)
            file.write_bytes(pickle.dumps(content))


def _boxes(file: Path, case_id: str, grid: Geometry | None) -> pl.DataFrame:
    content = read_pickle(file)
    if not isinstance(content, dict) or not {"pred_boxes", "pred_scores"} <= set(content):
        raise InputError.at(file.name, "has no 'pred_boxes' and 'pred_scores'.")
    if not content.get("restore", True):
        remedy = "Predict with restore, so that boxes are those of the original image."
        raise InputError.at(file.name, "has boxes in the space of the preprocessed image.", remedy)
    boxes = _array(content, "pred_boxes", file).reshape(-1, 6)
    scores = _array(content, "pred_scores", file).reshape(-1)
    if len(boxes) != len(scores):
        raise InputError.at(file.name, f"has {len(boxes)} boxes and {len(scores)} scores.")
    grid = grid or _own_geometry(content, file, case_id)
    low, high = boxes[:, _LOW], boxes[:, _HIGH]
    center = grid.to_world((low + high) / 2)
    extent = grid.extent_to_world(np.maximum(high - low - _MARGIN, 0.0))
    table = pl.DataFrame(
        {
            "case_id": [case_id] * len(boxes),
            "box_id": [str(number) for number in range(1, len(boxes) + 1)],
            **{f"{axis}_mm": center[:, place] for place, axis in enumerate("xyz")},
            **{f"extent_{axis}_mm": extent[:, place] for place, axis in enumerate("xyz")},
            "score": scores,
        }
    )
    return BOXES.conform(table, file.name)


def _array(content: JsonObject, key: str, file: Path) -> FloatArray:
    try:
        array = np.asarray(content[key], dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError.at(file.name, f"'{key}' is not an array of numbers.") from error
    if key == "pred_boxes" and array.size % 6:
        raise InputError.at(file.name, f"'{key}' is not an array with six columns.")
    if not np.isfinite(array).all():
        raise InputError.at(file.name, f"'{key}' holds a value that is not a finite number.")
    if key == "pred_boxes" and np.abs(array).max(initial=0.0) > FARTHEST_MM:
        raise InputError.at(file.name, f"'{key}' holds a value that is not a position in an image.")
    return array


def _own_geometry(content: JsonObject, file: Path, case_id: str) -> Geometry:
    try:
        spacing, origin = (
            np.asarray(content[key], dtype=np.float64).reshape(3)
            for key in ("itk_spacing", "itk_origin")
        )
        direction = np.asarray(content["itk_direction"], dtype=np.float64).reshape(3, 3)
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        what = "has boxes in voxels, and the geometry of the case is not known."
        remedy = "Give the cases with spacing and origin."
        raise InputError(GeometryProblem(file.name, what, remedy, (case_id,))) from error
    return checked_geometry(spacing, origin, direction, None, file.name)


def _content(boxes: pl.DataFrame, grid: Geometry) -> JsonObject:
    center = grid.to_index(boxes.select("x_mm", "y_mm", "z_mm").to_numpy())
    extent = boxes.select("extent_x_mm", "extent_y_mm", "extent_z_mm").to_numpy()
    half = (grid.extent_to_voxels(extent) + _MARGIN) / 2
    pred_boxes = np.empty((boxes.height, 6))
    pred_boxes[:, _LOW], pred_boxes[:, _HIGH] = center - half, center + half
    return {
        "pred_boxes": pred_boxes,
        "pred_scores": boxes["score"].to_numpy(),
        "pred_labels": np.zeros(boxes.height),
        "restore": True,
        "itk_origin": tuple(grid.origin_mm.tolist()),
        "itk_spacing": tuple(grid.spacing_mm.tolist()),
        "itk_direction": tuple(grid.direction.reshape(-1).tolist()),
    }


def _refuse(probe: FileProbe) -> str:
    if probe.kind != "folder":
        return probe.is_not("folder")
    return "" if any(name.endswith(SUFFIX) for name in probe.names) else f"no file *{SUFFIX}"


FORMAT = Format(
    name="nndetection",
    meaning="nnDetection predictions: a folder of <case>_boxes.pkl, boxes in voxels",
    suffixes=("/",),
    example="predictions/\n  scan-1_boxes.pkl  pred_boxes, pred_scores, pred_labels",
    refuse_marks=_refuse,
    read_marks=read_marks,
    write_marks=write_marks,
)
