"""Read and write 3D Slicer's markups: a closed curve per outline, points for other findings."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, map_collecting_problems
from nodulebench.core.json_types import JsonObject, JsonValue
from nodulebench.core.readings import FINDING_KINDS, Readings
from nodulebench.core.tables import PLACE
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.imaging.rasters import DrawnOutline
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import file_of_case
from nodulebench.io.dicom.codes import BOX, CENTER, OUTLINES
from nodulebench.io.dicom.findings import Report, ReportedFinding, passed_over
from nodulebench.io.dicom.sr_content import Region
from nodulebench.io.format import Format
from nodulebench.io.images.label_files import (
    Session,
    case_and_reader,
    facts_of,
    files_ending,
    parse_facts,
    readings_from,
    reported_finding,
    sessions_of,
)
from nodulebench.io.json_files import read_json
from nodulebench.io.marks.worklist import Cells, error_table

SUFFIX = ".mrk.json"
SCHEMA = (
    "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/"
    "Schema/markups-schema-v1.0.3.json#"
)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a list or curve."""

    position_mm: tuple[float, ...]
    label: str = ""
    description: str = ""


def markups(
    kind: str, name: str, points: Sequence[Point], colour: tuple[float, float, float]
) -> JsonObject:
    """One list or curve in Slicer's form; it is locked, and can be unlocked in Slicer."""
    is_list = kind == "Fiducial"
    return {
        "type": kind,
        "name": name,
        "coordinateSystem": "LPS",
        "coordinateUnits": "mm",
        "locked": True,
        "fixedNumberOfControlPoints": False,
        "labelFormat": "%N-%d",
        "lastUsedControlPointNumber": len(points),
        "controlPoints": [
            {
                "id": str(number),
                "label": point.label,
                "description": point.description,
                "position": list(point.position_mm),
                "selected": True,
                "locked": True,
                "visibility": True,
                "positionStatus": "defined",
            }
            for number, point in enumerate(points, 1)
        ],
        "display": {
            "visibility": True,
            "color": list(colour),
            "selectedColor": list(colour),
            "pointLabelsVisibility": is_list,
            "textScale": 2.5,
            "glyphType": "CrossDot2D",
            "glyphScale": 2.5 if is_list else 0.5,
        },
    }


def markups_text(lists: Sequence[JsonObject]) -> str:
    return json.dumps({"@schema": SCHEMA, "markups": list(lists)}, indent=1, ensure_ascii=False)


COLOURS = {
    "nodule": (1.0, 0.82, 0.4),
    "small_nodule": (0.35, 0.82, 0.75),
    "non_nodule": (0.6, 0.64, 0.68),
}
POINTS = ("Fiducial", "PointList")
CURVE = "ClosedCurve"
_TURNED = {"LPS": (1, 1, 1), "1": (1, 1, 1), "RAS": (-1, -1, 1), "0": (-1, -1, 1)}
_SLICE = re.compile(r"\s+\d+$")
_PURPOSES = {
    **{convention: outline.key for convention, outline in OUTLINES.items()},
    ("box", False): BOX.key,
}


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write ``<reader>/<case>.mrk.json``: a closed curve per outline, points for other findings.

    A curve is named by its finding and slice. Slicer 5 reads all lists of a file; it smooths
    curves, so that an outline looks rounder in Slicer than it is.
    """
    with staged_folder(path) as stage:
        for session in sessions_of(readings, cases):
            folder = stage / file_of_case(session.reader_id, "")
            folder.mkdir(exist_ok=True)
            file = folder / file_of_case(session.case_id, SUFFIX)
            file.write_text(markups_text(list(_markups(session))), encoding="utf-8")


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Read readings: the case is the file's name, the reader the name of its folder.

    Closed curves are outlines, their control points the corners; those whose names differ in a last
    number are one finding. Points of lists are separate findings. Lines, planes and
    other markups are skipped. Outlines need the geometry of their cases.
    """
    files = files_ending(path, (SUFFIX,))
    reports = map_collecting_problems([(file, path) for file in files], _report)
    notices = [notice for report in reports for notice in report.notices]
    return readings_from(path, reports, cases, {}, notices)


def _markups(session: Session) -> Iterator[JsonObject]:
    for name, outlines in session.outlines.items():
        row = session.rows[name]
        for outline in outlines:
            yield _curve(session, name, row, outline)
    placed = {name: row for name, row in session.rows.items() if row[PLACE[0]] is not None}
    for kind in FINDING_KINDS:
        points = [
            Point(tuple(row[axis] for axis in PLACE), name, _text(facts_of(row)))
            for name, row in placed.items()
            if row["kind"] == kind
        ]
        if points or (kind == FINDING_KINDS[0] and not session.rows):
            yield markups("Fiducial", kind, points, COLOURS[kind])


def _curve(session: Session, name: str, row: JsonObject, outline: DrawnOutline) -> JsonObject:
    how = {"convention": outline.convention, "is_hole": outline.is_hole}
    first = _text({**facts_of(row), **how})
    points = [
        Point(tuple(corner), "", "" if at else first)
        for at, corner in enumerate(outline.corners_mm(session.grid).round(4).tolist())
    ]
    return markups(CURVE, f"{name} {outline.slice_index}", points, COLOURS[row["kind"]])


def _text(facts: JsonObject) -> str:
    return json.dumps(facts, ensure_ascii=False)


