"""Markups as people draw them in Slicer: other axes, curves named alike, lists of points."""

import json
from pathlib import Path

import numpy as np
import pytest

from builders.drawn import GRIDS, drawn, grid, held
from nodulebench.core.errors import InputError
from nodulebench.io.marks.slicer import read_readings

WHERE = grid(GRIDS["plain"])
CASES = drawn({"a": WHERE}, {("a", "x", "x"): {(1, 1, 1)}}).cases


def curve(name: str, k: int, low: float, high: float, sign: int = 1) -> dict[str, object]:
    """A square from one corner of pixels to another, on an image."""
    corners = np.array([[low, low, k], [high, low, k], [high, high, k], [low, high, k]])
    places = WHERE.to_world(corners) * [sign, sign, 1]
    points = [{"position": one} for one in places.tolist()]
    system = "LPS" if sign > 0 else "RAS"
    return {
        "type": "ClosedCurve",
        "name": name,
        "coordinateSystem": system,
        "controlPoints": points,
    }


def saved(folder: Path, *lists: dict[str, object]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.mrk.json").write_text(json.dumps({"@schema": "x", "markups": lists}))
    return folder


def test_curves_named_alike_are_one_finding_in_either_system(tmp_path: Path) -> None:
    lists = (curve("CC 3", 3, 2.5, 4.5), curve("CC 4", 4, 2.5, 3.5, sign=-1), curve("DD", 3, 9, 11))
    readings = read_readings(saved(tmp_path / "bo", *lists).parent, CASES)
    square = {(i, j, 3) for i in (3, 4) for j in (3, 4)}
    assert held(readings)["a", "CC"] == square | {(3, 3, 4)}
    assert readings.findings["finding_id"].to_list() == ["CC", "DD"]
    assert readings.findings["reader_id"].to_list() == ["bo", "bo"]


def test_points_are_findings_and_rulers_are_passed_over(tmp_path: Path) -> None:
    points = [
        {"label": "F-1", "position": [1.5, 2, 3], "positionStatus": "defined"},
        {"label": "F-2", "position": [0, 0, 0], "positionStatus": "undefined"},
        {"label": "", "position": [4, 5, 6], "description": "seen by eye"},
    ]
    lists = (
        {
            "type": "Fiducial",
            "name": "small_nodule",
            "coordinateSystem": "RAS",
            "controlPoints": points,
        },
        {"type": "Line", "name": "L", "controlPoints": []},
    )
    readings = read_readings(saved(tmp_path / "in", *lists))
    rows = readings.findings.select("finding_id", "kind", "x_mm", "y_mm", "z_mm").rows()
    assert rows == [
        ("F-1", "small_nodule", -1.5, -2.0, 3.0),
        ("small_nodule 2", "small_nodule", -4.0, -5.0, 6.0),
    ]
    assert [notice.code for notice in readings.notices] == ["others_passed_over"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a file of 3D Slicer's markups"),
        ('{"markups": [1]}', "not a file of 3D Slicer's markups"),
        ('{"markups": [{"type": "Fiducial", "controlPoints": [{}]}]}', "without a position"),
        (
            '{"markups": [{"type": "Fiducial", "coordinateSystem": "IJK", "controlPoints": []}]}',
            "without a position",
        ),
    ],
)
def test_what_is_not_a_markups_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.mrk.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_readings(tmp_path)


def test_a_curve_across_slices_is_refused(tmp_path: Path) -> None:
    tilted = curve("CC", 3, 2.5, 4.5)
    tilted["controlPoints"][2]["position"][2] += 4.0  # type: ignore[index]
    with pytest.raises(InputError, match="not on one"):
        read_readings(saved(tmp_path / "in", tilted), CASES)
