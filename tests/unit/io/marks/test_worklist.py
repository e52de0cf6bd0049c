"""The worklist: errors case by case in the order of reading, and back into a report's causes."""

from pathlib import Path

import polars as pl

from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.evaluation.report import read_causes
from nodulebench.io.marks.worklist import write_worklist

GEOMETRY = {
    **{f"spacing_{axis}_mm": size for axis, size in (("x", 0.7), ("y", 0.7), ("z", 2.0))},
    **{f"origin_{axis}_mm": at for axis, at in (("x", -100.0), ("y", -100.0), ("z", -40.0))},
}
CASES = (
    case("one", nodule(8, (5, 0, 0)), mark(0.9, (5, 0, 0)), false_mark(0.2), false_mark(0.7, 1)),
    case("two", nodule(6.04, (0, 0, -20), type="solid"), nodule(9, (0, 0, 30)), **GEOMETRY),
    case("fine", nodule(8), mark(0.8)),
    case("three", nodule(7), false_mark(0.4)),
)


def worklist(path: Path) -> pl.DataFrame:
    write_worklist({("algorithm", "1"): cohort(*CASES)}, path)
    return pl.read_csv(path)


def test_cases_with_most_misses_come_first_each_from_head_to_feet(tmp_path: Path) -> None:
    rows = worklist(tmp_path / "list.csv")
    assert rows["order"].to_list() == [1, 2, 3, 4, 5, 6]
    assert rows["case_id"].to_list() == ["two", "two", "three", "three", "one", "one"]
    assert rows["kind"].to_list()[:2] == ["missed", "missed"]
    assert rows["z_mm"].to_list()[:2] == [30.0, -20.0]
    assert rows["diameter_mm"].to_list()[:2] == [9.0, 6.0]
    assert set(rows["algorithm"]) == {"algorithm"}


def test_slices_count_from_the_feet_where_the_geometry_is_known(tmp_path: Path) -> None:
    rows = worklist(tmp_path / "list.csv")
    assert rows["slice_index"].to_list() == [35, 10, None, None, None, None]


def test_causes_that_were_filled_in_are_read_for_false_positives_only(tmp_path: Path) -> None:
    rows = worklist(tmp_path / "list.csv")
    assert rows["kind"].to_list()[4:] == ["false_positive"] * 2
    causes = ["motion", None, None, None, "vessel", "scar"]
    rows.with_columns(cause=pl.Series(causes)).write_csv(tmp_path / "filled.csv")
    assert read_causes(tmp_path / "filled.csv")["cause"].to_list() == ["vessel", "scar"]
    assert read_causes(tmp_path / "list.csv").height == 0
