"""Labelled cohorts -> points that 3D Slicer shows: what was missed and wrongly marked, by case."""

import json
from pathlib import Path
from typing import Any

from nodulebench.formats.case_names import file_of_case
from nodulebench.formats.format import Format
from nodulebench.formats.marks.worklist_csv import Cells, error_table
from nodulebench.model.tables import PLACE
from nodulebench.storage.staging import staged_folder

SUFFIX = ".mrk.json"
SCHEMA = (
    "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/"
    "Schema/markups-schema-v1.0.3.json#"
)
COLOURS = {"missed": (0.9, 0.2, 0.15), "false_positive": (0.95, 0.75, 0.1)}


def write_markups(cells: Cells, folder: Path) -> None:
    """Write ``<algorithm>/<case>.<kind>.mrk.json``: one list of points for each case and kind.

    A file holds one list, since Slicer reads one from each. Points are in LPS millimetres, as our
    tables have them; labels say what each is.

    Raises:
        InputError: if the name of a case or an algorithm cannot be that of a file.
    """
    errors = error_table(cells)
    with staged_folder(folder) as stage:
        for (algorithm, case_id, kind), part in errors.group_by(
            "algorithm", "case_id", "kind", maintain_order=True
        ):
            place = stage / file_of_case(str(algorithm), "")
            place.mkdir(exist_ok=True)
            content = _markups(str(kind), str(algorithm), part.to_dicts())
            file = place / file_of_case(str(case_id), f".{kind}{SUFFIX}")
            file.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _markups(kind: str, algorithm: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    colour = list(COLOURS[kind])
    return {
        "@schema": SCHEMA,
        "markups": [
            {
                "type": "Fiducial",
                "name": f"{algorithm} {kind}",
                "coordinateSystem": "LPS",
                "coordinateUnits": "mm",
                "locked": True,
                "fixedNumberOfControlPoints": False,
                "labelFormat": "%N-%d",
                "lastUsedControlPointNumber": len(rows),
                "controlPoints": [
                    {
                        "id": str(number),
                        "label": _label(row),
                        "description": f"{kind} {row['name']}",
                        "position": [row[axis] for axis in PLACE],
                        "selected": True,
                        "locked": True,
                        "visibility": True,
                        "positionStatus": "defined",
                    }
                    for number, row in enumerate(rows, 1)
                ],
                "display": {
                    "visibility": True,
                    "color": colour,
                    "selectedColor": colour,
                    "pointLabelsVisibility": True,
                    "textScale": 2.5,
                    "glyphType": "CrossDot2D",
                    "glyphScale": 2.5,
                },
            }
        ],
    }


def _label(row: dict[str, Any]) -> str:
    """What a point is, short enough to stand beside it."""
    facts = [str(row["name"])]
    facts += [row["type"].replace("_", " ")] if row["type"] else []
    facts += [] if row["diameter_mm"] is None else [f"{row['diameter_mm']:.1f} mm"]
    facts += [] if row["score"] is None else [f"score {row['score']:.3g}"]
    return ", ".join(facts)


FORMAT = Format(
    name="slicer_markups",
    meaning="points for 3D Slicer: what a result missed and wrongly marked, by case",
    suffixes=("/",),
    example="ALGORITHM/CASE.missed.mrk.json, ALGORITHM/CASE.false_positive.mrk.json",
    write_cohorts=write_markups,
)
