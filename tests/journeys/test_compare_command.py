"""The compare command from start to end, on made-up and on real submissions."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.made_up import write_made_up_result
from builders.tables import case, mark, nodule, protocol, reference, submission
from nodulebench import evaluate
from nodulebench.cli import main
from nodulebench.core.documents.records import as_json
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.comparison.compare import MetricDifference
from nodulebench.evaluation.comparison.replicates import Reading
from nodulebench.evaluation.comparison.service import Gate, is_shown, recompute_comparisons
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.io.manifests import manifest_problems

DEEPLUNG, RES18 = "deeplung_dpn26_888", "res18_focal_fold9"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three made-up algorithms under three rules."""
    out = tmp_path_factory.mktemp("demo") / "out"
    write_made_up_result(out, cases=30, nodules=200)
    return out


def compare(folder: Path, *more: object) -> int:
    return run("compare", folder, "--bootstraps", 100, "--permutations", 50, *more)


def test_a_comparison_is_printed_and_written(demo: Path, capsys) -> None:
    choice = ("--baseline", "careful", "--metric", "recall", "--margin", 0.05)
    assert compare(demo, *choice, "--all") == 0
    output = capsys.readouterr().out
    assert output.startswith("recall under center_hit, best first\n")
    assert "differences from careful" in output
    assert "95% intervals from 100 paired resamples of patients" in output
    assert "margin 0.05" in output
    assert "nodules found by only one of the two (McNemar)" in output
    assert "ranks by recall, rule center_hit" in output
    assert "effect of the rule on 3 algorithms" in output
    assert "relative to center_hit" in output
    written = read(demo / "comparison.json")
    assert written["schema"] == "nodulebench/comparison@1"
    assert (written["baseline"], written["margin"], written["bootstraps"]) == ("careful", 0.05, 100)
    rows = {(row["rule"], row["algorithm"]): row for row in written["differences"]}
    assert set(rows) == {
        (rule, algorithm)
        for rule in ("center_hit", "center_distance", "area_overlap")
        for algorithm in ("eager", "small boxes")
    }
    row = rows["area_overlap", "small boxes"]
    assert row["difference"]["value"] == pytest.approx(row["value"] - row["baseline_value"])
    assert row["difference"]["low"] < row["difference"]["value"] < row["difference"]["high"]
    assert set(row["adjusted_p_value"]) == {"holm", "bonferroni", "benjamini_hochberg"}
    assert row["margin"]["is_non_inferior"] is False


def test_the_output_is_one_table_with_the_best_first(demo: Path, capsys) -> None:
    assert compare(demo, "--baseline", "careful", "--metric", "recall", "--margin", 0.05) == 0
    shown = capsys.readouterr().out.splitlines()
    title, heads, *rows = shown[:5]
    assert title == "recall under center_hit, best first"
    assert heads.split()[:3] == ["rank", "algorithm", "recall"]
    assert heads.count("P adj.") == 2
    for part in (
        "from small boxes (best)",
        "from careful (baseline)",
        "margin 0.05",
        "area_overlap",
    ):
        assert part in heads
    algorithms = read(demo / "evaluation.json")["algorithms"]
    value = {
        algorithm["name"]: algorithm["rules"]["center_hit"]["metrics"]["recall"]["value"]
        for algorithm in algorithms
    }
    order = sorted(value, key=lambda name: -value[name])
    assert order[0] == "small boxes"
    for at, (name, row) in enumerate(zip(order, rows, strict=True)):
        assert row.startswith(f"  {at + 1}     {name:<11}  {value[name]:.3f} ")
    written = read(demo / "comparison.json")["differences"]
    (row,) = [
        row
        for row in written
        if (row["rule"], row["metric"], row["algorithm"]) == ("center_hit", "recall", "eager")
    ]
    difference = row["difference"]
    interval = f"{difference['value']:+.3f} ({difference['low']:+.3f} to {difference['high']:+.3f})"
    assert f"{interval}  {row['adjusted_p_value']['holm']:.3f}" in rows[order.index("eager")]
    assert len([line for line in shown if not line.startswith("wrote")]) == 7
    assert shown[6].endswith("every difference, rank and nodule: --all")


