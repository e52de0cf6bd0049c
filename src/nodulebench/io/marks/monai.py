"""Read and write MONAI detection JSON: image, box, label and score per case."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission
from nodulebench.imaging.geometry import lps_to_ras
from nodulebench.io.cases import algorithm_name, case_of_image, file_of_case
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.json_files import entries, numbers, position_numbers, read_json, write_json
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import (
    BOXES,
    boxes_of_marks,
    boxes_of_nodules,
    reference_of,
    submission_of,
)

SCORE_KEYS = ("score", "label_scores", "scores", "pred_score")
COORDINATES = ("LPS", "RAS")
BOX_MODES = ("cccwhd", "xyzxyz", "xxyyzz", "xyzwhd")
"""Centre and size; two corners; bounds axis by axis; low corner and size."""
_LISTS = ("validation", "testing", "test", "training", "results")


@dataclass(frozen=True, slots=True)
class _Content:
    """The boxes of a file as rows, its cases, and the conventions that had to be assumed."""

    boxes: pl.DataFrame
    listed: pl.DataFrame
    notices: tuple[Notice, ...]


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read predictions: a list of ``{image, box, label, score}``, also under ``validation`` etc.

    The case is the image's file name without folder and ending. World coordinates: MONAI itself
    works in RAS, but its LUNA16 pipelines write LPS (``affine_lps_to_ras``), so LPS is assumed
    unless the file says ``"coordinates": "RAS"``. Without ``"box_mode"``, cccwhd is assumed.
    """
    content = _read(path)
    return submission_of(
        content.boxes,
        name=algorithm_name(path),
        digest=file_digest(path),
        cases=cases,
        notices=content.notices,
    )


def read_reference(path: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a datalist: as ``read_marks`` without scores; an image without boxes has no nodules."""
    content = _read(path)
    return reference_of(
        content.boxes,
        listed=content.listed,
        name=algorithm_name(path),
        cases=cases,
        notices=content.notices,
    )


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write predictions in LPS, boxes as cccwhd; marks of unknown size get boxes of size 0."""
    marks = submission.marks["case_id"]
    listed = marks if cases is None else pl.concat([cases["case_id"], marks])
    _write(boxes_of_marks(submission), listed, path)


def write_reference(reference: Reference, path: Path) -> None:
    """Write a datalist in LPS, boxes as cccwhd."""
    if reference.nodules["is_ignored"].any():
        what = f"has {reference.nodules['is_ignored'].sum()} ignored findings."
        remedy = "A MONAI datalist cannot hold them; choose another format."
        raise InputError.at(f"reference '{reference.name}'", what, remedy)
    _write(boxes_of_nodules(reference), reference.cases["case_id"], path)


def _read(path: Path) -> _Content:
    document = read_json(path)
    problems = Problems()
    coordinates, mode, notices = _conventions(document, path.name, problems)
    rows: list[tuple[str, str, list[float], float | None]] = []
    listed: list[str] = []
    for place, item in _items(document, path.name, problems):
        image = item.get("image")
        if not isinstance(image, str) or not case_of_image(image):
            problems.add(place, "has no image.", "Name the image file of the case.")
            continue
        listed.append(case_of_image(image))
        boxes, scores = _boxes(item, place, problems), _scores(item, place, problems)
        if scores and len(scores) != len(boxes):
            what = f"has {len(boxes)} boxes and {len(scores)} scores."
            problems.add(place, what)
            continue
        for number, box in enumerate(boxes, 1):
            score = scores[number - 1] if scores else None
            rows.append((listed[-1], str(number), box, score))
    problems.extend(
        Problem(path.name, f"case '{case_id}' occurs {count} times.", "List every case once.")
        for case_id, count in Counter(listed).items()
        if count > 1
    )
    raise_problems(problems)
    table = _table(rows, coordinates, mode)
    known = pl.DataFrame({"case_id": listed}, schema={"case_id": pl.String})
    return _Content(BOXES.conform(table, path.name), known, notices)


def _conventions(
    document: object, name: str, problems: Problems
) -> tuple[str, str, tuple[Notice, ...]]:
    chosen, notices = [], []
    for key, allowed in (("coordinates", COORDINATES), ("box_mode", BOX_MODES)):
        value = document.get(key) if isinstance(document, dict) else None
        if value is None:
            values = {"file": name, "key": key, "taken": allowed[0]}
            notices.append(Notice("convention_assumed", values))
        elif value not in allowed:
            problems.add(f"{name} {key}", f"is not one of: {', '.join(allowed)}.")
        chosen.append(allowed[0] if value is None else value)
    return chosen[0], chosen[1], tuple(notices)


def _items(document: object, name: str, problems: Problems) -> list[tuple[str, JsonObject]]:
    if isinstance(document, list):
        return list(entries(document, name, problems))
    if not isinstance(document, dict):
        document = {}
    lists = [key for key in _LISTS if key in document]
    if lists:
        return [item for key in lists for item in entries(document[key], f"{name} {key}", problems)]
    if "box" in document:
        return [(name, document)]
    remedy = f"Put the cases in a list, or in a list under one of {', '.join(_LISTS)}."
    problems.add(name, "has no list of cases.", remedy)
    return []


def _boxes(item: JsonObject, place: str, problems: Problems) -> list[list[float]]:
    boxes = item.get("box")
    if not isinstance(boxes, list):
        problems.add(f"{place}.box", "is not a list of boxes.")
        return []
    usable = [
        position_numbers(box, 6, f"{place}.box[{number}]", problems)
        for number, box in enumerate(boxes)
    ]
    return [box for box in usable if box is not None]


def _scores(item: JsonObject, place: str, problems: Problems) -> list[float]:
    key = next((key for key in SCORE_KEYS if key in item), None)
    if key is None:
        return []
    scores = item[key]
    count = len(scores) if isinstance(scores, list) else 1
    return numbers(scores, count, f"{place}.{key}", problems) or []


def _table(
    rows: list[tuple[str, str, list[float], float | None]], coordinates: str, mode: str
) -> pl.DataFrame:
    boxes = np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 6)
    center, extent = _center_and_extent(boxes, mode)
    if coordinates == "RAS":
        center = lps_to_ras(center)
    return pl.DataFrame(
        {
            "case_id": pl.Series([row[0] for row in rows], dtype=pl.String),
            "box_id": pl.Series([row[1] for row in rows], dtype=pl.String),
            **dict(zip(("x_mm", "y_mm", "z_mm"), center.T, strict=True)),
            **dict(zip(("extent_x_mm", "extent_y_mm", "extent_z_mm"), extent.T, strict=True)),
            "score": pl.Series([row[3] for row in rows], dtype=pl.Float64),
        }
    )


