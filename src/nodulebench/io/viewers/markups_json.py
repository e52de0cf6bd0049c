"""The document of 3D Slicer's markups (.mrk.json): lists of points and curves, in LPS."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
) -> dict[str, Any]:
    """One list or curve as Slicer has it; it is locked, and can be unlocked there.

    Args:
        kind: "Fiducial" or "ClosedCurve".
        name: that Slicer shows.
        points: in LPS millimetres.
        colour: red, green and blue from 0 to 1.
    """
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


def markups_text(lists: Sequence[dict[str, Any]]) -> str:
    """The text of a file."""
    return json.dumps({"@schema": SCHEMA, "markups": list(lists)}, indent=1, ensure_ascii=False)
