"""Read and write grand-challenge.org JSON: "Multiple points" or "Multiple 2D bounding boxes"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.json_types import JsonObject, JsonValue
from nodulebench.core.notices import Notice
from nodulebench.core.tables import MARK_SLICES, MARKS, RUNS, Submission
from nodulebench.imaging.geometry import geometries
from nodulebench.imaging.linking import link_boxes
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import algorithm_name, case_of_image, file_of_case
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.json_files import (
    entries,
    kind_of,
    number,
    position_numbers,
    read_json,
    write_json,
)
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import gather, with_positions

JOBS = "predictions.json"
"""The list of jobs; the output of each is in ``PK/output/``."""
_RUN = {"case_id": pl.String, "state": pl.String, "seconds": pl.Float64}
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
"""ISO 8601: ``PT1M2.5S``."""
_SECONDS = (86_400, 3_600, 60, 1)


@dataclass(frozen=True, slots=True)
class Job:
    """One case on which an algorithm was run."""

    case_id: str
    is_done: bool
    """Whether it succeeded; if not, its case is evaluated without marks."""
    seconds: float | None
    place: str
    document: JsonObject | None
    """The marks it wrote; None if it failed."""


def holds_jobs(folder: Path) -> bool:
    """Whether a folder is the input of an evaluation on the platform, not a folder of documents."""
    if not (folder / JOBS).is_file():
        return False
    content = read_json(folder / JOBS)
    listed = content if isinstance(content, list) else []
    return bool(listed) and all(isinstance(job, dict) and "pk" in job for job in listed)


def read_jobs(path: Path, problems: Problems) -> list[Job]:
    jobs, known = [], set()
    for place, item in entries(read_json(path / JOBS), JOBS, problems):
        job = _job(path, place, item, problems)
        if job is None:
            continue
        if job.case_id in known:
            problems.add(place, f"is a second job of '{job.case_id}'.", "Leave one per case.")
        known.add(job.case_id)
        jobs.append(job)
    return jobs


def runs_of(jobs: list[Job]) -> pl.DataFrame:
    rows = [(job.case_id, "ok" if job.is_done else "failed", job.seconds) for job in jobs]
    return RUNS.conform(pl.DataFrame(rows, schema=_RUN, orient="row"), JOBS)


def _job(path: Path, place: str, item: JsonObject, problems: Problems) -> Job | None:
    images = [
        name
        for _, given in entries(item.get("inputs"), f"{place}.inputs", problems)
        if isinstance(name := _field(given, "image", "name"), str)
    ]
    if len(images) != 1:
        what = f"has {len(images)} input images; a job has exactly one scan."
        problems.add(f"{place}.inputs", what, "Give the phase one input socket of a CT image.")
        return None
    case_id, is_done = case_of_image(images[0]), item.get("status", "Succeeded") == "Succeeded"
    output = _output(path, place, item, problems) if is_done else (place, None)
    return Job(case_id, is_done, _seconds(item.get("exec_duration")), *output)


def _output(
    path: Path, place: str, item: JsonObject, problems: Problems
) -> tuple[str, JsonObject | None]:
    sockets = [
        (name, given)
        for _, given in entries(item.get("outputs"), f"{place}.outputs", problems)
        if isinstance(name := _relative_path(given), str) and name.endswith(".json")
    ]
    if len(sockets) != 1:
        what = f"has {len(sockets)} JSON output sockets; exactly one must hold the marks."
        problems.add(f"{place}.outputs", what, "Give the phase one output socket of points.")
        return place, None
    name, given = sockets[0]
    parts = PurePosixPath(str(item.get("pk", "")), "output", name)
    if parts.is_absolute() or ".." in parts.parts:
        problems.add(place, f"names '{parts}', which is not in the submission.")
        return place, None
    file, value = path / parts, given.get("value")
    content = read_json(file) if file.is_file() else value
    if isinstance(content, dict):
        return str(parts) if file.is_file() else place, content
    what = "is not an object." if file.is_file() else "does not exist."
    problems.add(str(parts), what, "Every successful job writes its points there.")
    return place, None


def _relative_path(given: JsonObject) -> JsonValue:
    socket = "socket" if "socket" in given else "interface"  # its name before 2025
    return _field(given, socket, "relative_path")


def _field(given: JsonObject, *names: str) -> JsonValue:
    value: JsonValue = given
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _seconds(duration: object) -> float | None:
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None or not any(match.groups()):
        return None
    return sum(float(part or 0) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True))


POINTS, BOXES = "Multiple points", "Multiple 2D bounding boxes"
_LIST_OF = {POINTS: "points", BOXES: "boxes"}
_NAME_OF_MARK = "mark "
"""Prefix of a box's name, followed by the id of its mark; NoduleBench writes such names."""
_LARGEST_TILT_MM = 0.01
_VERSION = {"major": 1, "minor": 0}
_SLICE = {"slice_index": pl.Float64, "long_mm": pl.Float64, "short_mm": pl.Float64}
_TEXT = ("case_id", "mark_id", "name", "place")
_NUMBERS = ("x_mm", "y_mm", "z_mm", "score", "length_mm", "width_mm")


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a file or folder of documents, one per case, in world millimetres (LPS).

    In a folder, the case is the file's name without ``.json``, or the sub-folder's name if each
    case has one; in a list of documents, it is their ``case_id``. Boxes need the geometry of
    the cases, and are linked across slices unless their names say ``mark ID``.

    A folder with ``predictions.json``, the platform's input of an evaluation, holds jobs: the
    case is the name of the job's input image, and an unsuccessful job is a failed run.
    """
    problems = Problems()
    rows: list[JsonObject] = []
    jobs = read_jobs(path, problems) if holds_jobs(path) else None
    for case_id, place, document in _documents(path, jobs, problems):
        rows.extend(_rows(case_id, place, document, problems))
    raise_problems(problems)
    table = pl.DataFrame(
        rows, schema=dict.fromkeys(_TEXT, pl.String) | dict.fromkeys(_NUMBERS, pl.Float64)
    )
    is_box = pl.col("length_mm").is_not_null()
    points = MARKS.conform(_with_ids(table.filter(~is_box)), path.name)
    marks, slices, notices = _boxes(table.filter(is_box), path, cases)
    return Submission(
        name=algorithm_name(path),
        marks=pl.concat([points, marks]),
        slices=slices,
        runs=None if jobs is None else runs_of(jobs),
        digest=file_digest(path),
        notices=notices,
    )


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write one document per case into a folder, or all into one list if the name ends in .json.

    Boxes are written if the marks have slices and the cases a geometry (without which they
    could not be read again), else points.
    """
    odd = submission.marks["score"].filter(~submission.marks["score"].is_between(0, 1))
    if len(odd):
        what = f"has {len(odd)} scores that are not between 0 and 1, the first {odd[0]}."
        remedy = "grand-challenge.org requires probabilities from 0 to 1; rescale them."
        raise InputError.at(f"submission '{submission.name}'", what, remedy)
    has_boxes = submission.slices is not None and bool(geometries(cases))
    rows = _box_rows(submission) if has_boxes else submission.marks
    listed = submission.marks["case_id"] if cases is None else cases["case_id"]
    parts = rows.partition_by("case_id", as_dict=True, maintain_order=True)
    kind = BOXES if has_boxes else POINTS
    documents = {
        case_id: _document(kind, parts.get((case_id,), rows.clear()))
        for case_id in pl.concat([listed, submission.marks["case_id"]]).unique(maintain_order=True)
    }
    if path.suffix == ".json":
        write_json([{"case_id": case, **document} for case, document in documents.items()], path)
        return
    with staged_folder(path, is_new=True) as stage:
        for case_id, document in documents.items():
            write_json(document, stage / file_of_case(case_id, ".json"))