def test_values_are_those_of_the_evaluation(demo: Path) -> None:
    assert compare(demo, "--baseline", "careful", "--metric", "f_beta") == 0
    document = read(demo / "evaluation.json")
    values = {
        (rule, algorithm["name"]): result["metrics"]["f1"]["value"]
        for algorithm in document["algorithms"]
        for rule, result in algorithm["rules"].items()
    }
    for row in read(demo / "comparison.json")["differences"]:
        assert row["metric"] == "f1"
        assert row["value"] == pytest.approx(values[row["rule"], row["algorithm"]])
        assert row["baseline_value"] == pytest.approx(values[row["rule"], "careful"])


def test_the_evaluation_lists_the_comparison_with_each_baseline_once(demo: Path) -> None:
    for baseline in ("careful", "eager", "careful"):
        assert compare(demo, "--baseline", baseline, "--metric", "recall") == 0
    listed = read(demo / "evaluation.json")["comparisons"]
    assert [listing["baseline"] for listing in listed] == ["eager", "careful"]
    assert listed[-1] == read(demo / "comparison.json")


def test_a_comparison_can_be_recomputed_from_the_folder(demo: Path) -> None:
    assert compare(demo, "--baseline", "eager", "--metric", "recall", "--margin", 0.1) == 0
    evaluated = load_evaluated(demo)
    again = as_json(recompute_comparisons(evaluated))
    assert again == json.loads((demo / "evaluation.json").read_text())["comparisons"]
    assert manifest_problems(demo) == []


def test_a_changed_folder_is_not_compared(demo: Path, tmp_path: Path, capsys) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in demo.rglob("*"):
        target = changed / path.relative_to(demo)
        target.mkdir() if path.is_dir() else target.write_bytes(path.read_bytes())
    before = (changed / "evaluation.json").read_bytes()
    marks = changed / "inputs" / "marks.parquet"
    pl.read_parquet(marks).with_columns(score=pl.lit(1.0)).write_parquet(marks)
    assert compare(changed, "--baseline", "careful") == 1
    assert "inputs/marks.parquet: was changed after the folder was written" in (
        capsys.readouterr().err
    )
    assert (changed / "evaluation.json").read_bytes() == before


def test_an_unknown_baseline_prints_one_line(demo: Path, capsys) -> None:
    assert compare(demo, "--baseline", "carful") == 1
    assert capsys.readouterr().err == (
        "error: there is no algorithm 'carful'. Known: careful, eager, small boxes.\n"
    )


