"""The demonstration: phantoms, detectors, combination, all rules, comparison, report."""

import json
from pathlib import Path

import polars as pl
import pytest

from nodulebench.cli import main
from nodulebench.formats import read_reference
from nodulebench.storage.manifest import manifest_problems
from nodulebench.workflows.demo import (
    COMBINATION,
    DETECTORS,
    RESULT,
    TEST_SET,
    DemoChoice,
    run_demo,
)

SMALL = DemoChoice(phantoms=2, matrix=96, bootstraps=20, processes=1, types=("solid", "calcified"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("demo") / "out"
    told: list[str] = []
    run_demo(out, SMALL, told.append)
    return out, told


def test_three_detectors_and_their_combination_are_judged_under_all_rules(demo) -> None:
    out, _ = demo
    document = json.loads((out / RESULT / "evaluation.json").read_text())
    assert [one["name"] for one in document["algorithms"]] == [*DETECTORS, COMBINATION]
    for one in document["algorithms"]:
        assert list(one["rules"]) == [
            "center_hit",
            "center_distance",
            "area_overlap",
            "luna16",
            "luna16_clean",
        ]


def test_marks_have_boxes_axes_and_a_density(demo) -> None:
    out, _ = demo
    marks = pl.read_parquet(out / RESULT / "inputs" / "marks.parquet")
    slices = pl.read_parquet(out / RESULT / "inputs" / "mark_slices.parquet")
    assert set(marks["algorithm"]) <= {*DETECTORS, COMBINATION}
    assert COMBINATION in set(marks["algorithm"])
    assert marks.select("density", "long_mm", "score").null_count().row(0) == (0, 0, 0)
    assert slices.join(marks, on=["algorithm", "case_id", "mark_id"], how="anti").is_empty()
    assert marks["score"].min() > 0  # each detector's own, of any height
    together = marks.filter(algorithm=COMBINATION)["score"]
    assert 0 < together.min() <= together.max() <= 1.0


def test_the_test_set_stays_with_its_images(demo) -> None:
    out, told = demo
    reference = read_reference(out / TEST_SET)
    assert reference.cases.height == 2
    assert set(reference.nodules["type"]) == {"solid", "calcified"}
    assert sorted(path.suffix for path in (out / TEST_SET / "images").iterdir()).count(".mhd") == 2
    assert told[0].startswith("phantom-0001: 96 x 96 x ")
    assert told[-1] == "isicad, subsolidcad, largecad read 2 scans"


def test_the_report_has_pictures_the_comparison_and_all_combinations(demo) -> None:
    out, _ = demo
    page = (out / RESULT / "report.html").read_text(encoding="utf-8")
    assert "isicad, subsolidcad, largecad" in page
    assert "data:image/png;base64," in page
    assert json.loads((out / RESULT / "comparison.json").read_text())["baseline"] == COMBINATION
    table = pl.read_csv(out / "combinations.csv")
    assert table.height == 3 + 4
    assert manifest_problems(out / RESULT) == []


def test_the_command_says_what_it_makes_and_where_the_report_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr("nodulebench.workflows.demo.DemoChoice", lambda **_: SMALL)
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--phantoms", "2", "--out", str(tmp_path / "out")])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert "combination  area_overlap" in told
    assert told.endswith("in a browser; the numbers are in evaluation.json.\n")
    assert (tmp_path / "out" / RESULT / "report.html").exists()
