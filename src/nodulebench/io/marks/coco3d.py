"""Read and write 3-D COCO-like JSON: images and annotations with bbox [x, y, z, w, h, d]."""

from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.json_types import JsonObject, JsonValue
from nodulebench.core.tables import NODULE_TYPES, Reference, Submission
from nodulebench.imaging.geometry import GeometryProblem, geometries
from nodulebench.io.cases import algorithm_name, case_of_image
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.json_files import entries, number, position_numbers, read_json, write_json
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import (
    BOXES,
    boxes_of_marks,
    boxes_of_nodules,
    reference_of,
    submission_of,
)

COORDINATES = ("lps_mm", "voxel")
"""Values of ``info.coordinates``: patient millimetres, or voxels with (0, 0, 0) at the outer
corner of the first voxel, as COCO counts pixels."""
_CATEGORIES = ("nodule", *NODULE_TYPES)


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read predictions: ``annotations`` with ``image_id``, ``bbox`` and ``score``.

    ``bbox`` is the corner with the lowest coordinates and the size. ``info.coordinates`` must
    give its unit: ``lps_mm``, or ``voxel``, which needs the geometry of the cases.
    The case is the image's ``case_id``, else its ``file_name`` without folder and ending. A
    category named as one of the six NIFDC types is the type of the nodule.
    """
    boxes, _ = _read(path, cases)
    return submission_of(boxes, name=algorithm_name(path), digest=file_digest(path), cases=cases)


def read_reference(path: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a reference: as ``read_marks`` without scores; ``ignore`` or ``iscrowd`` is read."""
    boxes, listed = _read(path, cases)
    return reference_of(boxes, listed=listed, name=algorithm_name(path), cases=cases)


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write predictions in patient millimetres; marks of unknown size get boxes of size 0."""
    marks = submission.marks["case_id"]
    listed = marks if cases is None else pl.concat([cases["case_id"], marks])
    _write(boxes_of_marks(submission), listed, path)


def write_reference(reference: Reference, path: Path) -> None:
    _write(boxes_of_nodules(reference), reference.cases["case_id"], path)


def _read(path: Path, cases: pl.DataFrame | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    document = read_json(path)
    problems = Problems()
    if not isinstance(document, dict):
        raise InputError.at(path.name, "is not an object with images and annotations.")
    info = document.get("info")
    coordinates = info.get("coordinates") if isinstance(info, dict) else None
    if coordinates not in COORDINATES:
        problems.add(
            f"{path.name} info.coordinates",
            "does not say whether boxes are in millimetres or voxels.",
            f"Known: {', '.join(COORDINATES)}.",
        )
    case_of = _cases_of_images(document, path.name, problems)
    type_of = _types_of_categories(document, path.name, problems)
    rows = []
    for place, item in entries(document.get("annotations"), f"{path.name} annotations", problems):
        rows.append(_row(item, place, case_of, type_of, problems) | {"place": place})
    raise_problems(problems)
    numeric = ("x", "y", "z", "w", "h", "d", "score")
    texts = ("case_id", "box_id", "type", "place")
    table = pl.DataFrame(
        rows,
        schema=dict.fromkeys(texts, pl.String)
        | dict.fromkeys(numeric, pl.Float64)
        | {"is_ignored": pl.Boolean},
    )
    in_mm = _in_mm(table, str(coordinates), cases, path.name)
    listed = pl.DataFrame({"case_id": list(case_of.values())}, schema={"case_id": pl.String})
    return BOXES.conform(in_mm, path.name), listed


def _cases_of_images(document: JsonObject, name: str, problems: Problems) -> dict[JsonValue, str]:
    case_of: dict[JsonValue, str] = {}
    for place, image in entries(document.get("images"), f"{name} images", problems):
        case_id = image.get("case_id", image.get("file_name"))
        key = image.get("id")
        if not isinstance(key, int | str) or not isinstance(case_id, str) or not case_id:
            problems.add(place, "has no id, or neither case_id nor file_name.")
            continue
        named = case_id if "case_id" in image else case_of_image(case_id)
        if key in case_of or named in case_of.values():
            problems.add(place, f"image '{key}' of case '{named}' occurs twice.")
        case_of[key] = named
    return case_of


def _types_of_categories(
    document: JsonObject, name: str, problems: Problems
) -> dict[JsonValue, str | None]:
    categories = document.get("categories", [])
    return {
        item.get("id"): item.get("name") if item.get("name") in NODULE_TYPES else None
        for _, item in entries(categories, f"{name} categories", problems)
        if isinstance(item.get("id"), int | str)
    }


def _row(
    item: JsonObject,
    place: str,
    case_of: dict[JsonValue, str],
    type_of: dict[JsonValue, str | None],
    problems: Problems,
) -> JsonObject:
    image, category = item.get("image_id"), item.get("category_id")
    if not isinstance(image, int | str) or image not in case_of:
        problems.add(f"{place}.image_id", f"'{image}' is not the id of an image.")
        return {}
    box = position_numbers(item.get("bbox"), 6, f"{place}.bbox", problems) or []
    score = item.get("score")
    return {
        "case_id": case_of[image],
        "box_id": str(item.get("id", place)),
        "score": None if score is None else number(score, f"{place}.score", problems),
        "type": type_of.get(category) if isinstance(category, int | str) else None,
        "is_ignored": bool(item.get("ignore", item.get("iscrowd", 0))),
        **dict(zip("xyzwhd", box, strict=False)),
    }


def _in_mm(
    table: pl.DataFrame, coordinates: str, cases: pl.DataFrame | None, name: str
) -> pl.DataFrame:
    corner, size = table.select("x", "y", "z").to_numpy(), table.select("w", "h", "d").to_numpy()
    center, extent = corner + size / 2, size
    if coordinates == "voxel":
        known = geometries(cases)
        unknown = table.filter(~pl.col("case_id").is_in(list(known)))["case_id"]
        raise_problems(
            GeometryProblem(
                name,
                f"is in voxels, and the geometry of case '{case_id}' is not known.",
                "Give the cases with spacing and origin.",
                (case_id,),
            )
            for case_id in unknown.unique(maintain_order=True)
        )
        center, extent = center.copy(), extent.copy()
        for (case_id,), part in table.with_row_index("row").group_by("case_id"):
            rows, grid = part["row"].to_numpy(), known[str(case_id)]
            center[rows] = grid.to_world(center[rows] - 0.5)
            extent[rows] = grid.extent_to_world(size[rows])
    return table.with_columns(
        *(pl.Series(f"{axis}_mm", center[:, place]) for place, axis in enumerate("xyz")),
        *(pl.Series(f"extent_{axis}_mm", extent[:, place]) for place, axis in enumerate("xyz")),
    )


def _write(boxes: pl.DataFrame, listed: pl.Series, path: Path) -> None:
    case_ids = listed.unique(maintain_order=True).to_list()
    image_of = {case_id: place for place, case_id in enumerate(case_ids, 1)}
    center = boxes.select("x_mm", "y_mm", "z_mm").to_numpy()
    extent = boxes.select("extent_x_mm", "extent_y_mm", "extent_z_mm").to_numpy()
    bbox = np.column_stack([center - extent / 2, extent]).tolist()
    annotations = []
    for place, row in enumerate(boxes.iter_rows(named=True)):
        item = {
            "id": row["box_id"],
            "image_id": image_of[row["case_id"]],
            "category_id": _CATEGORIES.index(row["type"] or "nodule"),
            "bbox": bbox[place],
        }
        if row["score"] is not None:
            item["score"] = row["score"]
        if row["is_ignored"]:
            item["ignore"] = 1
        annotations.append(item)
    document = {
        "info": {"coordinates": COORDINATES[0]},
        "images": [{"id": place, "case_id": case_id} for case_id, place in image_of.items()],
        "categories": [{"id": place, "name": name} for place, name in enumerate(_CATEGORIES)],
        "annotations": annotations,
    }
    write_json(document, path)


def _refuse(probe: FileProbe) -> str:
    return probe.is_not("json") or probe.lacks("images", "annotations")


FORMAT = Format(
    name="coco3d_json",
    meaning="COCO-like JSON with 3-D boxes [x, y, z, w, h, d], in mm (LPS) or voxels",
    suffixes=(".json",),
    example=(
        '{"info": {"coordinates": "lps_mm"}, "images": [{"id": 1, "case_id": "scan-1"}],\n'
        ' "annotations": [{"id": 1, "image_id": 1, "bbox": [-65.2, 45.0, -244.9, 8.1, 7.4, 8.8],'
        ' "score": 0.93}]}'
    ),
    refuse_marks=_refuse,
    refuse_reference=_refuse,
    read_marks=read_marks,
    read_reference=read_reference,
    write_marks=write_marks,
    write_reference=write_reference,
)
