from pathlib import Path

import pytest

from builders.annotation import small_cases
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.reader_agreement import compare_readings
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.io.marks.nifdc import write_marks


def wrote(path: Path, *boxes: Slice, **more: str) -> Path:
    marks = (mark(None, (box.x, box.y, box.index), box, **more) for box in boxes)
    write_marks(submission(case("a", *marks)), path)
    return path


def test_types_agree_beyond_chance(tmp_path: Path) -> None:
    here, there = Slice(3, 50, 50, 8, 8), Slice(9, 20, 20, 6, 6)
    files = []
    for reader, kinds in (("r1", ("solid", "calcified")), ("r2", ("solid", "calcified"))):
        marks = [
            mark(None, (box.x, box.y, box.index), box, type=kind)
            for box, kind in zip((here, there), kinds, strict=True)
        ]
        write_marks(submission(case("a", *marks)), tmp_path / f"{reader}.csv")
        files.append(tmp_path / f"{reader}.csv")
    assert compare_readings(files).quality()["type_alpha"]["value"] == 1.0


def test_all_outlines_outside_the_image_are_named(tmp_path: Path) -> None:
    small_cases("a").write_csv(tmp_path / "cases.csv")
    far = Slice(3, 500, 50, 8, 8)
    files = [wrote(tmp_path / f"{name}.csv", far) for name in ("r1", "r2")]
    with pytest.raises(InputError) as caught:
        compare_readings(files, cases=tmp_path / "cases.csv", out=tmp_path / "out")
    lines = str(caught.value).splitlines()
    assert [line.split(" finding")[0] for line in lines] == [
        "reader 'r1' case 'a'",
        "reader 'r2' case 'a'",
    ]
    assert not (tmp_path / "out").exists()


def test_readings_without_any_mark_need_a_table_of_cases(tmp_path: Path) -> None:
    files = [wrote(tmp_path / f"{name}.csv") for name in ("r1", "r2")]
    with pytest.raises(NoduleBenchError, match="name no case: give a table of cases"):
        compare_readings(files)
    small_cases("a").write_csv(tmp_path / "cases.csv")
    comparison = compare_readings(files, cases=tmp_path / "cases.csv", out=tmp_path / "out")
    assert comparison.checks[0].is_consistent
    group = comparison.quality()["group"]
    assert group == {"value": None, "reason": {"code": "nothing_drawn", "values": {}}}
