"""Points for 3D Slicer: every error once, where it is, in LPS millimetres."""

import json
from pathlib import Path

import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.core.errors import InputError
from nodulebench.io.marks.slicer import write_markups

CASES = (
    case("a", nodule(8.04, (5, -6, 70), type="part_solid"), nodule(None, (40, 0, 0))),
    case("b", nodule(9), mark(0.9), false_mark(0.25)),
)


def points(path: Path) -> list[dict]:
    content = json.loads(path.read_text(encoding="utf-8"))
    (markups,) = content["markups"]  # Slicer reads one list from a file
    assert (markups["type"], markups["coordinateSystem"]) == ("Fiducial", "LPS")
    assert markups["coordinateUnits"] == "mm"
    return markups["controlPoints"]


def test_every_error_is_a_point_at_its_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_markups({("algorithm", "1"): cohort(*CASES)}, out)
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json"))
    assert files == ["algorithm/a.missed.mrk.json", "algorithm/b.false_positive.mrk.json"]
    first, second = points(out / files[0])
    assert first["position"] == [5.0, -6.0, 70.0]
    assert first["label"].endswith("part solid, 8.0 mm")
    assert second["position"] == [40.0, 0.0, 0.0]
    assert {one["id"] for one in (first, second)} == {"1", "2"}
    (wrong,) = points(out / files[1])
    assert wrong["label"].endswith("score 0.25")


def test_a_case_whose_name_is_not_a_file_name_is_refused(tmp_path: Path) -> None:
    cells = {("x", "1"): cohort(case("../up", nodule(8)))}
    with pytest.raises(InputError, match="cannot be the name of a file"):
        write_markups(cells, tmp_path / "out")
    assert not (tmp_path / "out").exists()
