"""3D Slicer's markups: errors of an algorithm as points, and readings as points and curves."""

from pathlib import Path
from typing import Any

from nodulebench.core.tables import PLACE
from nodulebench.io.atomic import staged_folder
from nodulebench.io.case_names import file_of_case
from nodulebench.io.format import Format
from nodulebench.io.marks.worklist import Cells, error_table
from nodulebench.io.viewers.markups_json import SUFFIX, Point, markups, markups_text
from nodulebench.io.viewers.slicer import read_readings, write_readings

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
            points = _points(str(kind), part.to_dicts())
            one = markups("Fiducial", f"{algorithm} {kind}", points, COLOURS[str(kind)])
            file = place / file_of_case(str(case_id), f".{kind}{SUFFIX}")
            file.write_text(markups_text([one]), encoding="utf-8")


def _points(kind: str, rows: list[dict[str, Any]]) -> list[Point]:
    return [
        Point(tuple(row[axis] for axis in PLACE), _label(row), f"{kind} {row['name']}")
        for row in rows
    ]


def _label(row: dict[str, Any]) -> str:
    """What a point is, short enough to stand beside it."""
    facts = [str(row["name"])]
    facts += [row["type"].replace("_", " ")] if row["type"] else []
    facts += [] if row["diameter_mm"] is None else [f"{row['diameter_mm']:.1f} mm"]
    facts += [] if row["score"] is None else [f"score {row['score']:.3g}"]
    return ", ".join(facts)


FORMAT = Format(
    name="slicer_markups",
    meaning="markups of 3D Slicer: errors of an algorithm as points, readings as curves and points",
    suffixes=("/", SUFFIX),
    example="ALGORITHM/CASE.missed.mrk.json, ALGORITHM/CASE.false_positive.mrk.json\n"
    "READER/CASE.mrk.json",
    write_cohorts=write_markups,
    read_readings=read_readings,
    write_readings=write_readings,
)