def test_a_folder_without_an_evaluation_prints_one_line(tmp_path: Path, capsys) -> None:
    assert compare(tmp_path, "--baseline", "careful") == 1
    assert capsys.readouterr().err.endswith(
        "evaluation.json: does not exist. "
        "Give the folder that 'nodulebench evaluate --out' wrote.\n"
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One result for each of three versions of an algorithm on the same test set."""
    out = tmp_path_factory.mktemp("releases")
    hits_of = {"last": range(20), "same": range(20), "worse": range(5)}
    truth = reference(*(case(f"c{n}", nodule(8)) for n in range(24)))
    for name, hits in hits_of.items():
        marks = submission(*(case(f"c{n}", mark(0.9)) for n in hits), name="cad")
        evaluate(truth, [marks], CPM).write(out / name)
    return out


CPM = protocol(metrics=("recall", "cpm"), interval=IntervalChoice(bootstraps=50))


@pytest.mark.parametrize(
    ("new", "margin", "more", "status", "expected"),
    [
        ("same", 0.2, (), 0, "shown      cad (new), luna16, cpm: +0.000 (-0.1"),
        ("same", 0.01, (), 3, "(not assessable: even a perfect result on 24 patients cannot meet"),
        ("worse", 0.2, (), 3, "NOT SHOWN  cad (new), luna16, cpm: -0.625 ("),
        ("worse", 0.2, ("--metric", "recall"), 3, "NOT SHOWN  cad (new), luna16, recall: -0.625 ("),
    ],
)
def test_a_release_that_is_worse_does_not_pass_the_gate(
    releases: Path,
    new: str,
    margin: float,
    more: tuple[str, ...],
    status: int,
    expected: str,
    capsys,
) -> None:
    before = sorted(releases.rglob("*"))
    assert compare(releases / new, releases / "last", "--no-worse-than", margin, *more) == status
    shown = capsys.readouterr().out
    assert "differences from cad (old)" in shown
    assert expected in shown
    assert shown.rstrip().endswith("met" if status == 0 else "not met")
    assert sorted(releases.rglob("*")) == before


def test_a_gate_applies_to_each_algorithm_of_one_evaluation(demo: Path, capsys) -> None:
    gate = ("--baseline", "careful", "--metric", "recall", "--no-worse-than")
    assert compare(demo, *gate, 1.0) == 0
    assert compare(demo, *gate, 0.000001) == 3
    assert capsys.readouterr().out.rstrip().endswith("not met")


def test_an_undecided_gate_differs_from_a_gate_that_was_not_met(
    releases: Path, demo: Path, tmp_path: Path, capsys
) -> None:
    gate = ("--no-worse-than", 0.01)
    assert compare(releases / "same", demo, *gate) == 1
    assert "new: was made with another protocol than old. Evaluate" in capsys.readouterr().err
    assert compare(releases / "same", tmp_path, *gate) == 1
    assert compare(releases / "same", *gate) == 2
    assert compare(releases / "same", releases / "last", "--baseline", "cad", *gate) == 2
    assert compare(releases / "same", releases / "last", "--margin", 0.1, *gate) == 2
    assert compare(releases / "same", releases / "last", "--no-worse-than", 0) == 2


def test_an_undefined_difference_does_not_pass() -> None:
    blank = MetricDifference("luna16", Reading("cpm", "cpm"), "new")
    assert not is_shown(blank)
    assert not Gate((blank,)).is_met
    assert not Gate(()).is_met


def test_two_real_submissions_are_compared_on_fold_9(
    luna16_data: Path, tmp_path: Path, capsys
) -> None:
    submissions, out = luna16_data / "submissions", tmp_path / "out"
    evaluated = run(
        *("evaluate", submissions / f"{DEEPLUNG}.csv.gz", submissions / f"{RES18}.csv"),
        *("--reference", luna16_data, "--series", luna16_data / "fold9_seriesuids.csv"),
        *("--out", out),
    )
    assert evaluated == 0
    assert run("compare", out, "--baseline", DEEPLUNG, "--margin", 0.05, "--metric", "cpm") == 0
    (row,) = read(out / "comparison.json")["differences"]
    assert row["algorithm"] == RES18
    difference = row["difference"]
    assert difference["value"] == pytest.approx(0.908843537414966 - 0.8149659863945578, abs=1e-12)
    assert (difference["low"], difference["high"]) == pytest.approx((-0.0149, 0.2302), abs=5e-4)
    assert row["p_value"] == pytest.approx(0.110, abs=1e-3)
    assert 0.01 < row["permutation"]["p_value"] < 0.05
    assert row["margin"]["is_superior"] is False
    assert row["margin"]["is_non_inferior"] is True
    (nodules,) = read(out / "comparison.json")["detection"]
    assert nodules["nodules"] == {
        "both": 97,
        "algorithm_only": 7,
        "baseline_only": 0,
        "neither": 1,
    }
    assert nodules["tests"]["exact"]["p_value"] == pytest.approx(2 * 0.5**7)
    # the seven nodules lie in few scans, so clustering matters
    assert nodules["tests"]["obuchowski"]["p_value"] > 0.1
    assert "+0.094 (-0.015 to +0.230)" in capsys.readouterr().out