def _documents(
    path: Path, jobs: list[Job] | None, problems: Problems
) -> Iterator[tuple[str, str, JsonObject]]:
    if jobs is not None:
        for job in jobs:
            if job.document is not None:
                yield job.case_id, job.place, job.document
        return
    for case_id, file in _files(path):
        content = read_json(file)
        is_list = isinstance(content, list)
        for place, document in entries(content if is_list else [content], file.name, problems):
            named = document.get("case_id", None if is_list else case_id)
            if isinstance(named, str) and named:
                yield named, place if is_list else file.name, document
            else:
                problems.add(place, "has no case_id.", "Name its case.")


def _files(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        return [(algorithm_name(path), path)]
    files = [(file.name.removesuffix(".json"), file) for file in path.glob("*.json")]
    for folder in path.iterdir():
        inside = sorted(folder.glob("*.json")) if folder.is_dir() else []
        if len(inside) > 1:
            raise InputError.at(folder, "holds more than one JSON file.", "Leave one per case.")
        files.extend((folder.name, file) for file in inside)
    return sorted(files)


def _rows(
    case_id: str, place: str, document: JsonObject, problems: Problems
) -> Iterator[JsonObject]:
    kind = document.get("type")
    if not isinstance(kind, str) or kind not in _LIST_OF:
        what = f"has the type '{kind}'." if kind else "has no type."
        problems.add(place, what, f"Known: {POINTS}, {BOXES}.")
        return
    items = document.get(_LIST_OF[kind])
    for where, item in entries(items, f"{place} {_LIST_OF[kind]}", problems):
        name = item.get("name")
        if name is not None and not isinstance(name, str):
            problems.add(f"{where}.name", f"is {kind_of(name)}, not text.")
        probability = item.get("probability")
        row = {"case_id": case_id, "name": name, "place": where}
        if probability is not None:
            row["score"] = number(probability, f"{where}.probability", problems)
        read = _point if kind == POINTS else _box
        yield row | read(item, where, problems)


def _point(item: JsonObject, where: str, problems: Problems) -> dict[str, float]:
    point = position_numbers(item.get("point"), 3, f"{where}.point", problems)
    return {} if point is None else dict(zip(("x_mm", "y_mm", "z_mm"), point, strict=True))


def _box(item: JsonObject, where: str, problems: Problems) -> dict[str, float]:
    corners = item.get("corners")
    if not isinstance(corners, list) or len(corners) != 4:
        problems.add(f"{where}.corners", "is not a list of four points.")
        return {}
    points = [
        position_numbers(corner, 3, f"{where}.corners[{place}]", problems)
        for place, corner in enumerate(corners)
    ]
    known_points = [corner for corner in points if corner is not None]
    if len(known_points) < 4:
        return {}
    axes = list(zip(*known_points, strict=True))
    low, high = [min(axis) for axis in axes], [max(axis) for axis in axes]
    if high[2] - low[2] > _LARGEST_TILT_MM:
        problems.add(f"{where}.corners", "are not on one axial slice: their z differs.")
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    return {
        "x_mm": middle[0],
        "y_mm": middle[1],
        "z_mm": middle[2],
        "length_mm": high[0] - low[0],
        "width_mm": high[1] - low[1],
    }


def _with_ids(points: pl.DataFrame) -> pl.DataFrame:
    """Use the names as mark ids if all points of a case have different names, else number them."""
    names = points.select("case_id", "name")
    if names["name"].null_count() == 0 and names.is_unique().all():
        return points.with_columns(mark_id="name")
    numbered = pl.int_range(pl.len()).over("case_id") + 1
    return points.with_columns(mark_id=numbered.cast(pl.String))


def _boxes(
    table: pl.DataFrame, path: Path, cases: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame | None, tuple[Notice, ...]]:
    if not table.height:
        return MARKS.empty(), None, ()
    boxes = table.rename({"x_mm": "center_x_mm", "y_mm": "center_y_mm"}).with_columns(
        *(pl.lit(None, dtype=dtype).alias(name) for name, dtype in _SLICE.items()),
        *(pl.lit(None, dtype=pl.String).alias(name) for name in ("type", "density", "category")),
        malignancy=pl.lit(None, dtype=pl.Float64),
    )
    boxes = with_positions(boxes, geometries(cases), path.name).cast({"slice_index": pl.Int64})
    notices: tuple[Notice, ...] = ()
    if boxes["name"].str.starts_with(_NAME_OF_MARK).fill_null(False).all():
        boxes = boxes.with_columns(mark_id=pl.col("name").str.strip_prefix(_NAME_OF_MARK))
    else:
        numbers_of_marks = pl.Series("number", link_boxes(boxes)) + 1
        boxes = boxes.with_columns(mark_id="linked-" + numbers_of_marks.cast(pl.String))
        marks = boxes.select("case_id", "mark_id").n_unique()
        values = {"file": path.name, "boxes": boxes.height, "marks": marks, "what": "marks"}
        notices = (Notice("boxes_linked", values),)
    slices = MARK_SLICES.conform(boxes, path.name)
    return MARKS.arrange(gather(boxes, "mark_id")), slices, notices


def _box_rows(submission: Submission) -> pl.DataFrame:
    slices = MARK_SLICES.empty() if submission.slices is None else submission.slices
    return submission.marks.select("case_id", "mark_id", "score").join(
        slices, on=["case_id", "mark_id"], maintain_order="left_right"
    )


def _document(kind: str, rows: pl.DataFrame) -> JsonObject:
    written = _written_point if kind == POINTS else _written_box
    items = []
    for row in rows.iter_rows(named=True):
        item = written(row)
        if row["score"] is not None:
            item["probability"] = row["score"]
        items.append(item)
    return {"type": kind, _LIST_OF[kind]: items, "version": _VERSION}


def _written_point(row: JsonObject) -> JsonObject:
    return {"name": row["mark_id"], "point": [row["x_mm"], row["y_mm"], row["z_mm"]]}


def _written_box(row: JsonObject) -> JsonObject:
    left, right = (row["center_x_mm"] + side * row["length_mm"] / 2 for side in (-1, 1))
    front, back = (row["center_y_mm"] + side * row["width_mm"] / 2 for side in (-1, 1))
    z = row["z_mm"]
    corners = [[left, front, z], [right, front, z], [right, back, z], [left, back, z]]
    return {"name": _NAME_OF_MARK + row["mark_id"], "corners": corners}


def _refuse(probe: FileProbe) -> str:
    if probe.kind == "folder" and holds_jobs(probe.path):
        return ""
    if probe.kind == "folder":
        files = _files(probe.path)
        if not files:
            return "no JSON file"
        content = read_json(files[0][1])
    elif probe.kind == "json":
        content = probe.document
    else:
        return probe.is_not("json", "folder")
    first = content[0] if isinstance(content, list) and content else content
    kind = first.get("type") if isinstance(first, dict) else None
    is_known = isinstance(kind, str) and kind in _LIST_OF
    return "" if is_known else f"type is not {POINTS} or {BOXES}"


FORMAT = Format(
    name="grand_challenge_json",
    meaning="grand-challenge.org JSON: points or 2-D boxes in mm (LPS), per case, a list or jobs",
    suffixes=(".json", "/"),
    example=(
        '{"type": "Multiple points", "version": {"major": 1, "minor": 0}, "points": [\n'
        ' {"name": "1", "point": [-61.2, 48.7, -240.5], "probability": 0.93}]}'
    ),
    refuse_marks=_refuse,
    read_marks=read_marks,
    write_marks=write_marks,
)
