"""Golden edge cases as they are kept, and as files for the tests of other scorers."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from nodulebench.io.atomic import staged_folder

KITS = ("luna16", "slices", "sizes")
"""Kits of golden cases: points, boxes, sizes. Another scorer can be asked those of the first."""
ANSWERS = ("teaches", "expected", "exact")
"""What is told of a point case beside its files; ``exact`` where the official program rounds."""


def golden_cases(kit: str) -> list[dict[str, Any]]:
    """The cases of one kit: ``luna16`` (points), ``slices`` (boxes) or ``sizes``."""
    text = files(__package__).joinpath("golden", f"{kit}.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def write_point_case(case: dict[str, Any], folder: Path) -> list[Path]:
    """Write the four input files of a point case, in the order a scorer is given them."""
    header = "seriesuid,coordX,coordY,coordZ,"
    contents = {
        "annotations.csv": _csv(header + "diameter_mm", case["nodules"]),
        "annotations_excluded.csv": _csv(header + "diameter_mm", case["ignored"]),
        "seriesuids.csv": "".join(f"{name}\n" for name in case["series"]),
        "submission.csv": case.get("text") or _csv(header + "probability", case.get("marks", [])),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode())
    return [folder / name for name in contents]


def _csv(header: str, rows: list[list[Any]]) -> str:
    return "\n".join([header, *(",".join(str(value) for value in row) for row in rows), ""])


def export_cases(out: Path) -> int:
    """Write every golden case as files, for who tests a scorer without this program.

    A point case is a folder with the four files that a scorer is given and ``expected.json``;
    cases of boxes and sizes are a JSON file each, with what they are made of and what is expected.

    Returns:
        How many cases were written.

    Raises:
        InputError: if the folder already holds something.
    """
    chosen = {kit: golden_cases(kit) for kit in KITS}
    with staged_folder(out, is_new=True) as stage:
        for kit, cases in chosen.items():
            for case in cases:
                place, told = stage / kit / f"{case['name']}.json", case
                if kit == "luna16":
                    place = stage / kit / case["name"] / "expected.json"
                    told = {key: case[key] for key in ANSWERS if key in case}
                place.parent.mkdir(parents=True, exist_ok=True)
                if kit == "luna16":
                    write_point_case(case, place.parent)
                text = json.dumps(told, indent=1, ensure_ascii=False)
                place.write_text(f"{text}\n", encoding="utf-8")
    return sum(map(len, chosen.values()))
