"""nodulebench report on the command line: what it writes, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from builders.made_up import write_made_up_result


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nodulebench", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("command") / "out"
    write_made_up_result(out, cases=12, nodules=60)
    return out


def test_developers_copy_is_written_elsewhere(folder: Path, tmp_path: Path) -> None:
    done = run(folder, "--for", "developer", "--algorithm", "eager", "--out", tmp_path / "send")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "send" / "report-developer-eager.html"
    assert f"wrote {page}" in done.stdout
    assert "case0" not in page.read_text(encoding="utf-8")


def test_chinese_report_is_written_next_to_the_english_one(folder: Path) -> None:
    done = run(folder, "--language", "zh")
    assert done.returncode == 0, done.stderr
    assert "主要指标" in (folder / "report-zh.html").read_text(encoding="utf-8")
    assert "Key metrics" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_problem_with_the_data_prints_one_line_and_exits_with_1(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'evaluation.json'}: does not exist.")
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_2(folder: Path) -> None:
    done = run(folder, "--language", "fr")
    assert done.returncode == 2
    assert "'en', 'zh'" in done.stderr


def test_a_parameter_of_a_rule_is_varied_only_for_the_lab(folder: Path, tmp_path: Path) -> None:
    sweep = ("--sweep", "area_overlap.threshold=0.9,0.2,0.5")
    done = run(folder, *sweep, "--out", tmp_path / "lab")
    assert done.returncode == 0, done.stderr
    table = pl.read_csv(tmp_path / "lab" / "tables" / "sweeps.csv")
    own = table.filter(algorithm="small boxes")
    assert own["value"].to_list() == [0.2, 0.5, 0.9]
    assert own["hit"].is_sorted(descending=True)
    assert own["hit"].n_unique() > 1
    result = json.loads((folder / "evaluation.json").read_text())["algorithms"][2]["rules"]
    counts = result["area_overlap"]["counts"]
    for name in ("hit", "missed", "false_positive"):
        assert own.filter(value=0.5)[name][0] == counts[name]
    page = (tmp_path / "lab" / "report.html").read_text(encoding="utf-8")
    assert "Sensitivity against area overlap, threshold" in page
    done = run(folder, *sweep, "--for", "developer", "--out", tmp_path / "send")
    assert done.returncode == 0, done.stderr
    assert "sweeps" not in done.stdout
    for wrong, message in (
        ("area_overlap", "cannot be read. Write a rule, its parameter and values"),
        ("area_overlap.threshold=a", "cannot be read"),
        ("area_overlap.treshold=0.5", "has no parameter 'treshold'"),
    ):
        done = run(folder, "--sweep", wrong)
        assert done.returncode == 1
        assert message in done.stderr


def test_a_protocol_with_their_area_draws_precision_and_recall(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "luna16"
    folder.mkdir()
    (folder / "seriesuids.csv").write_text("a\nb\n")
    head = "seriesuid,coordX,coordY,coordZ"
    (folder / "annotations.csv").write_text(f"{head},diameter_mm\na,0,0,0,8\nb,9,9,9,8\n")
    (folder / "annotations_excluded.csv").write_text(f"{head},diameter_mm\n")
    marks, protocol = tmp_path / "detector.csv", tmp_path / "areas.toml"
    marks.write_text(f"{head},probability\na,0,0,0,0.9\nb,50,50,50,0.7\nb,9,9,9,0.5\n")
    protocol.write_text(
        'name = "areas"\nmetrics = ["average_precision"]\n[[rules]]\nname = "luna16"\n'
    )
    command = [sys.executable, "-m", "nodulebench", "evaluate", marks, "--reference", folder]
    result = tmp_path / "result"
    subprocess.run([*command, "--protocol", protocol, "--out", result], check=True)
    curve = pl.read_parquet(result / "curves.parquet").filter(curve="precision_recall")
    assert curve.select("x", "y").rows() == [(0.5, 1.0), (0.5, 0.5), (1.0, 2 / 3)]
    assert run(result).returncode == 0
    assert "Precision and recall" in (result / "report.html").read_text(encoding="utf-8")
