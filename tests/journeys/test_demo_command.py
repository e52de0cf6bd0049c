"""The demonstration: phantoms, detectors, combination, all rules, comparison, report."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from builders.doc_blocks import Block, blocks_of, lines_not_shown, run_block
from builders.places import ROOT
from nodulebench.demo import COMBINATION, DETECTORS, RESULT, TEST_SET
from nodulebench.io.formats import read_reference
from nodulebench.io.manifests import manifest_problems

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
README = blocks_of(ROOT / "README.md")[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that ``make demo`` writes, and what it prints."""
    folder = tmp_path_factory.mktemp("demo")
    recipe = re.search(r"^demo:.*\n\t.*/(?P<command>nodulebench .*)$", MAKEFILE, re.M)
    assert recipe is not None
    output = run_block(Block("bash", recipe["command"]), folder)
    return folder / "nodulebench-demo", output


def test_make_demo_prints_what_the_readme_shows(demo) -> None:
    assert README.text.strip() == "make demo"
    assert len(README.shown.splitlines()) > 10
    assert lines_not_shown(README.shown, demo[1]) == []


def test_three_detectors_and_their_combination_are_evaluated_by_all_rules(demo) -> None:
    out, _ = demo
    document = json.loads((out / RESULT / "evaluation.json").read_text())
    assert [algorithm["name"] for algorithm in document["algorithms"]] == [*DETECTORS, COMBINATION]
    for algorithm in document["algorithms"]:
        assert list(algorithm["rules"]) == [
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
    out, errors = demo
    reference = read_reference(out / TEST_SET)
    assert reference.cases.height == 6
    assert len(set(reference.nodules["type"])) == 6
    assert sorted(path.suffix for path in (out / TEST_SET / "images").iterdir()).count(".mhd") == 6
    assert "isicad, subsolidcad, largecad read 6 scans" in errors.splitlines()


def test_the_report_has_pictures_the_comparison_and_all_combinations(demo) -> None:
    out, _ = demo
    page = (out / RESULT / "report.html").read_text(encoding="utf-8")
    assert "isicad, subsolidcad, largecad" in page
    assert "data:image/png;base64," in page
    assert json.loads((out / RESULT / "comparison.json").read_text())["baseline"] == COMBINATION
    table = pl.read_csv(out / "combinations.csv")
    assert table.height == 3 + 4
    assert manifest_problems(out / RESULT) == []