def _center_and_extent(boxes: FloatArray, mode: str) -> tuple[FloatArray, FloatArray]:
    if mode == "cccwhd":
        return boxes[:, :3], boxes[:, 3:]
    if mode == "xyzwhd":
        return boxes[:, :3] + boxes[:, 3:] / 2, boxes[:, 3:]
    first, second = (
        (boxes[:, :3], boxes[:, 3:]) if mode == "xyzxyz" else (boxes[:, ::2], boxes[:, 1::2])
    )
    return (first + second) / 2, np.abs(second - first)


def _write(boxes: pl.DataFrame, listed: pl.Series, path: Path) -> None:
    parts = boxes.partition_by("case_id", as_dict=True, maintain_order=True)
    items = []
    for case_id in listed.unique(maintain_order=True):
        part = parts.get((case_id,), boxes.clear())
        item: JsonObject = {
            "image": file_of_case(case_id, ".nii.gz"),
            "box": part.select("x_mm", "y_mm", "z_mm", "extent_x_mm", "extent_y_mm", "extent_z_mm")
            .to_numpy()
            .tolist(),
            "label": [0] * part.height,
        }
        if part.height and not part["score"].null_count():
            item["score"] = part["score"].to_list()
        items.append(item)
    stated = {"coordinates": COORDINATES[0], "box_mode": BOX_MODES[0]}
    write_json(stated | {_LISTS[0]: items}, path)


def _refuse(probe: FileProbe) -> str:
    if probe.kind != "json":
        return probe.is_not("json")
    items = _items(probe.document, "", Problems())
    if isinstance(probe.document, dict) and set(_LISTS) & probe.names and not items:
        return ""
    keys = items[0][1] if items else {}
    missing = [f"'{key}'" for key in ("image", "box") if key not in keys]
    return f"no {' and '.join(missing)} of a case" if missing else ""


FORMAT = Format(
    name="monai_json",
    meaning="MONAI detection: predictions or a datalist, boxes in mm",
    suffixes=(".json",),
    example=(
        '{"validation": [{"image": "scan-1.nii.gz", "label": [0], "score": [0.93],\n'
        ' "box": [[-61.2, 48.7, -240.5, 8.1, 7.4, 8.8]]}]}'
    ),
    refuse_marks=_refuse,
    refuse_reference=_refuse,
    read_marks=read_marks,
    read_reference=read_reference,
    write_marks=write_marks,
    write_reference=write_reference,
)
