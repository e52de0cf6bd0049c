"""nodulebench report on the command line: what it writes, and how it refuses."""

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


def test_chinese_report_stands_beside_the_english_one(folder: Path) -> None:
    done = run(folder, "--language", "zh")
    assert done.returncode == 0, done.stderr
    assert "主要指标" in (folder / "report-zh.html").read_text(encoding="utf-8")
    assert "Key figures" in (folder / "report.html").read_text(encoding="utf-8")


def test_problem_with_the_data_is_one_line_and_exit_1(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'evaluation.json'}: is not there.")
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_2(folder: Path) -> None:
    done = run(folder, "--language", "fr")
    assert done.returncode == 2
    assert "'en', 'zh'" in done.stderr


def test_precision_and_recall_are_drawn_where_the_protocol_asks_for_their_area(
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
        'name = "areas"\nfigures = ["average_precision"]\n[[rules]]\nname = "luna16"\n'
    )
    command = [sys.executable, "-m", "nodulebench", "evaluate", marks, "--reference", folder]
    result = tmp_path / "result"
    subprocess.run([*command, "--protocol", protocol, "--out", result], check=True)
    curve = pl.read_parquet(result / "curves.parquet").filter(curve="precision_recall")
    assert curve.select("x", "y").rows() == [(0.5, 1.0), (0.5, 0.5), (1.0, 2 / 3)]
    assert run(result).returncode == 0
    assert "Precision and recall" in (result / "report.html").read_text(encoding="utf-8")