def _report(given: tuple[Path, Path]) -> Report:
    file, path = given
    case_id, reader = case_and_reader(file, path, (SUFFIX,))
    content = read_json(file)
    lists = content.get("markups") if isinstance(content, dict) else None
    if not isinstance(lists, list) or not all(isinstance(list_, dict) for list_ in lists):
        raise InputError.at(file, "is not a file of 3D Slicer's markups.")
    regions: dict[str, list[Region]] = {}
    facts: dict[str, JsonObject] = {}
    others: dict[str, int] = {}
    for list_ in lists:
        kind, name = str(list_.get("type")), str(list_.get("name") or "")
        if kind == CURVE:
            places, descriptions = _places(list_, file)
            if len(places) < 3:
                continue
            named = _SLICE.sub("", name)
            how = (
                descriptions[0].get("convention", "boundary"),
                bool(descriptions[0].get("is_hole", False)),
            )
            purpose = _PURPOSES.get(how, OUTLINES["boundary", False].key)
            region = Region(f"{file.name} '{name}'", purpose, places, is_outline=True)
            regions.setdefault(named, []).append(region)
            facts.setdefault(named, descriptions[0])
        elif kind in POINTS:
            _take_points(list_, name, file, regions, facts)
        else:
            others[kind] = others.get(kind, 0) + 1
    findings = tuple(_finding(file.name, name, own, facts[name]) for name, own in regions.items())
    return Report(file.name, case_id, reader, findings, passed_over(file.name, others))


def _take_points(
    list_: JsonObject,
    name: str,
    file: Path,
    regions: dict[str, list[Region]],
    facts: dict[str, JsonObject],
) -> None:
    places, descriptions = _places(list_, file)
    labels = [str(point.get("label") or "") for point in _defined(list_)]
    for place, own, label in zip(places, descriptions, labels, strict=True):
        named = label or f"{name} {len(regions) + 1}"
        region = Region(f"{file.name} '{named}'", CENTER.key, place[None], is_outline=False)
        regions.setdefault(named, []).append(region)
        of_list = {"kind": name} if name in FINDING_KINDS else {}
        facts.setdefault(named, {**of_list, **own})


def _finding(file: str, name: str, regions: list[Region], facts: JsonObject) -> ReportedFinding:
    known = parse_facts(facts)
    if known.get("kind") not in FINDING_KINDS:
        known["kind"] = FINDING_KINDS[0]
    return reported_finding(f"{file} '{name}'", name, regions, known)


def _defined(list_: JsonObject) -> list[JsonObject]:
    points = list_.get("controlPoints") or []
    return [
        point
        for point in points
        if isinstance(point, dict) and point.get("positionStatus", "defined") == "defined"
    ]


def _places(list_: JsonObject, file: Path) -> tuple[JsonValue, list[JsonObject]]:
    turned = _TURNED.get(str(list_.get("coordinateSystem", "LPS")))
    points = _defined(list_)
    try:
        places = np.array([point["position"] for point in points], dtype=np.float64).reshape(-1, 3)
    except (KeyError, TypeError, ValueError):
        places = np.full((1, 3), np.inf)
    if turned is None or not np.all(np.abs(places) < FARTHEST_MM):
        where = f"{file.name} '{list_.get('name')}'"
        raise InputError.at(where, "has points without a position.", "Save it in Slicer again.")
    return places * turned, [_described(point) for point in points]


def _described(point: JsonObject) -> JsonObject:
    try:
        description = json.loads(point.get("description") or "{}")
    except (TypeError, ValueError):
        return {}
    return description if isinstance(description, dict) else {}


MARKUP_COLOURS = {"missed": (0.9, 0.2, 0.15), "false_positive": (0.95, 0.75, 0.1)}


def write_markups(cells: Cells, folder: Path) -> None:
    """Write ``<algorithm>/<case>.<kind>.mrk.json``: one list of points for each case and kind.

    A file holds one list, because Slicer reads one per file. Points are in LPS millimetres, as our
    tables; labels describe them.
    """
    errors = error_table(cells)
    with staged_folder(folder) as stage:
        for (algorithm, case_id, kind), part in errors.group_by(
            "algorithm", "case_id", "kind", maintain_order=True
        ):
            place = stage / file_of_case(str(algorithm), "")
            place.mkdir(exist_ok=True)
            points = _points(str(kind), part.to_dicts())
            list_ = markups("Fiducial", f"{algorithm} {kind}", points, MARKUP_COLOURS[str(kind)])
            file = place / file_of_case(str(case_id), f".{kind}{SUFFIX}")
            file.write_text(markups_text([list_]), encoding="utf-8")


def _points(kind: str, rows: list[JsonObject]) -> list[Point]:
    return [
        Point(tuple(row[axis] for axis in PLACE), _label(row), f"{kind} {row['name']}")
        for row in rows
    ]


def _label(row: JsonObject) -> str:
    facts = [str(row["name"])]
    facts += [row["type"].replace("_", " ")] if row["type"] else []
    facts += [] if row["diameter_mm"] is None else [f"{row['diameter_mm']:.1f} mm"]
    facts += [] if row["score"] is None else [f"score {row['score']:.3g}"]
    return ", ".join(facts)


FORMAT = Format(
    name="slicer_markups",
    meaning="3D Slicer's markups: errors of an algorithm as points, readings as curves and points",
    suffixes=("/", SUFFIX),
    example="ALGORITHM/CASE.missed.mrk.json, ALGORITHM/CASE.false_positive.mrk.json\n"
    "READER/CASE.mrk.json",
    write_cohorts=write_markups,
    read_readings=read_readings,
    write_readings=write_readings,
)
